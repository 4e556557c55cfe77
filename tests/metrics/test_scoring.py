"""Scorers by query, and cost curves of rankings."""

import numpy as np
import pytest

from thrifty import ASTCClassifier, ASTCRegressor, EarlyExitRanker
from thrifty.datasets import make_ltr
from thrifty.metrics import cost_curve, ndcg_at_k
from thrifty.metrics.scoring import query_metric, scorer_of


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
