"""Every public estimator through every check of the package and of scikit-learn."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from thrifty import (
    Acquire,
    ASTCClassifier,
    ASTCRegressor,
    AttentiveClassifier,
    BoostedFeatureMap,
    CostWeightedL1Classifier,
    CostWeightedL1Regressor,
    CronusClassifier,
    CronusRegressor,
    CSCCClassifier,
    CSTCClassifier,
    CSTCRegressor,
    DynamicSelectionClassifier,
    DynamicSelectionRegressor,
    EarlyExitRanker,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    MixtureClassifier,
    MixtureRanker,
    MixtureRegressor,
    StaticSelectionClassifier,
    StaticSelectionRegressor,
    TableModel,
)
from thrifty.testing import CHECKS, check_estimator, public_estimators
from thrifty.testing.checks import (
    EVALUATION_COST,
    N_FEATURES,
    check_column_order_is_immaterial,
    check_unit_of_cost_is_immaterial,
    expected_failures,
)


def charging_feature_map():
    """Return trees on the columns of the checks, which cost something to evaluate."""
    random = np.random.default_rng(0)
    X = 5.0 * random.normal(size=(200, N_FEATURES))
    forest = GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0).fit(X, X @ np.arange(N_FEATURES))
    return BoostedFeatureMap(forest, evaluation_costs=EVALUATION_COST)


VARIANTS = [
    ASTCClassifier(soft=True, max_depth=3),
    ASTCClassifier(overflow="skip", node_budget=3.0, min_samples_leaf=5),
    ASTCRegressor(soft=True, node_budget=[4.0, 2.0, 1.0], max_depth=3),
    ASTCRegressor(fit_intercept=False),
    CSTCClassifier(loss="logistic", max_depth=2, fine_tune="held"),
    CSCCClassifier(class_weight="balanced", loss="logistic", n_stages=2),
    CronusClassifier(solver="block", n_stages=2, max_iter=5, tol=1.0),
    CronusRegressor(keep_ratio=0.3, n_stages=2, fine_tune="paper"),
    DynamicSelectionClassifier(margin="score", masked_training=False, stop_biases=(0.0,), coach_stops=True),
    DynamicSelectionClassifier(masked_training=True, coaching=0, n_iterations=3),
    DynamicSelectionRegressor(masked_training=False, coaching=0, n_iterations=3),
    GreedyMiserClassifier(charge="row", n_estimators=10),
    GreedyMiserRegressor(lookahead=True, budget=8.0, max_leaf_nodes=6, max_depth=None, n_estimators=10),
    MixtureClassifier(ASTCClassifier(node_budget=3.0), CostWeightedL1Classifier(), cheap_cap=2.0, share=0.4),
    MixtureRanker(CostWeightedL1Regressor(cost_weight=0.1), ASTCRegressor(max_depth=1), dear_cap=12.4),
    MixtureRegressor(CostWeightedL1Regressor(cost_weight=9.0), ASTCRegressor(max_depth=2), share=0.9),
    StaticSelectionClassifier(ranking="weight_per_cost", budget=8.0),
    StaticSelectionRegressor(ranking="weight_per_cost", budget=8.0, masked_training=False),
    TableModel(ASTCClassifier()),
    TableModel(AttentiveClassifier(random_state=0)),
    TableModel(EarlyExitRanker(GreedyMiserRanker(n_estimators=10))),
    TableModel(GreedyMiserRegressor(n_estimators=10), cap=12.4),
    TableModel(StaticSelectionClassifier(ranking="weight_per_cost", random_state=0)),
]
# To hold out rows, or to fit a forest first, is to treat a row of weight two and two rows unlike.
WEIGHING_UNLIKE_REPEATING = [
    CSTCClassifier(structure="grow", max_depth=3, fine_tune=None),
    CSTCRegressor(structure="prune", early_stopping=True, max_depth=3),
    GreedyMiserClassifier(subsample=0.7, early_stopping=True, n_estimators=10),
    CSTCRegressor(feature_map=GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0), max_depth=2),
    ASTCRegressor(feature_map=GradientBoostingRegressor(n_estimators=6, max_depth=2, random_state=0), max_depth=3),
]
# A fitted feature map has a column order and evaluation costs in a unit of its own.
CHARGING_FEATURE_MAPS = [
    CSTCRegressor(feature_map=charging_feature_map(), max_depth=2),
    CSCCClassifier(feature_map=charging_feature_map(), n_stages=2),
    ASTCClassifier(feature_map=charging_feature_map(), max_depth=3, node_budget=6.0),
]
ABOUT_UNFITTED_PARTS = (check_column_order_is_immaterial, check_unit_of_cost_is_immaterial)
ESTIMATORS = [each() for each in public_estimators()] + VARIANTS


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("estimator", ESTIMATORS + WEIGHING_UNLIKE_REPEATING, ids=repr)
def test_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check", [check for check in CHECKS if check not in ABOUT_UNFITTED_PARTS], ids=lambda check: check.__name__
)
@pytest.mark.parametrize("estimator", CHARGING_FEATURE_MAPS, ids=["tree", "cascade", "greedy tree"])
def test_contract_with_charging_feature_map(estimator, check):
    check(estimator)


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=expected_failures)
def test_scikit_learn(estimator, check):
    check(estimator)


class Peeking(ASTCRegressor):
    """Reads a feature it never paid for."""

    def _run(self, X, cap, qid):
        run = super()._run(X, cap, qid)
        return run._replace(score=run.score + np.nan_to_num(X[:, -1]))


class Overspending(ASTCRegressor):
    """Forgets about caps."""

    def _run(self, X, cap, qid):
        return super()._run(X, np.full(len(X), np.inf), qid)


class Understating(ASTCRegressor):
    """Charges less than what it acquired is worth."""

    def _run(self, X, cap, qid):
        run = super()._run(X, cap, qid)
        return run._replace(spend=run.spend / 2)


class Concealing(GreedyMiserRegressor):
    """Charges for evaluation without announcing it."""

    def _start(self, cap):
        session = super()._start(cap)
        plan = session._plan
        session._plan = lambda: (
            step if not isinstance(step := plan(), Acquire) else Acquire(step.features, step.cost / 2)
        )
        return session


class Inventing(ASTCRegressor):
    """Takes what is unavailable for zero, in sessions only."""

    def _start(self, cap):
        session = super()._start(cap)
        session._read = lambda feature, value: 0.0 if value is None else float(value)
        return session


class Forgetful(GreedyMiserRegressor):
    """Answers with 0 if it can afford nothing, in batches and in sessions."""

    def _score_of_sums(self, sums, exits):
        return np.where(exits < 0, 0.0, sums[:, 0])


def run_all(estimator):
    for check in CHECKS:
        check(estimator)


CULPRITS = [Peeking(), Overspending(), Understating(), Concealing(), Inventing(), Forgetful(n_estimators=5)]


@pytest.mark.parametrize("culprit", CULPRITS, ids=repr)
def test_the_checks_catch_a_culprit(culprit):
    with pytest.raises(AssertionError):
        run_all(culprit)


def test_estimators_that_need_arguments_are_left_to_the_variants():
    assert ASTCRegressor in public_estimators()
    assert TableModel not in public_estimators()


def test_check_estimator_runs_them_all():
    check_estimator(CostWeightedL1Regressor())
    with pytest.raises(AssertionError):
        check_estimator(Peeking())
