"""What columns are taken for: by their values, by what the user says, and which cells are odd."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty import BudgetSearchCV, CostWeightedL1Regressor, TableModel, load, save
from thrifty.models.session import drive
from thrifty.models.tables.encoder import TableEncoder

N = 325


def ages(*odd):
    """Return ages as text, with some odd cells at the end."""
    return [str(20 + k % 60) for k in range(N - len(odd))] + list(odd)


def table(*odd):
    return pd.DataFrame({"age": ages(*odd), "town": ["Bern", "Ulm"] * (N // 2) + ["Ulm"]})


def kind(column, **options):
    (report,) = TableEncoder(**options).fit(pd.DataFrame({"x": pd.Series(column, dtype=object)})).report_
    return report.kind


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_one_odd_cell_among_numbers_is_missing_and_reported(frame):
    encoder = TableEncoder().fit(frame(table("abc").to_dict("list")))
    age, town = encoder.report_
    assert (age.kind, age.told, age.n_values, age.n_missing) == ("number", False, N, 0)
    assert (age.odd.rows.tolist(), age.odd.values.tolist(), age.odd.expected) == ([N - 1], ["abc"], "number")
    assert (town.kind, town.n_levels, town.odd) == ("category", 2, None)
    derived = encoder.transform(table("abc"))
    assert np.isnan(derived[-1, 0])
    assert not np.isnan(derived[:-1, 0]).any()


def test_the_share_of_numbers_decides():
    numbers, words = [str(k) for k in range(20)], ["low", "high"]
    assert kind(numbers[:19] + words[:1]) == "number"  # 95%
    assert kind(numbers[:18] + words[:1]) == "category"
    assert kind(numbers) == "category"  # somebody wrote numbers as text
    assert kind([*range(19), "low"]) == "number"
    assert kind([f"0{k}" for k in range(10)] + ["x"]) == "category"
    assert kind(pd.Categorical(numbers[:19] + words[:1])) == "number"  # a column of objects does not declare it
    assert (
        TableEncoder().fit(pd.DataFrame({"x": pd.Categorical(numbers[:19] + words[:1])})).report_[0].kind == "category"
    )


def test_dates_follow_the_same_rule():
    days = [f"2024-01-{day:02}" for day in range(1, 20)]
    assert kind([*days, "unknown"]) == "date"
    assert kind([*days[:18], "unknown"]) == "category"
    assert kind([*days[:18], "unknown"], kinds={"x": "date"}) == "date"


def test_fit_warns_of_columns_in_doubt_unless_their_kind_is_given():
    X, y = table("abc"), np.arange(float(N))
    with pytest.warns(
        UserWarning, match="TableModel: 324 of 325 values of 'age' are numbers, but not 'abc' in row 324"
    ):
        model = TableModel(CostWeightedL1Regressor()).fit(X, y)
    assert model.encoder_.fields_[0].kind == "number"
    half = X.assign(age=["1", "x", "2"] * (N // 3) + ["3"])
    with pytest.warns(UserWarning, match="taken as a category"):
        TableModel(CostWeightedL1Regressor()).fit(half, y)
    for given in ("number", "category"):
        model = TableModel(CostWeightedL1Regressor(), kinds={"age": given}).fit(X, y)
        assert model.encoder_.fields_[0].kind == given
    with pytest.warns(UserWarning, match="BudgetSearchCV: 324 of 325"):
        BudgetSearchCV(["l1"], cv=2).fit(X, y)


@pytest.mark.parametrize("X", [table("abc", "42"), pd.DataFrame({"age": [*range(N - 1), "abc"]})])
def test_a_search_and_its_folds_agree_on_kinds(X):
    kinds = {"age": "number"}
    search = BudgetSearchCV(["l1"], cv=3, kinds=kinds).fit(X, np.arange(float(N)))
    assert not search.frontier_["error"].any()
    assert search.best_estimator_.kinds == kinds
    assert search.best_estimator_.encoder_.fields_[0].kind == "number"


def test_sessions_and_files_treat_odd_cells_as_batches_do(tmp_path):
    X, y = table("abc"), np.array([float(age) if age != "abc" else 50.0 for age in ages("abc")])
    model = TableModel(CostWeightedL1Regressor(cost_weight=1e-3), kinds={"age": "number"}).fit(X, y)
    for each in (model, load(save(model, tmp_path / "m.thrifty") or tmp_path / "m.thrifty")):
        batch = each.acquire(X.tail(1))
        session = each.session()
        assert drive(session, X.iloc[-1].__getitem__).prediction == batch.prediction[0]
        assert session.spend == batch.spend[0] > 0
        (odd,) = each.encoder_.odd_cells(X)
        assert (odd.column, odd.rows.tolist(), odd.first) == ("age", [N - 1], "abc")


def test_categories_may_be_numbers():
    X = pd.DataFrame({"code": [1, 2, 2, 3], "part": [0.5, 1.0, np.nan, 1.0], "smokes": [True, False, True, True]})
    encoder = TableEncoder(kinds=dict.fromkeys(X, "category")).fit(X)
    assert [field.levels for field in encoder.fields_] == [("1", "2", "3"), ("0.5", "1"), ("False", "True")]
    np.testing.assert_array_equal(encoder.transform(X).sum(axis=1), 3)
    assert encoder.fields_[0].encode(2.0) == [0, 1, 0]


def test_new_levels_are_found_unless_there_are_too_many_to_know():
    X = pd.DataFrame({"town": ["Bern", "Ulm", "Graz", "Bern", None], "id": [f"i{k}" for k in range(5)]})
    encoder = TableEncoder(max_levels=1).fit(X)
    new = pd.DataFrame({"town": ["Graz", "Genf", None, "Genf"], "id": ["i1", "j", "i2", "i3"]})
    town, code = encoder.odd_cells(new)
    assert (town.column, town.expected, town.rows.tolist(), town.first) == ("town", "category", [1, 3], "Genf")
    assert code.rows.tolist() == [1]
    assert encoder.odd_cells(X) == []
    many = pd.DataFrame({"id": [f"i{k}" for k in range(1100)]})
    assert TableEncoder().fit(many).odd_cells(pd.DataFrame({"id": ["new"]})) == []


def test_cells_that_cannot_be_read_are_found_in_every_kind():
    X = pd.DataFrame({"n": [1.5, 2.5], "b": [True, False], "d": pd.to_datetime(["2024-01-01", "2024-01-02"])})
    odd = pd.DataFrame({"n": ["1_000", "٣"], "b": ["maybe", "yes"], "d": ["2024-13-01", "2024-01-01"]})
    assert [(each.column, each.rows.tolist()) for each in TableEncoder().fit(X).odd_cells(odd)] == [
        ("n", [0, 1]), ("b", [0]), ("d", [0]),
    ]  # fmt: skip
    (inf,) = TableEncoder().fit(X).odd_cells(X.assign(n=[1.0, np.inf]))
    assert (inf.column, inf.rows.tolist()) == ("n", [1])


@pytest.mark.parametrize(
    ("kinds", "says"),
    [
        ({"height": "number"}, "kinds names 'height', which is not a column"),
        ({"age": "integer"}, "kinds of 'age' is 'integer'; expected one of number, boolean, date, category"),
        ({"town": "number"}, "none of its values is a finite number; row 0 holds 'Bern'"),
        ({"seen": "category"}, "'seen' is a category, but it holds dates"),
        (["age"], "kinds is \\['age'\\]"),
    ],
)
def test_kinds_that_make_no_sense_are_refused(kinds, says):
    X, y = table().assign(seen=pd.Timestamp("2024-01-01")), np.arange(float(N))
    for model in (TableModel(CostWeightedL1Regressor(), kinds=kinds), BudgetSearchCV(["l1"], kinds=kinds)):
        with pytest.raises(ValueError, match=says):
            model.fit(X, y)


def test_infinities_in_training_rows_are_named():
    X = pd.DataFrame({"a": np.arange(5.0), "b": [1.0, 2.0, -np.inf, 4.0, 5.0]})
    for model in (TableModel(CostWeightedL1Regressor()), BudgetSearchCV(["l1"], cv=2)):
        with pytest.raises(ValueError, match="row 2 holds 'b', which is -inf; expected a finite number"):
            model.fit(X, np.arange(5.0))


def test_warnings_of_columns_in_doubt_are_bounded():
    odd = ages("y" * 5000)
    X = pd.DataFrame({f"{'c' * 5000}{j}": odd for j in range(30)})
    with pytest.warns(UserWarning, match="values") as caught:
        TableModel(CostWeightedL1Regressor()).fit(X, np.arange(float(N)))
    messages = [str(each.message) for each in caught]
    assert len(messages) == 11
    assert max(map(len, messages)) < 1000
    assert "20 more columns have values of several kinds" in messages[-1]
