"""A linear model of masked rows, from which boosting may start: few rows determine it better than many trees.

The score of a row is

    base  +  sum over the bought columns j of  offset_j + slope_j * z_j,    z_j = (x_j - centre_j) / width_j,

with z_j limited to -LIMIT..LIMIT. Columns that hold categories and values that are NaN add nothing.
"""

from typing import NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression, Ridge

from thrifty.kernels.adaptive.knowledge import LIMIT
from thrifty.models.adaptive.training_rows import TrainingRows

STRENGTH = 0.2  # C of the logistic regression: the weight of one row against half the squared coefficients
MAX_COPIES = 20_000  # that coefficients are fitted on
FEW_COEFFICIENTS = 300  # for which Newton's method is faster than L-BFGS
TOLERANCE, MAX_ITERATIONS = 1e-3, 100
BLOCK = 20_000  # copies of which the terms are in memory at once


class LinearStart(NamedTuple):
    """Coefficients of masked columns.

    Attributes
    ----------
    base : ndarray of shape (n_scores,)
    slope, offset : ndarray of shape (n_columns, n_scores)
    """

    base: np.ndarray
    slope: np.ndarray
    offset: np.ndarray


def standardisation(rows: TrainingRows) -> tuple[np.ndarray, np.ndarray]:
    """Return the centre and the width of each column, (n_columns,) each: mean and standard deviation if finite."""
    known = np.isfinite(rows.X)
    weight = rows.weight[:, None] * known
    total = np.maximum(weight.sum(axis=0), 1e-300)
    largest = np.maximum(np.abs(rows.X).max(axis=0, where=known, initial=0.0), 1e-300)
    shrunken = np.where(known, rows.X, 0.0) / largest  # so that squares are finite
    centre = (weight * shrunken).sum(axis=0) / total
    deviation = np.sqrt((weight * (shrunken - centre) ** 2).sum(axis=0) / total)
    return centre * largest, np.where(deviation > 0, deviation * largest, 1.0)


def fit_start(
    rows: TrainingRows, row: np.ndarray, bought: np.ndarray, random: np.random.Generator
) -> LinearStart | None:
    """Fit a linear model to some masked copies; None if they lack a class.

    It may warn that it has not converged.

    Parameters
    ----------
    rows : TrainingRows
    row : ndarray of int, shape (n,)
        The row of each copy.
    bought : ndarray of bool, shape (n, n_groups)
        The groups that it has.
    random : Generator
        Draws the copies if there are many.
    """
    if len(row) > MAX_COPIES:
        chosen = np.sort(random.choice(len(row), MAX_COPIES, replace=False))
        row, bought = row[chosen], bought[chosen]
    targets, n_classes = rows.targets[row], rows.objective.n_classes
    if n_classes and len(np.unique(targets)) < n_classes:
        return None
    weight = rows.weight[row]
    weight = weight * (len(np.unique(row)) / weight.sum())  # copies of a row count as one row
    terms = _terms(rows, standardisation(rows), row, bought)
    model = _linear_model(n_classes, terms.shape[1])
    model.fit(terms, targets if not n_classes else targets.astype(int), sample_weight=weight)
    coefficients = np.atleast_2d(model.coef_).T
    d = rows.codes.n_features
    return LinearStart(np.atleast_1d(model.intercept_).astype(float), coefficients[:d], coefficients[d:])


def start_scores(rows: TrainingRows, start: LinearStart, row: np.ndarray, bought: np.ndarray) -> np.ndarray:
    """Return the scores (n, n_scores) of masked copies."""
    coefficients, standard = np.vstack([start.slope, start.offset]), standardisation(rows)
    blocks = [slice(first, first + BLOCK) for first in range(0, len(row), BLOCK)]
    return np.vstack([_terms(rows, standard, row[each], bought[each]) @ coefficients for each in blocks]) + start.base


def _terms(
    rows: TrainingRows, standard: tuple[np.ndarray, np.ndarray], row: np.ndarray, bought: np.ndarray
) -> np.ndarray:
    """Return what slopes and offsets are multiplied by, (n, 2 * n_columns), given the centres and widths of columns."""
    (centre, width), values = standard, rows.X[row]
    present = bought[:, rows.group_of] & np.isfinite(values) & ~rows.bins.categorical
    z = np.clip((np.where(present, values, centre) - centre) / width, -LIMIT, LIMIT)
    return np.hstack([z, present])


def _linear_model(n_classes: int, n_terms: int) -> LogisticRegression | Ridge:
    if not n_classes:
        return Ridge(alpha=1.0 / STRENGTH)
    newton = n_classes == 2 and n_terms <= FEW_COEFFICIENTS
    solver = "newton-cholesky" if newton else "lbfgs"
    return LogisticRegression(C=STRENGTH, solver=solver, tol=TOLERANCE, max_iter=MAX_ITERATIONS)
