"""A replay predicts what the model predicts, as far as the traces know the values; where they do not, it says so."""

import numpy as np
import pytest

from thrifty import ASTCClassifier, CostWeightedL1Regressor, GreedyMiserClassifier, SourceError
from thrifty.datasets import load_heart
from thrifty.runtime import Call, Result, Step, Trace
from thrifty.runtime.replay import Comparison, largest_spend, replay

HEART = load_heart()
CHEAP = ASTCClassifier(costs=HEART.costs, max_depth=2, node_budget=[4, 10], overflow="skip").fit(HEART.X, HEART.y)
LARGE = GreedyMiserClassifier(costs=HEART.costs, cost_weight=1e-5, n_estimators=20, evaluation_cost=0.25).fit(
    HEART.X, HEART.y
)


def result_of(key, values, *, prediction=0, spend=1.0, outcome="ok"):
    call = Call("clinic", tuple(values), outcome, spend, 0.0, 0.01, 1, 1, "", dict(values))
    trace = Trace(key, (Step(tuple(values), spend, "", (call,)),))
    return Result(key, prediction, None, 0.0, spend, 0.01, False, 0, "done", "Model", trace)


def full_results(rows=range(40), **options):
    return [result_of(i, dict(zip(HEART.names, HEART.X[i].tolist(), strict=True)), **options) for i in rows]


@pytest.mark.parametrize("model", [CHEAP, LARGE], ids=["tree", "forest"])
@pytest.mark.parametrize("cap", [None, 6.0, 0.0])
def test_with_all_values_known_it_is_the_batch(model, cap):
    rows = list(replay(model, full_results(), cap))
    acquisition = model.acquire(HEART.X[:40], cap)
    assert all(row.known for row in rows)
    np.testing.assert_array_equal([row.prediction for row in rows], acquisition.prediction)
    np.testing.assert_array_equal([row.spend for row in rows], acquisition.spend)
    for row, marks in zip(rows, acquisition.acquired, strict=True):
        assert set(row.bought) == {name for name, bought in zip(HEART.names, marks, strict=True) if bought}


def test_results_read_from_json_are_replayed_the_same():
    results = full_results(range(10))
    again = [Result.from_dict(each.as_dict()) for each in results]
    assert [row.as_dict() for row in replay(CHEAP, again)] == [row.as_dict() for row in replay(CHEAP, results)]


def test_where_a_value_is_not_known_the_spend_is_a_lower_bound():
    rows = list(replay(LARGE, _without("thal")))
    assert not all(row.known for row in rows)
    for row, spend in zip(rows, LARGE.spend(HEART.X[:40]), strict=True):
        if row.known:
            assert row.spend == spend
        else:
            assert row.unknown == ("thal",)
            assert (row.prediction, row.changed) == (None, None)
            assert row.spend <= spend


@pytest.mark.parametrize("outcome", ["failed", "timeout", "refused", "deadline"])
def test_calls_that_failed_tell_nothing(outcome):
    values = dict.fromkeys(HEART.names)
    assert not any(row.known for row in replay(CHEAP, [result_of(0, values, outcome=outcome)]))


@pytest.mark.parametrize("outcome", ["ok", "cached", "missing", "invalid"])
def test_values_that_were_unavailable_stay_unavailable(outcome):
    values = dict.fromkeys(HEART.names)
    row = next(replay(CHEAP, [result_of(0, values, outcome=outcome)]))
    acquisition = CHEAP.acquire(np.full((1, HEART.X.shape[1]), np.nan))
    assert (row.known, row.prediction, row.spend) == (True, acquisition.prediction[0], acquisition.spend[0])


def test_redacted_values_are_not_known():
    call = Call("clinic", ("cp",), "ok", 1.0, 0.0, 0.01, 1, 1, "", None)
    trace = Trace(0, (Step(("cp",), 1.0, "", (call,)),))
    assert not next(replay(CHEAP, [Result(0, 1, None, 0.0, 1.0, 0.01, False, 0, "done", "M", trace)])).known


def test_a_value_that_the_model_cannot_read_is_unavailable():
    strange, missing = (result_of(0, dict.fromkeys(HEART.names, value)) for value in ("text", None))
    first, second = replay(CHEAP, [strange, missing])
    assert (first.prediction, first.spend) == (second.prediction, second.spend)


def test_the_comparison_counts_rows_spend_changes_and_purchases():
    results = [*full_results(range(30), prediction=0, spend=50.0), *_without("thal")[30:]]
    comparison, rows = Comparison(LARGE), list(replay(LARGE, results))
    for row in rows:
        comparison.add(row)
    found, known = comparison.as_dict(), [row for row in rows if row.known]
    assert (found["rows"], found["known_rows"]) == (40, len(known))
    assert 30 <= len(known) < 40
    assert found["changed"] == sum(row.prediction != 0 for row in known) / len(known)
    assert found["known"]["spend"] == pytest.approx(np.mean([row.spend for row in known]))
    assert found["known"]["recorded_spend"] == np.mean([row.recorded.spend for row in known])
    true = LARGE.spend(HEART.X[:40]).mean()
    assert found["all_rows"]["spend_at_least"] <= true <= found["all_rows"]["spend_at_most"]
    thal = next(line for line in found["purchases"] if line["feature"] == "thal")
    assert thal["recorded"] == 30
    assert thal["replayed"] == sum("thal" in row.bought for row in known)
    assert thal["unknown"] == 40 - len(known)
    assert thal["source"] == "clinic"


def test_a_comparison_without_known_rows_has_no_means():
    comparison = Comparison(CHEAP, cap=7.0)
    for row in replay(CHEAP, [result_of(0, {})], 7.0):
        comparison.add(row)
    found = comparison.as_dict()
    assert (found["known_rows"], found["changed"], found["known"]["spend"]) == (0, None, None)
    assert found["all_rows"]["spend_at_most"] <= 7.0


@pytest.mark.parametrize("model", [CHEAP, LARGE], ids=["tree", "forest"])
def test_no_row_spends_more_than_the_bound(model):
    assert model.spend(HEART.X).max() <= largest_spend(model) <= HEART.costs.total + 0.25 * 20


def test_predictions_that_differ_by_rounding_are_the_same():
    model = CostWeightedL1Regressor(cost_weight=0.01, costs={"size": 1.0}).fit([[0.0], [1.0]], [0.0, 1.0])
    answer = float(model.predict([[0.5]])[0])
    rows = replay(model, [result_of(0, {"size": 0.5}, prediction=p) for p in (answer * (1 + 1e-13), answer + 0.1)])
    assert [row.changed for row in rows] == [False, True]


@pytest.mark.parametrize("spend", [None, "much", float("nan"), True])
def test_a_spend_that_is_not_a_number_is_refused(spend):
    with pytest.raises(SourceError, match=r"trace 2 has the spend .*; expected a number"):
        list(replay(CHEAP, [result_of(0, {}), result_of(1, {}, spend=spend)]))


def _without(name, rows=range(40)):
    kept = [each for each in HEART.names if each != name]
    columns = [HEART.names.index(each) for each in kept]
    return [result_of(i, dict(zip(kept, HEART.X[i, columns].tolist(), strict=True))) for i in rows]
