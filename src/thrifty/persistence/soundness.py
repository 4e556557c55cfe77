"""Whether what was loaded is sound: every index, length and type that kernels take on trust.

Trees, forests and chains see to themselves, for reading them runs their constructors. Here is checked that the parts of
a model fit together, and what the structures of policies are made of.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from thrifty.costs import CostModel
from thrifty.exceptions import ModelFileError
from thrifty.models.base import BudgetedClassifier, BudgetedEstimator, is_number, is_whole
from thrifty.models.boosting.adaboost_rs import AdaBoostRSClassifier
from thrifty.models.boosting.budgeted_forest import _BudgetedForest
from thrifty.models.boosting.early_exit import EarlyExitRanker
from thrifty.models.boosting.estimator import ForestEstimator
from thrifty.models.boosting.feature_map import BoostedFeatureMap
from thrifty.models.boosting.forest import Forest
from thrifty.models.boosting.task import Task
from thrifty.models.policies.data_classifier import LinearScores, PredictedScores, Standardiser
from thrifty.models.policies.estimator import PolicyClassifier
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.policy import LinearPolicy, PredictedPolicy
from thrifty.models.policies.rollout import N_NUMBERS
from thrifty.models.stopping.chain import Chain
from thrifty.models.stopping.estimator import SumClassifier
from thrifty.models.stopping.misfits import is_array, is_numbers, is_whole_numbers
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.fields import CATEGORY, EXPECTED, Field
from thrifty.models.tables.table_model import TableModel
from thrifty.models.trees.estimator import TreeEstimator
from thrifty.models.trees.linear_tree import LinearTree
from thrifty.models.trees.mapped import FeatureMapped
from thrifty.persistence.errors import one_line
from thrifty.persistence.scikit_learn import refuse_unsound_parts

Check = Callable[[Any], None]


def refuse_unsound(model: Any) -> None:
    """Refuse a model that would not predict, or would make a kernel look where there is nothing."""
    try:
        refuse_unsound_parts(model)
        _check(model)
    except Exception as error:  # whatever an attribute of the wrong type leads to
        raise ModelFileError(f"the model does not hold together: {one_line(error)}.") from error


def _check(model: Any) -> None:
    _require(isinstance(model, BudgetedEstimator), "it is no estimator of thrifty")
    _require(set(model.get_params(deep=False)) <= set(vars(model)), "it lacks parameters")
    shadowed = [name for name in vars(model) if callable(getattr(type(model), name, None))]
    _require(not shadowed, f"it has {shadowed} for methods")
    _require(isinstance(model.cost_model_, CostModel), "it has no costs")
    _require(model.cost_model_.n_features == model.n_features_in_, "it has costs for other columns")
    names = getattr(model, "feature_names_in_", None)
    _require(names is None or tuple(names) == model.cost_model_.names, "it has costs for columns of other names")
    if isinstance(model, BudgetedClassifier):
        _require(is_array(model.classes_, len(model.classes_)) and len(model.classes_) > 1, "it has no classes")
    checks = [check for family, check in CHECKS.items() if isinstance(model, family)]
    _require(checks, "nobody knows how to check it")
    for check in checks:
        check(model)


def _n_scores(model: Any) -> int:
    n_classes = len(model.classes_) if isinstance(model, BudgetedClassifier) else 2
    return 1 if n_classes == 2 else n_classes


# Trees of linear nodes


def _check_tree(model: Any) -> None:
    tree, costs = model.tree_, model.cost_model_
    _require(isinstance(tree, LinearTree) and len(tree.prior) == _n_scores(model), "its tree has other scores")
    if isinstance(model, FeatureMapped) and model.feature_map_ is not None:
        _require(isinstance(model.feature_map_, BoostedFeatureMap), "its feature map is none")
        _require(model.feature_map_.forest.n_features == costs.n_features, "its feature map has other columns")
        _require(model._fill is None or is_numbers(model._fill, costs.n_features), "its feature map has other fills")
        costs = model.feature_map_.cost_model(costs)
    _require(tree.cost_model == costs, "its tree has other costs")


# Forests


def _check_forest(model: Any) -> None:
    forest = model.forest_
    _require(isinstance(forest, Forest) and forest.n_features == model.n_features_in_, "its forest has other columns")
    _require(len(forest.base) == _n_scores(model), "its forest has other scores")
    model._priced()


def _check_adaboost(model: Any) -> None:
    _require(is_numbers(model._prior, 1), "its prior is no number")


def _check_budgeted_forest(model: Any) -> None:
    task, prior = model.task_, model.task_.prior
    _require(isinstance(task, Task) and is_number(task.scale) and isinstance(task.averaged, bool), "its task is none")
    _require(prior is None or np.array(prior, dtype=float).shape == (_n_scores(model),), "its prior has other scores")


def _check_early_exit(model: Any) -> None:
    steps, n_rounds = model.checkpoints_, model._priced().n_rounds
    _require(is_whole_numbers(steps, len(steps)) and steps.dtype == np.int64, "its checkpoints are no whole numbers")
    _require((np.diff(steps, prepend=0) >= 0).all() and steps[-1] == n_rounds, "its checkpoints are out of order")
    _require(is_whole(model.top, 1) and is_number(model.s, 0), "its top or s makes no sense")


# Sums of terms


def _check_sum(model: Any) -> None:
    chain = model.chain_
    _require(isinstance(chain, Chain) and chain.cost_model == model.cost_model_, "its chain has other costs")
    _require(len(chain.prior) == _n_scores(model), "its chain has other scores")
    _require(is_number(model.slope_), "its slope is no number")


# Policies


def _check_policy(model: Any) -> None:
    factors, d, n_classes = model.factors_, model.n_features_in_, len(model.classes_)
    _require(isinstance(factors, Factors) and factors.cost_model == model.cost_model_, "its factors have other costs")
    _require(isinstance(factors.flagged, bool), "its factors are neither flagged nor not")
    _require(isinstance(model.standardiser_, Standardiser), "its standardiser is none")
    for scale in (model.standardiser_.centre, model.standardiser_.slope):
        _require(
            is_numbers(scale, d) and np.isfinite(scale).all(), "its standardiser has other columns, or infinite ones"
        )
    _check_scores(model.scores_, factors, n_classes)
    _check_actions(model.policy_, factors, N_NUMBERS + n_classes)


def _check_scores(scores: Any, factors: Factors, n_classes: int) -> None:
    width = int(factors.starts[-1])
    same = is_whole_numbers(scores.starts, len(factors) + 1) and scores.starts.dtype == factors.starts.dtype
    _require(same and (scores.starts == factors.starts).all(), "its scores have other factors")
    _require(scores.n_classes == n_classes, "its scores have other classes")
    if isinstance(scores, LinearScores):
        fine = is_numbers(scores.weights, 1, width, n_classes) and is_numbers(scores.intercepts, 1, n_classes)
    else:
        fine = isinstance(scores, PredictedScores) and len(scores.classifiers) == 1
        fine = fine and _fits(scores.classifiers[0], width)
    fine = fine and scores.start(np.zeros(1, dtype=np.int64)).shape == (1, n_classes)
    _require(fine, "its data classifier has other columns or classes")


def _check_actions(policy: Any, factors: Factors, n_meta: int) -> None:
    width, n_actions = int(factors.starts[-1]), len(factors) + 1
    if isinstance(policy, LinearPolicy):
        fine = is_numbers(policy.values, 1, width, n_actions) and is_numbers(policy.meta, n_meta, n_actions)
        fine = fine and is_numbers(policy.intercepts, n_actions)
    else:
        fine = isinstance(policy, PredictedPolicy) and policy.n_actions == n_actions and is_number(policy.lean)
        fine = fine and _fits(policy.classifier, width + n_meta) and _knows_actions(policy.classifier, n_actions)
    _require(fine, "its policy has other columns or actions")


def _knows_actions(classifier: Any, n_actions: int) -> bool:
    known = classifier.classes_
    if not is_whole_numbers(known, len(known)) or not set(known.tolist()) <= set(range(n_actions)):
        return False
    method = getattr(classifier, "decision_function", None) or classifier.predict_proba
    scores = method(np.zeros((1, classifier.n_features_in_)))
    return scores.shape == (1, len(known)) or (len(known) == 2 and scores.shape == (1,))


def _fits(classifier: Any, n_features: int) -> bool:
    return isinstance(classifier, BaseEstimator) and classifier.n_features_in_ == n_features


# Tables


def _check_table(model: Any) -> None:
    encoder, inner = model.encoder_, model.estimator_
    _require(isinstance(encoder, TableEncoder) and not isinstance(inner, TableModel), "its encoder is none")
    _require(len(encoder.fields_) == model.n_features_in_, "its encoder has other columns")
    for field in encoder.fields_:
        _require(isinstance(field, Field) and field.kind in EXPECTED, "its encoder has a field of no known kind")
        texts = isinstance(field.levels, tuple) and all(isinstance(level, str) for level in field.levels)
        fine = texts and list(field.levels) == sorted(field.levels) and isinstance(field.missing_level, bool)
        _require(
            fine and (field.kind == CATEGORY or not field.levels), f"its field {field.name!r} has no proper levels"
        )
    source = np.repeat(np.arange(len(encoder.fields_)), [field.width for field in encoder.fields_])
    _require(is_whole_numbers(encoder.source_, len(source)), "its encoder derives other columns")
    _require((encoder.source_ == source).all(), "its encoder derives other columns")
    _require([field.name for field in encoder.fields_] == list(model._feature_ids()), "its fields have other names")
    _check(inner)
    _require(inner.cost_model_ == encoder.derived_costs(model.cost_model_), "its estimator has other costs")
    _require(model.cap is None or model.cap == np.inf or is_number(model.cap, 0), "its cap makes no sense")


CHECKS: dict[type, Check] = {
    TreeEstimator: _check_tree,
    ForestEstimator: _check_forest,
    AdaBoostRSClassifier: _check_adaboost,
    _BudgetedForest: _check_budgeted_forest,
    EarlyExitRanker: _check_early_exit,
    SumClassifier: _check_sum,
    PolicyClassifier: _check_policy,
    TableModel: _check_table,
}


def _require(fine: Any, otherwise: str) -> None:
    if not fine:
        raise ModelFileError(otherwise)
