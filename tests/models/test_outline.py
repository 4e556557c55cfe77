"""Outlines: what fitted models say of themselves, as values, text and HTML."""

import json

import numpy as np
import pytest

from thrifty import (
    ASTCClassifier,
    AttentiveClassifier,
    CostModel,
    DynamicSelectionClassifier,
    GreedyMiserClassifier,
    Outline,
    StaticSelectionClassifier,
    TableModel,
)
from thrifty.datasets import load_heart
from thrifty.models.outline import Columns, Stage, Use


@pytest.fixture(scope="module")
def heart():
    return load_heart(as_frame=True)


def stages(first):
    yield first
    for child in first.children:
        yield from stages(child)


def test_a_tree_tells_what_each_stage_buys_and_what_rows_have_paid(heart):
    model = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=[2, 8]).fit(heart.X, heart.y)
    acquisition = model.acquire(heart.X)
    outline = model.outline(acquisition.exit)
    root = outline.stages
    assert (outline.model, outline.unit, outline.total) == ("ASTCClassifier", heart.costs.unit, heart.costs.total)
    assert root.share == 1.0
    assert sum(child.share for child in root.children) == pytest.approx(1.0)
    leaves = [stage for stage in stages(root) if not stage.children]
    assert {stage.paid for stage in leaves} >= set(np.unique(acquisition.spend))
    spend = sum(stage.share * stage.paid for stage in leaves)
    assert spend == pytest.approx(acquisition.spend.mean())


def test_a_forest_tells_in_which_round_a_column_is_first_read(heart):
    model = GreedyMiserClassifier(costs=heart.costs, n_estimators=5, cost_weight=1e-3).fit(heart.X, heart.y)
    outline = model.outline()
    assert outline.counted_in == "round"
    assert {use.feature for use in outline.uses} == {heart.X.columns[j] for j in model.features_}
    for use in outline.uses:
        reads = model.forest_.tree_reads[:, heart.X.columns.get_loc(use.feature)]
        assert (use.first, use.count) == (int(reads.argmax()) + 1, int(reads.sum()))


def test_a_policy_lists_all_columns_without_an_order(heart):
    model = DynamicSelectionClassifier(costs=heart.costs, n_iterations=1, n_folds=2, random_state=0)
    outline = model.fit(heart.X, heart.y).outline()
    assert outline.counted_in is None
    assert [use.feature for use in outline.uses] == list(heart.X.columns)
    assert all(use.first is None for use in outline.uses)


def test_a_static_selection_lists_what_it_buys_in_order(heart):
    model = StaticSelectionClassifier(costs=heart.costs, n_factors=3, n_folds=2, random_state=0).fit(heart.X, heart.y)
    outline = model.outline()
    assert [use.feature for use in outline.uses] == [feature for step in model.queue_ for feature in step]
    assert [use.first for use in outline.uses] == [1, 2, 3]
    assert set(np.flatnonzero(model.acquire(heart.X).acquired.any(axis=0))) == {
        heart.X.columns.get_loc(use.feature) for use in outline.uses
    }


def test_a_table_speaks_of_raw_columns(heart):
    table = heart.X.assign(cp=heart.X["cp"].map({1: "typical", 2: "atypical", 3: "none", 4: "silent"}))
    model = TableModel(AttentiveClassifier(random_state=0), costs=heart.costs).fit(table, heart.y)
    assert {use.feature for use in model.outline().uses} <= set(table.columns)
    assert model.outline().model == "AttentiveClassifier"


def test_prices_are_those_of_a_column_alone():
    columns = Columns.of(CostModel([1.0, 2.0, 3.0], bundles={"visit": ([1, 2], 10.0)}))
    read = np.array([[False, False, True], [True, False, True]])
    assert columns.uses(read) == (Use("x2", 13.0, 1, 2), Use("x0", 1.0, 2, 1))


def test_text_json_and_html_say_the_same_and_names_are_escaped():
    leaf = Stage("yes", ["<b>"], 2.0, 3.0, None)
    root = Stage("every row", ["age"], 1.0, 1.0, None, "0.5 age > 2", [leaf, Stage("no", [], 0.0, 1.0, None)])
    outline = Outline("Tree", "It buys in stages.", "$", 3.0, root)
    assert str(outline) == (
        "Tree: It buys in stages.\n"
        "  every row: buy age for $1\n"
        "  0.5 age > 2?\n"
        "      yes: buy <b> for $2, $3 in all and answer\n"
        "      no: answer"
    )
    html = outline._repr_html_()
    assert "&lt;b&gt;" in html
    assert "<b>" not in html
    assert json.loads(json.dumps(outline.structure()))["children"][0]["buys"] == ["<b>"]


def test_a_notebook_shows_the_outline_of_a_fitted_model_below_the_diagram(heart):
    model = ASTCClassifier(costs=heart.costs, max_depth=2)
    assert "Rows buy columns in stages" not in model._repr_mimebundle_()["text/html"]
    model.fit(heart.X, heart.y)
    assert model.outline()._repr_html_() in model._repr_mimebundle_()["text/html"]
    assert model.outline()._repr_html_() in model._repr_html_()
