from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

from thrifty import DynamicSelectionClassifier
from thrifty.models.policies.imitation import LearningCurve
from thrifty.plots import LearningCurveDisplay

CURVE = LearningCurve(np.array([0.1, 0.5, 0.4]), np.array([0.6, 0.9, 0.8]), np.array([0.2, 0.4, 0.3]))
MODEL = SimpleNamespace(learning_curve_=CURVE)


@pytest.fixture
def ax():
    return Figure().subplots()


def test_every_iteration_is_drawn_and_the_best_is_marked(ax):
    display = LearningCurveDisplay.from_estimator(MODEL, ax=ax)
    line, mark = ax.lines
    assert line is display.line_
    assert (line.get_xdata().tolist(), line.get_ydata().tolist()) == ([1, 2, 3], [0.1, 0.5, 0.4])
    assert (mark.get_xdata(), mark.get_ydata()) == ([2], [0.5])
    assert mark.get_color() == line.get_color()


@pytest.mark.parametrize("measure", ["score", "cost"])
def test_other_measures_also_mark_the_best_reward(ax, measure):
    LearningCurveDisplay.from_estimator(MODEL, measure=measure, ax=ax)
    assert ax.lines[0].get_ydata().tolist() == getattr(CURVE, measure).tolist()
    assert ax.lines[1].get_xdata() == [2]
    assert measure in ax.get_ylabel()


def test_several_curves_in_the_same_axes_have_different_colours(ax):
    names = ("DAgger", "Coaching")
    displays = [LearningCurveDisplay.from_estimator(MODEL, name=name, ax=ax) for name in names]
    assert displays[0].line_.get_color() != displays[1].line_.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == list(names)


def test_style_and_new_figure():
    display = LearningCurveDisplay(CURVE).plot(color="red")
    assert display.line_.get_color() == "red"
    assert display.ax_.get_legend() is None
    assert plt.get_fignums() == [display.figure_.number]
    display.figure_.canvas.draw()


def test_given_axes_do_not_change_pyplot(ax):
    LearningCurveDisplay(CURVE, name="policy").plot(ax)
    ax.figure.canvas.draw()
    assert plt.get_fignums() == []


def test_invalid_input_is_rejected():
    with pytest.raises(ValueError, match="measure is 'loss'; expected one of 'reward', 'score', 'cost'"):
        LearningCurveDisplay(CURVE, measure="loss")
    with pytest.raises(TypeError, match="SimpleNamespace has no learning_curve_"):
        LearningCurveDisplay.from_estimator(SimpleNamespace())


def test_a_model_that_is_not_fitted_is_rejected():
    with pytest.raises(NotFittedError, match="This DynamicSelectionClassifier instance is not fitted yet"):
        LearningCurveDisplay.from_estimator(DynamicSelectionClassifier())
