"""Nested cross-validation on the heart data: what accuracy does a budget buy, honestly measured?

Everything that is chosen is chosen by an inner cross-validation of the training part; the held-out fold only measures.
Trees differ in who is tested further, and how much. All patients answer the four basic questions; then the riskier
half, and each quarter but the one least at risk, may be allowed nothing, one large test, or everything.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedKFold

BUDGETS = (5.0, 20.0, 50.0, 80.0, 120.0, 160.0, 200.0)
INNER_FOLDS = 5
BASICS, ONE_TEST, EVERYTHING = 4.0, 104.0, 324.0  # allowances in Canadian dollars
COST_WEIGHTS = 40

Family = Callable[[np.ndarray, np.ndarray], list[Any]]


@dataclass(frozen=True)
class Outcome:
    """What a way of deciding costs a patient on average, and how good its answers are, on patients not seen."""

    spend: float
    accuracy: float
    auc: float


@dataclass(frozen=True)
class BudgetRow:
    """The tree and the static baseline at one budget."""

    budget: float
    tree: Outcome
    static: Outcome


@dataclass(frozen=True)
class Study:
    """The rows of the table, by budget, and the model that buys everything for everyone."""

    rows: tuple[BudgetRow, ...]
    full: Outcome
    folds: int


def n_steps(folds: int) -> int:
    """How often a study reports progress: once per family of models that was fitted."""
    return 2 * folds * (INNER_FOLDS + 1)


def run_study(heart: Any, *, folds: int, seed: int, on_step: Callable[[], None]) -> Study:
    """Measure trees, the static baseline and the full model on held-out folds."""
    families = (partial(fit_trees, heart.costs), _static_family(heart.costs))
    trees, static, full = [], [], []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(heart.X, heart.y):
        seen, unseen = (heart.X[train], heart.y[train]), (heart.X[test], heart.y[test])
        for family, outcomes in zip(families, (trees, static), strict=True):
            outcomes.append([measure(model, *unseen) for model in choose(family, *seen, BUDGETS, seed, on_step)])
        full.append(_measure_full(heart.costs, *seen, *unseen))
    ...
