import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError

from thrifty.models.stopping.attentive import AttentiveClassifier
from thrifty.models.stopping.curves import StopErrorCurve, attentive_curve, truncated_curve
from thrifty.plots import StopErrorDisplay

CURVES = {
    "model": StopErrorCurve(np.array([1.0, 5.0, 20.0]), np.array([0.2, 0.05, 0.0])),
    "model, truncated": StopErrorCurve(np.array([1.0, 20.0]), np.array([0.5, 0.0])),
}


@pytest.fixture
def ax():
    return Figure().subplots()


def test_truncated_curves_are_dashed_and_have_the_colour_of_their_model(ax):
    display = StopErrorDisplay(CURVES, n_terms=20).plot(ax)
    assert display.plot(ax) is display
    solid, dashed = display.lines_
    np.testing.assert_array_equal(solid.get_xdata(), [1, 5, 20])
    np.testing.assert_array_equal(dashed.get_ydata(), [0.5, 0])
    assert solid.get_color() == dashed.get_color()
    assert (solid.is_dashed(), dashed.is_dashed()) == (False, True)


def test_axis_labels_and_legend(ax):
    StopErrorDisplay(CURVES, n_terms=20).plot(ax, linewidth=3)
    assert ax.get_xlabel() == "mean terms evaluated per row, of 20"
    assert ax.get_ylabel() == "stop-error"
    assert ax.get_xscale() == "log"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(CURVES)
    assert {line.get_linewidth() for line in ax.lines} == {3}


def test_models_in_the_same_axes_have_different_colours(ax):
    first = StopErrorDisplay(CURVES, n_terms=20).plot(ax)
    second = StopErrorDisplay({"other": CURVES["model"]}, n_terms=20).plot(ax)
    assert first.lines_[0].get_color() != second.lines_[0].get_color()


def test_from_estimator_draws_the_measured_curves(ax):
    X, y = load_breast_cancer(return_X_y=True)
    model = AttentiveClassifier().fit(X[::2], y[::2])
    display = StopErrorDisplay.from_estimator(model, X[1::2], name="logistic", ax=ax)
    assert list(display.curves) == ["logistic", "logistic, truncated"]
    for line, curve in zip(display.lines_, (attentive_curve, truncated_curve), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), curve(model, X[1::2]).stop_error)
    ax.figure.canvas.draw()
    assert plt.get_fignums() == []


def test_new_figure_when_no_axes_are_given():
    display = StopErrorDisplay(CURVES, n_terms=20).plot()
    assert plt.get_fignums() == [display.figure_.number]


def test_a_model_that_is_not_fitted_is_rejected():
    with pytest.raises(NotFittedError, match="This AttentiveClassifier instance is not fitted yet"):
        StopErrorDisplay.from_estimator(AttentiveClassifier(), np.zeros((2, 3)))
