"""Scorers by query and by name, cost curves of rankings, and which scores suit which targets."""

from contextlib import suppress
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    brier_score_loss,
    f1_score,
    get_scorer_names,
    log_loss,
    precision_score,
    roc_auc_score,
)

from reference import error_costs as reference
from thrifty import ASTCClassifier, ASTCRegressor, EarlyExitRanker
from thrifty.costs import ErrorCosts
from thrifty.datasets import make_ltr
from thrifty.metrics import cost_curve, ndcg_at_k
from thrifty.metrics.scoring import PerfectPredictions, query_metric, scorer_of, scoring_for


@pytest.fixture(scope="module")
def data():
    return make_ltr(30, 15, 20, random_state=0)


@pytest.mark.parametrize("scoring", ["ndcg", "ndcg@0", "recall@5", "accuracy", None, len])
def test_other_scorings_are_not_taken_for_a_metric_by_query(scoring):
    assert query_metric(scoring) is None


def test_queries_are_needed_for_a_metric_by_query(data):
    model = ASTCRegressor(costs=data.costs).fit(data.X, data.y)
    with pytest.raises(ValueError, match="scoring='ndcg@5' is computed by query, but qid is None"):
        scorer_of("ndcg@5")(model, data.X, data.y, None)


def test_classifiers_are_ranked_by_their_log_odds(data):
    relevant = data.y > 1
    model = ASTCClassifier(costs=data.costs).fit(data.X, relevant)
    found = scorer_of("ndcg@5")(model, data.X, relevant, data.qid)
    assert found == ndcg_at_k(relevant, model.decision_function(data.X), qid=data.qid, k=5)
    assert found == model.score(data.X, relevant, qid=data.qid)


def test_a_cost_curve_by_query_is_what_the_models_score(data):
    cheap, costly = (
        ASTCRegressor(costs=data.costs, max_depth=2, node_budget=b).fit(data.X, data.y, qid=data.qid) for b in (5, 80)
    )
    curve = cost_curve([cheap, costly], data.X, data.y, scoring="ndcg@5", qid=data.qid)
    np.testing.assert_array_equal(curve.score, [m.score(data.X, data.y, qid=data.qid) for m in (cheap, costly)])
    by_default = cost_curve([cheap, costly], data.X, data.y, qid=data.qid)
    np.testing.assert_array_equal(by_default.score, curve.score)
    capped = cost_curve(costly, data.X, data.y, qid=data.qid, caps=[0, 20, None])
    assert capped.score[-1] == curve.score[-1]


def test_a_cost_curve_tells_an_early_exit_which_documents_compete(data):
    model = EarlyExitRanker(costs=data.costs, s=0.3).fit(data.X, data.y, qid=data.qid)
    curve = cost_curve(model, data.X, data.y, qid=data.qid)
    assert curve.spend[0] == model.spend(data.X, qid=data.qid).mean() < model.spend(data.X).mean()


# Scores of classes by name


WORDS = np.array(["absent", "present"])


class Recorded(ClassifierMixin, BaseEstimator):
    """Log-odds that were made once, with the answers that they stand for."""

    def __init__(self, classes, scores, spend=0.0):
        self.classes_, self.scores, self.paid = np.asarray(classes), np.asarray(scores, dtype=float), spend

    def predict(self, X):
        winner = self.scores > 0 if self.scores.ndim == 1 else self.scores.argmax(axis=1)
        return self.classes_[np.asarray(winner, dtype=int)]

    def decision_function(self, X):
        return self.scores

    def predict_proba(self, X):
        if self.scores.ndim == 1:
            return np.column_stack([expit(-self.scores), expit(self.scores)])
        return softmax(self.scores, axis=1)

    def acquire(self, X, *, qid=None):
        return SimpleNamespace(prediction=self.predict(X), spend=np.full(len(self.scores), self.paid))


@pytest.fixture(scope="module")
def two_classes():
    random = np.random.default_rng(0)
    codes = random.integers(0, 2, 60)
    return codes, 2.0 * codes - 1.0 + random.normal(0, 1.5, 60)


@pytest.mark.parametrize("classes", [WORDS, [3, 7], [False, True]], ids=str)
def test_scores_by_name_take_classes_of_any_type(two_classes, classes):
    codes, scores = two_classes
    model, y = Recorded(classes, scores), np.asarray(classes)[codes]
    answers = scores > 0
    expected = {
        "average_precision": average_precision_score(codes, scores),
        "balanced_accuracy": balanced_accuracy_score(codes, answers),
        "f1": f1_score(codes, answers),  # the second class is the positive one
        "roc_auc": roc_auc_score(codes, scores),
        "log_loss": -log_loss(codes, expit(scores)),
        "neg_brier_score": -brier_score_loss(codes, expit(scores)),
        "precision": precision_score(codes, answers),
    }
    for name, value in expected.items():
        assert scorer_of(name)(model, None, y, None) == pytest.approx(value), name


