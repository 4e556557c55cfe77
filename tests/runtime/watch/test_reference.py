"""References: what they count, and the files that hold them."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest

from thrifty import ASTCClassifier, BudgetSearchCV, CostWeightedL1Regressor, TableModel, ThriftyError
from thrifty.datasets import load_heart
from thrifty.runtime.watch import ColumnReference, Reference


@pytest.fixture(scope="module")
def heart():
    return load_heart()


@pytest.fixture(scope="module")
def tree(heart):
    return ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=60).fit(heart.X, heart.y)


@pytest.fixture(scope="module")
def flats():
    rng = np.random.default_rng(0)
    n = 300
    table = pd.DataFrame(
        {
            "rooms": rng.integers(1, 6, n).astype(float),
            "lift": rng.random(n) < 0.5,
            "heating": rng.choice(["gas", "oil", "wood"], n, p=[0.6, 0.3, 0.1]),
            "built": pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 5000, n), unit="D"),
        }
    )
    table.loc[:9, "rooms"] = np.nan
    table.loc[10:14, "heating"] = None
    rent = 300 * table["rooms"].fillna(3) + 500 * (table["heating"] == "gas") + 200 * table["lift"]
    rent += (table["built"] - pd.Timestamp("2000-01-01")).dt.days / 10
    return table, rent.to_numpy()


@pytest.fixture(scope="module")
def table_model(flats):
    return TableModel(CostWeightedL1Regressor(cost_weight=1e-6)).fit(*flats)


def test_it_counts_exits_spend_and_bought_columns(heart, tree):
    reference, acquisition = Reference.of(tree, heart.X), tree.acquire(heart.X)
    assert reference.n_rows == len(heart.X)
    assert reference.exits == {k: int((acquisition.exit == k).sum()) for k in set(acquisition.exit.tolist())}
    assert (reference.mean_spend, reference.largest_spend) == (acquisition.spend.mean(), acquisition.spend.max())
    for j, name in enumerate(heart.names):
        assert reference.columns[name].n_bought == acquisition.acquired[:, j].sum()


def test_a_cap_changes_what_rows_buy(heart, tree):
    assert Reference.of(tree, heart.X, cap=2.0).largest_spend <= 2.0 < Reference.of(tree, heart.X).largest_spend


def test_live_values_fall_in_the_bins_in_which_they_were_counted(flats, table_model):
    table, _ = flats
    reference = Reference.of(table_model, table)
    assert {name: column.kind for name, column in reference.columns.items()} == {
        "rooms": "number", "lift": "boolean", "heating": "category", "built": "date"
    }  # fmt: skip
    for name, column in reference.columns.items():
        assert column.n_bought == len(table)
        recounted = np.bincount([column.bin_of(value) for value in table[name]], minlength=len(column.counts))
        assert tuple(recounted.tolist()) == column.counts


def test_unavailable_values_have_a_bin_of_their_own(flats, table_model):
    columns = Reference.of(table_model, flats[0]).columns
    assert columns["rooms"].counts[-1] == 10
    assert columns["heating"].counts[-1] == 5
    assert [columns["rooms"].bin_of(each) for each in (None, np.nan, "many")] == [len(columns["rooms"].counts) - 1] * 3


def test_levels_are_sorted_by_frequency_and_new_ones_count_as_others(flats, table_model):
    heating = Reference.of(table_model, flats[0]).columns["heating"]
    assert heating.levels == ("gas", "oil", "wood")
    assert heating.bin_of("steam") == 3


def test_only_the_most_frequent_levels_have_a_bin():
    texts = np.array([f"level {k:02}" for k in range(30) for _ in range(30 - k)] + [None], dtype=object)
    column = ColumnReference.of_levels("code", texts)
    assert column.levels == tuple(f"level {k:02}" for k in range(20))
    assert column.counts[-2:] == (sum(range(1, 11)), 1)


def test_bins_of_numbers_hold_about_equally_many():
    column = ColumnReference.of_numbers("age", "number", np.random.default_rng(0).normal(size=1000))
    assert column.counts == (100,) * 10 + (0,)


def test_a_column_that_no_row_bought_has_no_counts(heart):
    model = ASTCClassifier(costs=heart.costs, max_depth=1, node_budget=1).fit(heart.X, heart.y)
    bought = [column.n_bought for column in Reference.of(model, heart.X).columns.values()]
    assert 0 in bought


def test_columns_without_names_are_named_as_sources_name_them():
    X = np.random.default_rng(0).normal(size=(100, 2))
    model = CostWeightedL1Regressor(cost_weight=1e-6).fit(X, X.sum(axis=1))
    assert list(Reference.of(model, X).columns) == ["x0", "x1"]


def test_a_search_is_measured_by_its_best_model(heart):
    search = BudgetSearchCV(["l1"], budget=40, costs=heart.costs).fit(heart.X, heart.y)
    assert Reference.of(search, heart.X) == Reference.of(search.best_estimator_, heart.X)


def test_files_and_pickles_hold_all(tmp_path, flats, table_model):
    reference = Reference.of(table_model, flats[0])
    reference.columns["heating"].bin_of("gas")  # fills caches
    assert Reference.load(reference.save(tmp_path / "reference.json")) == reference
    assert pickle.loads(pickle.dumps(reference)) == reference


def _changed(record, path, value):
    *parents, last = path
    for each in parents:
        record = record[each]
    record[last] = value


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "other", "it has another format"),
        (["version"], 2, "its version is 2"),
        (["n_rows"], 7, "the exits of the reference count 300 rows, but n_rows is 7"),
        (["n_rows"], "many", "'n_rows' is 'many', which is not of type int"),
        (["mean_spend"], 1e9, "mean spend"),
        (["exits"], {"zero": 300}, "exits are not whole numbers"),
        (["exits"], {"0": 2.5}, "counts of its exits are not whole numbers"),
        (["columns"], {}, "'columns' is {}"),
        (["columns", 0], 3, "a column is not an object"),
        (["columns", 0, "name"], "lift", "several columns have the same name"),
        (["columns", 0, "kind"], "colour", "kind 'colour'"),
        (["columns", 0, "edges"], [3.0, 2.0], "not finite and ascending"),
        (["columns", 0, "edges"], ["a"], "entries of 'edges' are not of type int or float"),
        (["columns", 0, "counts"], [1, 2], "has 2 counts for"),
        (["columns", 0, "levels"], ["a"], "has both edges and levels"),
        (["columns", 2, "levels"], ["a", "a", "b"], "levels of column 'heating' of the reference are not distinct"),
        (["columns", 2, "counts"], [-1, 1, 1, 1, 1], "counts below 0"),
        (["columns", 2, "counts"], [1000, 1, 1, 1, 1], "bought by too many rows"),
    ],
)
def test_files_that_are_not_right_are_refused(tmp_path, flats, table_model, path, value, message):
    file = Reference.of(table_model, flats[0]).save(tmp_path / "reference.json")
    record = json.loads(file.read_text())
    _changed(record, path, value)
    file.write_text(json.dumps(record))
    with pytest.raises(ThriftyError, match="is not a reference") as caught:
        Reference.load(file)
    assert message in str(caught.value)


def test_text_that_is_not_json_is_refused(tmp_path):
    (tmp_path / "reference.json").write_text("{")
    with pytest.raises(ThriftyError, match=r"is not a reference: .* Make it again with Reference\.of"):
        Reference.load(tmp_path / "reference.json")
