"""The watch: what it warns of, once each, and what its health says."""

import json
import warnings
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from thrifty import ASTCClassifier, BudgetSearchCV, CostModel, TableModel, ThriftyClassifier
from thrifty.datasets import load_heart
from thrifty.runtime import Call, Result, Step, Trace
from thrifty.runtime.sources.catalog import column_names
from thrifty.runtime.watch import PromiseWarning, Reference, Watch
from thrifty.runtime.watch.promised import Promised


@pytest.fixture(scope="module")
def heart():
    return load_heart()


@pytest.fixture(scope="module")
def search(heart):
    return BudgetSearchCV(["l1"], budget=40, cap=200, costs=heart.costs).fit(heart.X, heart.y)


@pytest.fixture(scope="module")
def tree(heart):
    return ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=60).fit(heart.X, heart.y)


@pytest.fixture(scope="module")
def adaptive(heart):
    return ThriftyClassifier(costs=heart.costs, budget=50, random_state=0).fit(heart.X, heart.y)


def result(spend=1.0, exit_=0, degraded=False, values=None):
    calls = () if values is None else (Call("record", tuple(values), "ok", spend, 0.0, 0.01, 1, 1, "", values),)
    trace = Trace("k", (Step(tuple(values or ()), spend, "", calls),))
    return Result("k", 1, None, 0.5, spend, 0.01, degraded, exit_, "done", "Model", trace)


def warned(watch, results):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for each in results:
            watch(each)
    assert all(each.category is PromiseWarning for each in caught)
    return [str(each.message) for each in caught]


def results_of(model, X):
    """Return the results that an engine would give for rows."""
    outcome, names = model.acquire(X), list(column_names(model).values())
    for i, bought in enumerate(outcome.acquired):
        values = {names[j]: X[i, j] for j in np.flatnonzero(bought)}
        yield result(float(outcome.spend[i]), int(outcome.exit[i]), values=values)


# The promise


def test_promises_of_searches_and_of_operating_points(search, adaptive, heart):
    assert search.promise_.spend_bound < 40.0
    assert Promised.by(search.best_estimator_) == Promised(40.0, 200.0, 40.0, "CAD")
    assert Promised.by(adaptive) == Promised(50, adaptive.cost_model_.total, 50, "CAD")
    cheaper = adaptive.at_budget(10)
    assert Promised.by(cheaper).spend == 10 >= cheaper.spend_bound_
    assert Watch(search).health().promised == 40.0


def test_without_a_budget_the_bound_is_the_promise(heart):
    model = ThriftyClassifier(costs=heart.costs, cost_weight=0.003, random_state=0).fit(heart.X, heart.y)
    assert Promised.by(model).spend == model.spend_bound_


def test_a_table_model_promises_what_its_estimator_does(adaptive):
    table = SimpleNamespace(estimator_=adaptive, promise_=None, cap=30.0, cost_model_=adaptive.cost_model_)
    assert Promised.by(table) == Promised(50, 30.0, 50, "CAD")


def test_a_model_without_a_promise_is_not_tested(tree, heart):
    watch = Watch(tree)
    assert warned(watch, [result(1e6)] * 100) == []
    health = watch.health()
    assert (health.ok, health.promised, health.spend_interval, health.mean_spend) == (True, None, None, 1e6)
    assert Watch(TableModel(ASTCClassifier(max_depth=1)).fit(heart.X, heart.y)).health().promised is None


def test_the_largest_spend_allows_for_evaluation():
    model = SimpleNamespace(cost_model_=CostModel([3.0, 4.0]), budget=6.0)
    assert Promised.by(model).largest == 7.0
    assert Promised.by(SimpleNamespace(cost_model_=CostModel([3.0, 4.0]), budget=8.0)).largest == 16.0
    reference = Reference("Model", 1, 5.0, 9.0, {0: 1}, {})
    assert Promised.by(model, reference).largest == 9.0
    assert Promised.by(SimpleNamespace(cost_model_=CostModel([0.0]), budget=0.0)).largest == 1.0


def test_too_much_spend_is_reported_once(search):
    watch = Watch(search)
    promised = search.promise_.budget
    assert warned(watch, [result(0.9 * promised)] * 300) == []
    (message,) = warned(watch, [result(3.0 * promised)] * 2000)
    health = watch.health()
    assert f"promised a mean spend of at most {promised:.4g} CAD per row (the budget is 40 CAD)" in message
    assert "rows spent" in message
    assert "Fit the model again" in message
    assert (health.ok, health.spend_broken, health.messages, health.n_rows) == (False, True, [message], 2300)
    assert health.spend_interval[0] > promised


