"""A search on Dask collections: a sample decides, and all rows are fitted on the workers."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config

from thrifty import (
    ASTCClassifier,
    AttentiveClassifier,
    BudgetSearchCV,
    CSTCClassifier,
    GreedyMiserRanker,
    TableModel,
    load,
    save,
)
from thrifty.datasets import load_heart
from thrifty.distributed import sampled


@pytest.fixture(scope="module")
def mixed():
    """Return a table with numbers, a category and missing values, and its targets."""
    random = np.random.default_rng(0)
    X = pd.DataFrame(random.normal(size=(2000, 4)), columns=list("abcd"))
    X["town"] = random.choice(["Bern", "Graz", "Ulm", None], 2000)
    y = np.where(X["a"] + 2 * (X["town"] == "Ulm") + X["b"] * (X["a"] > 0) > 0.5, "yes", "no")
    X.loc[random.random(2000) < 0.1, "c"] = None
    return X, y


def far(frame, y, n=5):
    whole = dd.from_pandas(frame.assign(target=y), npartitions=n)
    return whole[list(frame.columns)], whole["target"]


def test_all_rows_are_drawn_with_the_same_probability_whatever_the_groups():
    X = da.arange(4000, chunks=100).reshape(-1, 1)
    with dask.config.set(scheduler="synchronous"):
        counts = np.zeros(40)
        for seed in range(6):
            found = sampled(X, X[:, 0], None, 400, seed, "search")
            assert found.n_rows == 4000
            assert len(np.unique(found.y)) == 400
            np.testing.assert_array_equal(found.X[:, 0], found.y)
            counts += np.bincount(found.y // 100, minlength=40)
        assert (np.diff(found.y) > 0).all()  # in the order of the table
    expected = 400 * 6 / 40
    assert ((counts - expected) ** 2 / expected).sum() < 80  # chi-squared with 39 degrees: 1e-4 above


@pytest.mark.parametrize("weighted", [False, True])
def test_the_same_model_as_in_memory_if_all_rows_are_drawn(client, mixed, weighted):
    X, y = mixed
    weight = np.arange(2000) % 3 + 1.0 if weighted else None
    options = {"budget": 3.0, "max_rows": None, "cv": 3, "costs": [1, 1, 2, 1, 2]}
    search = BudgetSearchCV([(ASTCClassifier(), {"max_depth": [1, 3], "node_budget": [1, 2]})], **options)
    here = search.fit(X, y, weight)
    frame, target = far(X, y)
    weights = None if weight is None else far(X, weight)[1]
    there = BudgetSearchCV(**search.get_params()).fit(frame, target, weights)
    assert there.best_params_ == here.best_params_
    assert there.promise_ == here.promise_
    assert there.training_.n_rows == 2000
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=1e-6)
    np.testing.assert_array_equal(there.spend(X), here.spend(X))


def test_named_methods_choose_on_a_sample_and_are_fitted_on_all_rows(client, mixed, tmp_path):
    X, y = mixed
    search = BudgetSearchCV(["l1", "astc"], budget=3.0, max_rows=400, cv=3, costs=[1, 1, 2, 1, 2]).fit(*far(X, y))
    assert search.promise_.n_rows == 400
    assert search.training_.n_rows == 2000
    assert search.spend(X).mean() <= 3.0
    assert (search.predict(X) == y).mean() > 0.75
    loaded = load(save(search, tmp_path / "model.thrifty"))
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))


def test_arrays_with_empty_chunks_and_other_chunks_of_targets(client, mixed):
    X, y = mixed[0][["a", "b", "c"]].to_numpy(float), mixed[1] == "yes"
    search = BudgetSearchCV("l1", budget=2.0, max_rows=500, cv=2)
    search.fit(da.from_array(X, chunks=((900, 0, 1100), 3)), da.from_array(y, chunks=500))
    assert search.training_.n_rows == 2000


def test_what_cannot_be_searched_there(client, mixed):
    X, y = far(*mixed)
    with pytest.raises(ValueError, match=r"AttentiveClassifier cannot be fitted on all rows there.*astc"):
        BudgetSearchCV(AttentiveClassifier()).fit(X, y)
    with pytest.raises(ValueError, match=r"method 'attentive' cannot be fitted on all rows there.*astc"):
        BudgetSearchCV(["astc", "attentive"]).fit(X, y)
    with pytest.raises(ValueError, match=r"GreedyMiserRanker has loss='lambdarank'.*Pass loss='squared_error'"):
        BudgetSearchCV(GreedyMiserRanker()).fit(X, X["a"], qid=y)
    with pytest.raises(ValueError, match=r"query 'no' has rows in partition 0 and in partition 1.*leave out greedy-m"):
        BudgetSearchCV("greedy-miser").fit(X, X["a"], qid=y)


def test_a_class_that_was_not_drawn(client, mixed):
    X, y = mixed[0], mixed[1].astype(object)
    y[7] = "rare"
    with pytest.raises(ValueError, match=r"1 of 2000 rows are of class 'rare', and none of the 50.* larger max_rows"):
        BudgetSearchCV("astc", max_rows=50, random_state=1).fit(*far(X, y))


def test_weights_of_classes_are_those_of_all_rows(client, mixed):
    X, y = mixed[0][:800], mixed[1][:800]
    weight = np.arange(800) % 3 + 0.5
    options = {"max_rows": None, "cv": 2, "class_weight": "balanced"}
    model = ASTCClassifier(max_depth=1)
    there = BudgetSearchCV(model, **options).fit(*far(X, y, 2), far(X, weight, 2)[1])
    here = TableModel(model, class_weight="balanced").fit(X, y, weight)
    np.testing.assert_allclose(there.predict_proba(X), here.predict_proba(X), rtol=1e-6)
    assert abs(here.predict_proba(X) - TableModel(model).fit(X, y, weight).predict_proba(X)).max() > 0.01


def test_groups_are_held_out_together(client, mixed):
    X, y = mixed[0][:800], mixed[1][:800]
    patients, model = pd.Series(np.arange(800) // 3, name="patient"), ASTCClassifier(max_depth=1)
    options = {"max_rows": None, "cv": 2}
    here = BudgetSearchCV(model, **options).fit(X, y, groups=patients)
    there = BudgetSearchCV(model, **options).fit(*far(X, y), groups=far(X, patients)[1])
    np.testing.assert_array_equal(there.frontier_["score"], here.frontier_["score"])
    without = BudgetSearchCV(model, **options).fit(X, y)
    assert not np.array_equal(here.frontier_["score"], without.frontier_["score"])


@pytest.fixture(scope="module")
def ranked():
    """Return a table with the query of each row, of 7 to 13 rows, and its relevance."""
    random = np.random.default_rng(1)
    sizes = random.integers(7, 14, 120)
    X = pd.DataFrame(random.normal(size=(sizes.sum(), 3)), columns=list("abc"))
    y = np.digitize(X["a"] + X["b"] * (X["c"] > 0) + random.normal(size=len(X)), [0.0, 1.0, 2.0])
    return X.assign(query=np.repeat(random.permutation(120), sizes), y=y)


def in_whole_queries(table):
    """Return a Dask DataFrame of three partitions, each with whole queries."""
    part = (table["query"].to_numpy() != table["query"].shift(1).to_numpy()).cumsum() // 41
    return dd.from_delayed([dask.delayed(rows) for _, rows in table.groupby(part)], meta=table[:0])


def test_rankings(client, ranked):
    rows = in_whole_queries(ranked)
    search = BudgetSearchCV("greedy-miser", max_rows=600, cv=2, budget=2.5)
    search.fit(rows[["a", "b", "c"]], rows["y"], qid=rows["query"])
    X, y, qid = ranked[["a", "b", "c"]], ranked["y"], ranked["query"]
    assert search.training_.n_rows == len(ranked)
    assert 500 < search.promise_.n_rows <= 600
    assert search.score(X, y, qid=qid) > search.anchors_["score"].iloc[0] + 0.02
    assert search.spend(X).mean() <= 2.5


def test_whole_queries_are_drawn_with_the_same_probability_in_any_partitioning(client, ranked):
    X, columns = ranked[["a"]].to_numpy(), [ranked[name].to_numpy() for name in ("y", "query")]
    counts, seeds = np.zeros(120), 20
    for seed in range(seeds):
        drawn = []
        for chunks in ((700, 0, len(X) - 700), (1, 400, 300, len(X) - 701)):  # some queries are divided
            y, qid = (da.from_array(each, chunks=(chunks,)) for each in columns)
            with dask.config.set(scheduler="synchronous"):
                found = sampled(da.from_array(X, chunks=(chunks, 1)), y, None, 300, seed, "search", qid=qid)
            drawn.append(found.qid)
            queries, sizes = np.unique(found.qid, return_counts=True)
            assert 285 < len(found.qid) <= 300
            np.testing.assert_array_equal(sizes, np.bincount(ranked["query"])[queries])
        np.testing.assert_array_equal(*drawn)
        counts[queries] += 1
    expected = counts.sum() / 120
    assert ((counts - expected) ** 2 / expected).sum() < 190  # chi-squared with 119 degrees: 1e-5 above


def test_the_first_queries_are_larger_than_the_sample(client, ranked):
    rows = in_whole_queries(ranked.assign(query=0))
    with pytest.raises(ValueError, match=r"max_rows is 300, but the first two queries that were drawn have .* larger"):
        sampled(rows[["a"]], rows["y"], None, 300, 0, "search", qid=rows["query"])


def test_errors_name_the_partition(client, mixed):
    X, y = mixed
    parts = [dask.delayed(each) for each in (X[:500], X[500:1000].drop(columns="b"), X[1000:])]
    bad = dd.from_delayed(parts, meta=X.iloc[:0], verify_meta=False)
    target = dd.from_delayed([dask.delayed(pd.Series(each)) for each in (y[:500], y[500:1000], y[1000:])])
    with pytest.raises(ValueError, match="partition 1: X lacks column 'b'"):
        BudgetSearchCV("astc").fit(bad, target)
    short = dd.from_delayed([dask.delayed(pd.Series(each)) for each in (y[:500], y[501:1000], y[:500])])
    good = dd.from_delayed([dask.delayed(X[:500])] * 3, meta=X.iloc[:0])
    with pytest.raises(ValueError, match="partition 1: y has 499 entries"):
        BudgetSearchCV("astc").fit(good, short)


def test_a_search_whose_fits_run_on_the_workers(client):
    heart = load_heart()
    candidates = [ASTCClassifier(max_depth=2), CSTCClassifier(max_depth=2)]
    options = {"estimators": candidates, "costs": heart.costs, "cv": 2}
    here = BudgetSearchCV(**options).fit(heart.X, heart.y)
    with parallel_config(backend="dask"):
        there = BudgetSearchCV(**options, n_jobs=2).fit(heart.X, heart.y)
    assert there.best_params_ == here.best_params_
    np.testing.assert_array_equal(there.frontier_["score"], here.frontier_["score"])
    np.testing.assert_array_equal(there.predict(heart.X), here.predict(heart.X))