def test_weights_count_in_scores_that_accept_them(two_classes):
    codes, scores = two_classes
    model, weight = Recorded(WORDS, scores), np.arange(60.0)
    y, answers = WORDS[codes], scores > 0
    assert scorer_of("accuracy")(model, None, y, None, weight) == pytest.approx(
        np.average(answers == codes, weights=weight)
    )
    unweighted = scorer_of(lambda model, X, y: 3.0)
    assert unweighted(model, None, y, None, weight) == 3.0


def test_log_loss_where_a_class_has_no_row():
    model = Recorded([1, 2, 3], np.log([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3]]))
    assert scorer_of("log_loss")(model, None, np.array([1, 2]), None) == pytest.approx(np.log([0.5, 0.6]).mean())


def test_total_cost_is_spend_and_errors(two_classes):
    codes, scores = two_classes
    matrix = [[0.0, 20.0], [100.0, 0.0]]
    model, y = Recorded(WORDS, scores, spend=7.0), WORDS[codes]
    expected = reference.mean_total_cost([7.0] * 60, codes, (scores > 0).astype(int), matrix)
    found = scorer_of("total_cost", ErrorCosts.resolve(matrix, WORDS))
    assert found(model, None, y, None) == pytest.approx(-expected)
    first = np.arange(60) == 0
    assert found(model, None, y, None, first) == -7.0 - matrix[codes[0]][int(scores[0] > 0)]
    with pytest.raises(ValueError, match=r"scoring is 'total_cost', but there are no error costs. Pass error_costs"):
        scorer_of("total_cost")


# What targets can be scored by


def test_metrics_of_a_positive_class_are_averaged_over_many_classes():
    three = np.array(list("abc") * 5)
    found = [scoring_for(name, three, has_classes=True) for name in ("f1", "roc_auc", "accuracy", "log_loss")]
    assert found == ["f1_macro", "roc_auc_ovr", "accuracy", "neg_log_loss"]
    assert scoring_for("f1", WORDS, has_classes=True) == "f1"


OF_CLASSES = {"accuracy", "average_precision", "balanced_accuracy", "f1", "neg_log_loss", "roc_auc"}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.UndefinedMetricWarning")  # ratios of perfect predictions
@pytest.mark.parametrize(
    ("y", "suited"),
    [(WORDS, OF_CLASSES), (np.array([3, 7]), OF_CLASSES), (np.array(list("abc")), OF_CLASSES),
     (np.linspace(0.1, 2, 27), {"r2", "neg_mean_absolute_error"})],
)  # fmt: skip
def test_scorers_of_scikit_learn_that_are_taken_can_score_the_targets(y, suited):
    has_classes, taken = suited is OF_CLASSES, set()
    for name in get_scorer_names():
        with suppress(ValueError):
            settled = scoring_for(name, y, has_classes=has_classes)
            taken.add(name)
            scorer_of(settled)(PerfectPredictions(y, has_classes), None, y, None)
    assert suited <= taken
    assert ("r2" in taken) is not has_classes


@pytest.mark.parametrize(
    ("scoring", "y", "problem"),
    [
        ("r2", WORDS, "which compares numbers, but the targets are classes"),
        ("r2", np.array([0, 1]), "which compares numbers, but the targets are classes"),
        ("neg_mean_squared_error", WORDS, "which compares numbers"),
        ("accuracy", np.array([0.5, 1.5]), "which compares classes, but the targets are numbers"),
        ("f1_samples", WORDS, "which cannot score these targets"),
        ("positive_likelihood_ratio", np.array(["a", "b", "c"]), "which cannot score these targets"),
        ("neg_mean_squared_log_error", np.array([-3.5, 1.5]), "which cannot score these targets"),
        ("ndcg@5", np.array([0.5, 1.5]), "is computed by query, but qid is None"),
        ("sharpness", WORDS, "expected a scikit-learn scorer"),
    ],
)
def test_scores_that_do_not_suit_the_targets_are_refused(scoring, y, problem):
    with pytest.raises(ValueError, match=problem):
        scoring_for(scoring, y, has_classes=y.dtype.kind in "iU")
