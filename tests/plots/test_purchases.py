"""The plot of purchases: bars of the spend, and of the loss with its error."""

import pytest
from matplotlib.figure import Figure

from thrifty import ASTCClassifier
from thrifty.datasets import load_heart
from thrifty.plots import PurchasesDisplay


@pytest.fixture(scope="module")
def measured():
    heart = load_heart(as_frame=True)
    tree = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=[3, 12], overflow="skip")
    return tree.fit(heart.X[:150], heart.y[:150]), heart.X[150:], heart.y[150:]


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def test_bars_have_the_lengths_of_the_table(measured):
    display = PurchasesDisplay.from_estimator(*measured, ax=Figure().subplots())
    assert widths(display.ax_) == pytest.approx(display.shown["spend"].tolist())
    assert widths(display.loss_ax_) == pytest.approx(display.shown["loss"].tolist())
    labels = [each.get_text() for each in display.ax_.get_yticklabels()]
    assert labels[0].startswith(display.shown.index[0])
    assert (display.shown["bought"] > 0).all()
    assert display.ax_.get_xlabel() == "mean spend per row (CAD)"
    assert display.loss_ax_.get_xlabel() == "loss of accuracy without it"


def test_without_targets_there_is_one_side(measured):
    model, X, _ = measured
    display = PurchasesDisplay.from_estimator(model, X, ax=Figure().subplots())
    assert display.loss_ax_ is None
    assert len(widths(display.ax_)) == len(display.shown)


def test_a_model_that_buys_nothing_has_no_bars(measured):
    model, X, y = measured
    display = PurchasesDisplay.from_estimator(model, X, y, cap=0, ax=Figure().subplots())
    assert widths(display.ax_) == []
