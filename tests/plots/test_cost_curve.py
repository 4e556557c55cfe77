from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError

import thrifty
from thrifty.datasets import load_heart
from thrifty.metrics import CostCurve, cost_curve
from thrifty.plots import CostCurveDisplay
from thrifty.plots.cost_curve import step_line

CURVE = CostCurve([1, 4, 2, 9, 11], [0.6, 0.8, 0.5, 0.9, 0.7], unit="ms", score_name="accuracy")


@pytest.fixture
def ax():
    return Figure().subplots()


def test_step_line_is_the_best_score_within_each_budget():
    spend, score = step_line(CURVE)
    np.testing.assert_array_equal(spend, [1, 4, 4, 9, 9, 11])
    np.testing.assert_array_equal(score, [0.6, 0.6, 0.8, 0.8, 0.9, 0.9])


def test_step_line_of_a_single_point():
    spend, score = step_line(CostCurve([3], [0.5]))
    assert (spend.tolist(), score.tolist()) == ([3, 3], [0.5, 0.5])


def test_every_point_is_drawn_once(ax):
    CostCurveDisplay.from_curve(CURVE, ax=ax)
    _, hollow, solid = ax.lines
    assert sorted(hollow.get_xdata()) == [2, 11]
    assert sorted(solid.get_xdata()) == [1, 4, 9]


def test_axis_labels_name_score_spend_and_unit(ax):
    CostCurveDisplay.from_curve(CURVE, ax=ax)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("mean spend per row (ms)", "accuracy")
    assert ax.get_xlim()[0] <= 0
    assert ax.get_legend() is None
    unitless = CostCurveDisplay.from_curve(CostCurve([1], [1]), ax=Figure().subplots())
    assert unitless.ax_.get_xlabel() == "mean spend per row"


def test_several_curves_in_the_same_axes_have_different_colours(ax):
    scales = (1, 2, 30)
    displays = [
        CostCurveDisplay.from_curve(CostCurve(CURVE.spend * k, CURVE.score), name=f"x{k}", ax=ax) for k in scales
    ]
    assert len({display.line_.get_color() for display in displays}) == 3
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["x1", "x2", "x30"]
    assert ax.get_xlim()[1] >= 11 * 30


def test_reference_and_style(ax):
    display = CostCurveDisplay.from_curve(CURVE, ax=ax, reference=(300, 0.85, "all features"), color="red")
    assert display.line_.get_color() == "red"
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["all features"]
    assert ax.lines[-1].get_xdata() == [300]
    assert ax.get_xlim()[1] >= 300
    height_only = CostCurveDisplay.from_curve(CURVE, ax=Figure().subplots(), reference=(None, 0.85, "guess"))
    assert height_only.ax_.get_xlim()[1] < 12


def test_new_figure_when_no_axes_are_given():
    display = CostCurveDisplay(CURVE)
    assert display.plot() is display
    assert plt.get_fignums() == [display.figure_.number]
    display.figure_.canvas.draw()


def test_given_axes_do_not_change_pyplot(ax):
    settings = dict(plt.rcParams)
    CostCurveDisplay.from_curve(CURVE, name="tree", ax=ax)
    ax.figure.canvas.draw()
    assert plt.get_fignums() == []
    assert dict(plt.rcParams) == settings


def test_from_estimators_draws_the_measured_curve(ax):
    heart = load_heart()
    model = thrifty.ASTCClassifier(costs=heart.costs, max_depth=3).fit(heart.X, heart.y)
    caps = [0, 5, 100, None]
    display = CostCurveDisplay.from_estimators(model, heart.X, heart.y, scoring="roc_auc", caps=caps, ax=ax)
    measured = cost_curve(model, heart.X, heart.y, scoring="roc_auc", caps=caps)
    np.testing.assert_array_equal(display.curve.score, measured.score)
    assert ax.get_ylabel() == "ROC AUC"
    assert heart.costs.unit in ax.get_xlabel()


def test_models_that_are_not_fitted_are_rejected():
    heart = load_heart()
    with pytest.raises(NotFittedError, match="This BudgetSearchCV instance is not fitted yet"):
        CostCurveDisplay.from_search(thrifty.BudgetSearchCV(["l1"], budget=1))
    with pytest.raises(NotFittedError, match="This ASTCClassifier instance is not fitted yet"):
        CostCurveDisplay.from_estimators(thrifty.ASTCClassifier(), heart.X, heart.y)


def test_points_of_a_search_show_methods_and_what_became_of_them():
    line = {"error": "", "n_rows": 9, "note": ""}
    points = [
        line | {"method": "astc", "spend": 2.0, "score": 0.8, "dominated": False, "spend_bound": 2.5},
        line | {"method": "l1", "spend": 3.0, "score": 0.7, "dominated": True, "spend_bound": 3.0},
        line | {"method": "l1", "spend": 9.0, "score": 0.9, "dominated": True, "spend_bound": np.nan},
        line
        | {"method": "cstc", "spend": np.nan, "score": np.nan, "dominated": True, "spend_bound": np.nan, "error": "no"},
    ]
    anchors = pd.DataFrame({"spend": [0.0, 12.0], "score": [0.5, np.nan]}, index=["constant", "everything"])
    search = SimpleNamespace(
        frontier_=pd.DataFrame(points), anchors_=anchors, budget=5.0, scoring_="accuracy",
        cost_model_=thrifty.CostModel([1.0]),
    )  # fmt: skip
    display = CostCurveDisplay.from_search(search, ax=Figure().subplots())
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[:2] == ["l1", "astc"]  # the best score first
    assert [text.split(":")[0] for text in legend[2:5]] == ["filled", "hollow", "faint"]
    assert "constant answer, for nothing" in legend
    assert "everything for everyone" not in legend  # its score is not known
    assert len(display.curve) == 2
    drawn = {(line.get_xdata()[0], line.get_markerfacecolor(), line.get_alpha()) for line in display.ax_.lines
             if len(line.get_xdata()) == 1 and line.get_marker() in "os^"}  # fmt: skip
    assert {(spend, face == "none") for spend, face, _ in drawn} == {(2.0, False), (3.0, True), (9.0, True)}
