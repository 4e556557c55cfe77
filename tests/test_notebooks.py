"""What notebooks show of costs, promises, acquisitions, sessions and searches."""

import re
from html.parser import HTMLParser

import numpy as np
import pytest

from thrifty import BudgetSearchCV, CostModel, CostWeightedL1Classifier
from thrifty.datasets import load_heart
from thrifty.plots import TreeDisplay


class Text(HTMLParser):
    def __init__(self, source):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(source)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.text += f"{data} "


@pytest.fixture(scope="module")
def heart():
    return load_heart(as_frame=True)


@pytest.fixture(scope="module")
def search(heart):
    return BudgetSearchCV(["astc"], budget=40, costs=heart.costs, cv=3).fit(heart.X, heart.y)


@pytest.fixture(scope="module")
def model(heart):
    return CostWeightedL1Classifier(costs=heart.costs, cost_weight=0.02).fit(heart.X, heart.y)


def test_costs_show_prices_and_what_is_shared(heart):
    shown = Text(heart.costs._repr_html_()).text
    assert "323.97 CAD for everything" in shown
    assert re.search(r"chol\s+7.27 CAD\s+blood draw", shown)
    assert "2.10 CAD" in shown


def test_names_are_escaped_and_long_lists_are_cut():
    shown = CostModel({f"<b>{j}": 1.0 for j in range(100)})._repr_html_()
    assert "<b>" not in shown
    assert "70 more are not listed" in shown
    assert "x1" in CostModel([1.0, 2.0], bundles={"a": ([0, 1], 3.0)})._repr_html_()


def test_an_acquisition_shows_what_is_bought_how_often(model, heart):
    made = model.acquire(heart.X)
    shown = Text(made._repr_html_()).text
    assert "270 rows" in shown
    for j in np.flatnonzero(made.acquired.any(axis=0)):
        assert heart.X.columns[j] in shown


def test_a_session_shows_its_step_and_its_end(model, heart):
    session = model.session()
    step = session.next()
    assert f"asks for {', '.join(step.features)}" in " ".join(Text(session._repr_html_()).text.split())
    assert session.next() == step  # it was only looked at
    while hasattr(step := session.next(), "features"):
        session.observe({name: heart.X[name].iloc[0] for name in step.features})
    assert f"prediction {step.prediction}" in " ".join(Text(session._repr_html_()).text.split())


def test_a_search_shows_its_promise_and_its_points(search):
    shown = Text(search._repr_html_inner())
    assert "img" in shown.tags
    assert "by cross-validation on 270 rows" in shown.text
    assert "astc" in shown.text
    promise = Text(search.promise_._repr_html_()).text
    assert "40 CAD" in promise
    assert f"{search.promise_.score:.3f}" in promise


def test_a_search_that_is_not_fitted_has_no_picture():
    assert "img" not in Text(BudgetSearchCV()._repr_html_inner()).tags


def test_a_search_without_a_chosen_model_has_a_picture(heart):
    search = BudgetSearchCV(["l1"], costs=heart.costs, cv=2, refit=False).fit(heart.X, heart.y)
    assert "img" in Text(search._repr_html_inner()).tags


def test_the_tree_of_a_search_can_be_drawn(search, heart):
    from matplotlib.figure import Figure

    display = TreeDisplay.from_estimator(search, heart.X, heart.y, ax=Figure().subplots())
    assert display.cards[0].n_rows == 270
    assert display.cards[0].buys