def test_spend_as_promised_is_no_reason_to_warn(search):
    rng = np.random.default_rng(0)
    promised = search.promise_.spend_bound
    watch = Watch(search)
    assert warned(watch, [result(each) for each in rng.choice([0.0, 2.0 * promised], 3000).tolist()]) == []
    low, high = watch.health().spend_interval
    assert low < promised < high


def test_degraded_rows_count_for_the_spend(search):
    watch = Watch(search)
    assert len(warned(watch, [result(150.0, degraded=True)] * 200)) == 1
    assert watch.health().n_degraded == 200


# Drift


@pytest.fixture(scope="module")
def reference(tree, heart):
    return Reference.of(tree, heart.X)


def test_rows_like_those_of_the_reference_are_no_drift(tree, heart, reference):
    rows = np.random.default_rng(0).choice(len(heart.X), 1000)
    watch = Watch(tree, reference, window=250)
    assert warned(watch, results_of(tree, heart.X[rows])) == []
    assert watch.health().ok


def test_a_column_that_changed_is_reported_once(tree, heart, reference):
    rows = np.random.default_rng(1).choice(len(heart.X), 1000)
    X = heart.X[rows].copy()
    names = list(column_names(tree).values())
    column = names.index(max(reference.columns.values(), key=lambda each: each.n_bought).name)
    X[:, column] = X[:, column] * 10.0 + 100.0  # another unit
    watch = Watch(tree, reference, window=250)
    (message,) = warned(watch, results_of(tree, X))
    health = watch.health()
    assert names[column] in [each.name for each in health.drifted]
    assert f"the values of {names[column]!r} (p = " in message
    assert "In window 1" in message
    assert not health.ok
    assert not health.spend_broken
    assert len({each.name for each in health.drifted}) == len(health.drifted)


def test_degraded_rows_are_left_out_of_windows(tree, reference):
    watch = Watch(tree, reference, window=100)
    assert warned(watch, [result(exit_=99, degraded=True)] * 1000) == []
    assert len(warned(watch, [result(exit_=99)] * 100)) == 1


def test_spend_and_drift_warn_separately(search, heart):
    watch = Watch(search, Reference.of(search, heart.X), window=100)
    messages = warned(watch, [result(150.0, exit_=99)] * 1000)
    assert len(messages) == 2
    assert sorted(watch.health().messages) == sorted(messages)


# Health


def test_health_before_the_first_row(search):
    health = Watch(search).health()
    assert (health.ok, health.n_rows, health.mean_spend, health.drifted) == (True, 0, None, [])
    assert health.spend_interval == (0.0, 200.0)


def test_health_is_ready_for_json_and_readable(tree, reference):
    watch = Watch(tree, reference, window=100)
    warned(watch, [result(exit_=99)] * 100)
    health = replace(watch.health(), sources={"crm": "open", "lab": "closed"})
    record = json.loads(json.dumps(health.as_dict()))
    assert record["drifted"] == [{"name": "exits", "p_value": health.drifted[0].p_value, "window": 1}]
    assert record["sources"] == {"crm": "open", "lab": "closed"}
    assert repr(health).startswith("Health(not ok, 100 rows, 0 degraded, mean spend 1, exits drifted (p=")
    assert repr(health).endswith("window 1), source crm is open)")
    assert "100 rows" in repr(watch)


def test_threads_lose_no_row(search):
    watch = Watch(search)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(watch, [result(1.0), result(3.0)] * 2000))
    health = watch.health()
    assert (health.n_rows, health.mean_spend) == (4000, 2.0)


def test_a_warning_that_is_an_error_does_not_stop_the_watch(search):
    watch = Watch(search)
    with pytest.raises(PromiseWarning):  # warnings are errors in the tests of this project
        deque(map(watch, [result(150.0)] * 200), maxlen=0)
    n_rows = watch.health().n_rows
    watch(result(150.0))
    assert (watch.health().n_rows, watch.health().spend_broken) == (n_rows + 1, True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"alpha": 0.5}, "Watch: alpha is 0.5; expected a number between 0 and 0.5"),
        ({"window": 0}, "Watch: window is 0; expected a whole number of at least 1"),
        ({"reference": "reference.json"}, "Watch: reference is 'reference.json'; expected a Reference"),
        ({"reference": Reference("Model", 1, 5.0, 9.0, {0: 1}, {})}, "do not have the same columns; only one of them"),
    ],
)
def test_bad_options_are_refused(tree, options, message):
    with pytest.raises(ValueError, match=message):
        Watch(tree, **options)
