"""What purchases cost and earn, compared with models that run without them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from thrifty import CostModel, CostWeightedL1Classifier, GreedyMiserRanker, TableModel, ThriftyClassifier
from thrifty.evaluation import purchases
from thrifty.evaluation.offers import offers, without_columns
from thrifty.evaluation.purchases import PurchaseCounter


def test_lines_are_bundles_and_columns_and_add_up_to_the_spend(tree, held_out):
    X, y = held_out
    table, made = purchases(tree, X, y), tree.acquire(X)
    assert table.loc["blood draw", "columns"] == ("chol", "fbs")
    assert sorted(name for names in table["columns"] for name in names) == sorted(X.columns)
    assert table["spend"].sum() == pytest.approx(made.spend.mean())
    assert table["spend"].is_monotonic_decreasing
    assert table.loc["cp", "bought"] == made.acquired[:, X.columns.get_loc("cp")].mean()


def test_the_loss_is_what_a_run_without_the_columns_loses(tree, held_out):
    X, y = held_out
    table, score = purchases(tree, X, y), tree.score(X, y)
    assert (table["loss"] != 0).any()
    for name, line in table.iterrows():
        alone = X.assign(**dict.fromkeys(line["columns"], np.nan))
        assert line["score_without"] == pytest.approx(tree.score(alone, y)), name
        assert line["loss"] == pytest.approx(score - tree.score(alone, y)), name
        made = tree.acquire(alone)
        paid = made.acquired.copy()
        paid[:, [X.columns.get_loc(each) for each in line["columns"]]] = False
        assert line["spend_without"] == pytest.approx(tree.cost_model_.of(paid).mean()), name


def test_a_session_that_is_told_unavailable_predicts_the_same(tree, held_out, heart):
    from thrifty.models.session import drive

    X, _ = held_out
    alone = without_columns(X, np.array([2]))
    for i in range(30):
        row = X.iloc[i].to_dict() | {"cp": None}
        assert drive(tree.session(), row.__getitem__).prediction == tree.predict(alone[i : i + 1])[0]


def test_without_targets_there_are_no_scores(tree, held_out):
    table = purchases(tree, held_out[0])
    assert list(table) == ["columns", "price", "bought", "spend"]


def test_the_error_is_that_of_the_paired_difference(tree, held_out):
    X, y = held_out
    line = purchases(tree, X, y).loc["cp"]
    alone = X.assign(cp=np.nan)
    right = (tree.predict(X) == y).astype(float) - (tree.predict(alone) == y)
    assert line["loss_error"] == pytest.approx(right.std(ddof=1) / np.sqrt(len(y)), rel=0.6)
    assert line["loss_error"] > 0


def test_chunks_give_what_the_whole_gives(tree, held_out):
    X, y = held_out
    counter = PurchaseCounter(tree)
    for i in range(0, len(y), 50):
        counter.add(X[i : i + 50], y[i : i + 50])
    pd.testing.assert_frame_equal(counter.table(), purchases(tree, X, y))


def test_arrays_frames_and_polars_agree(heart):
    X, y = heart.X.to_numpy(), heart.y
    plain = CostWeightedL1Classifier(costs=heart.costs.costs, cost_weight=0.02).fit(X, y)
    named = TableModel(CostWeightedL1Classifier(cost_weight=0.02), costs=heart.costs.costs).fit(heart.X, y)
    by_array, by_frame = purchases(plain, X, y), purchases(named, heart.X, y)
    by_polars = purchases(named, pl.DataFrame(heart.X.to_dict("list")), y)
    assert by_array["loss"].to_numpy() == pytest.approx(by_frame["loss"].to_numpy())
    pd.testing.assert_frame_equal(by_polars, by_frame)


def test_columns_without_names_and_bundles_by_position():
    costs = CostModel([1.0, 1.0, 2.0, 4.0], bundles={"a": ([0, 1], 3.0), "b": ([1, 2], 3.0)})
    found = {offer.name: offer.columns.tolist() for offer in offers(costs)}
    assert found == {"a + b": [0, 1, 2], "x3": [3]}


def test_text_and_missing_categories(heart):
    X = heart.X[["age", "cp"]].assign(cp=heart.X["cp"].map({1: "typical", 2: "atypical", 3: "other", 4: "none"}))
    model = TableModel(ThriftyClassifier(n_estimators=10, n_rounds=0, random_state=0, cost_weight=1e-3))
    model.fit(X[:150], heart.y[:150])
    table = purchases(model, X[150:], heart.y[150:], scoring="roc_auc")
    assert table.loc["cp", "loss"] > 0
    assert without_columns(X, np.array([1]))["cp"].isna().all()


def test_rankings_are_scored_by_query():
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(200, 3)), np.repeat(np.arange(20), 10)
    y = np.digitize(X[:, 0], [0, 1])
    model = GreedyMiserRanker(n_estimators=5).fit(X, y, qid=qid)
    table = purchases(model, X, y, qid=qid)
    assert table.loc["x0", "loss"] == pytest.approx(table["loss"].max())
    assert table.loc["x0", "loss"] > 0
