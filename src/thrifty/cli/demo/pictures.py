"""The two pictures of the demo, as the bytes of PNG files."""

from collections.abc import Sequence

import numpy as np

from thrifty.cli.demo import sentences
from thrifty.cli.demo.findings import name_of
from thrifty.cli.demo.replay import Showcase
from thrifty.cli.demo.study import Outcome, Study
from thrifty.cli.page import png
from thrifty.metrics import CostCurve
from thrifty.plots import CostCurveDisplay, TreeDisplay


def draw_study(study: Study, unit: str) -> bytes:
    """Draw what the trees and the static models reach, and the full model for comparison."""
    full = (study.full.spend, study.full.accuracy, sentences.FULL)
    trees = _curve([row.tree for row in study.rows], unit)
    static = _curve([row.static for row in study.rows], unit)
    display = CostCurveDisplay.from_curve(static, name=sentences.STATIC, reference=full)
    CostCurveDisplay.from_curve(trees, name=sentences.TREE, ax=display.ax_)  # last, so that it lies on top
    display.ax_.set_xlabel(f"mean spend per patient ({unit})")
    display.ax_.yaxis.set_major_formatter("{x:.0%}")
    return png(display)


def draw_tree(showcase: Showcase, columns: Sequence[str]) -> bytes:
    """Draw the tree as the patients it was fitted to pass through it."""
    names = [name_of(column) for column in columns]
    display = TreeDisplay.from_estimator(
        showcase.tree, showcase.X, showcase.labels, feature_names=names, max_features=6
    )
    return png(display)


def _curve(outcomes: Sequence[Outcome], unit: str) -> CostCurve:
    return CostCurve(
        spend=np.array([each.spend for each in outcomes]),
        score=np.array([each.accuracy for each in outcomes]),
        unit=unit,
        score_name="accuracy on unseen patients",
    )
