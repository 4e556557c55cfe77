"""Drift: disjoint windows of live rows are compared with the reference, at levels that add up to alpha.

A window is compared in several tests: one of the exits of its rows, and one for each column that enough rows bought, of
the values that these rows got. A test compares two rows of counts, those of the reference and those of the window, by
the likelihood ratio (the G-test, with the correction of Williams [1]_):

    G = 2 * sum_ij n_ij log(n_ij / e_ij),        e_ij = (total of row i) * (total of bin j) / (total)

    q = 1 + (N sum_i 1 / R_i - 1) (N sum_j 1 / C_j - 1) / (6 N (number of bins - 1))

with row totals R_i, bin totals C_j and the total N. If reference and window are drawn from the same distribution, then
G / q has about a chi-square distribution with (number of bins - 1) degrees of freedom. The reference is a sample too,
which this accounts for. Bins with fewer than 5 expected rows of the window, or of the reference, are pooled. The
pooling depends only on the bin totals, which do not tell reference and window apart.

Window k has the level alpha_k = alpha * 6 / (pi^2 k^2), and each of its m tests the level alpha_k / m. By the union
bound the probability of any false alarm, in all windows together, is at most

    sum_k m * alpha_k / m  =  alpha * (6 / pi^2) * sum_k 1 / k^2  =  alpha,

up to the error of the chi-square approximation. Tests need not be independent for this.

References
----------
.. [1] Williams, D. A. (1976). Improved likelihood ratio tests for complete contingency tables. Biometrika, 63(1),
   33-37.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc, xlogy

from thrifty.runtime.trace import Result
from thrifty.runtime.watch.reference import Reference

MIN_EXPECTED = 5.0
MIN_BOUGHT = 50  # rows of a window, and of the reference, that must have bought a column for a test of its values
EXITS = "exits"


@dataclass(frozen=True)
class Drift:
    """A test that found live rows to differ from the reference.

    Attributes
    ----------
    name : str
        "exits", or the name of a column.
    p_value : float
        The probability of a difference at least as large if nothing has changed.
    window : int
        The number of the window, from 1.
    """

    name: str
    p_value: float
    window: int


class DriftTest:
    """Collects rows in windows, and compares each full window with the reference.

    Parameters
    ----------
    reference : Reference
    alpha : float, default=0.05
        The probability of any false alarm, in all windows together, is at most `alpha`.
    window : int, default=500
        The number of rows in a window.

    Attributes
    ----------
    n_windows : int
        The number of windows that were compared.

    References
    ----------
    .. [1] Williams, D. A. (1976). Improved likelihood ratio tests for complete contingency tables. Biometrika, 63(1),
       33-37.

    Examples
    --------
    >>> from thrifty.runtime import Result, Trace
    >>> from thrifty.runtime.watch.drift import DriftTest
    >>> from thrifty.runtime.watch.reference import Reference
    >>> test = DriftTest(Reference("ASTCClassifier", 1000, 2.0, 3.0, {0: 500, 1: 500}, {}), window=100)
    >>> rows = [Result(i, 1, None, 0.5, 2.0, 0.0, False, 1, "done", "ASTCClassifier", Trace(i, ())) for i in range(100)]
    >>> [drift.name for row in rows for drift in test.update(row)]
    ['exits']
    """

    def __init__(self, reference: Reference, alpha: float = 0.05, window: int = 500):
        self._reference, self._alpha, self._window = reference, alpha, window
        self._columns = {name: each for name, each in reference.columns.items() if each.n_bought >= MIN_BOUGHT}
        self.n_windows = 0
        self._clear()

    def _clear(self) -> None:
        self._n_rows = 0
        self._exits: Counter[int] = Counter()
        self._counts = {name: [0] * len(column.counts) for name, column in self._columns.items()}

    def update(self, result: Result) -> list[Drift]:
        """Take a row.

        Parameters
        ----------
        result : Result
            A row that is not degraded.

        Returns
        -------
        list of Drift
            What differs, if the row completes a window; otherwise empty.
        """
        self._n_rows += 1
        self._exits[result.exit] += 1
        for name, value in _values(result):
            if (column := self._columns.get(name)) is not None:
                self._counts[name][column.bin_of(value)] += 1
        return self._compare() if self._n_rows >= self._window else []

    def _compare(self) -> list[Drift]:
        """Compare a full window with the reference, and begin a new one."""
        self.n_windows += 1
        tests = [(EXITS, self._exits_p_value()), *self._column_p_values()]
        self._clear()
        level = self._alpha * 6.0 / (math.pi * self.n_windows) ** 2 / len(tests)
        return [Drift(name, p_value, self.n_windows) for name, p_value in tests if p_value <= level]

    def _exits_p_value(self) -> float:
        expected = self._reference.exits
        places = sorted({*expected, *self._exits})
        return p_value([expected.get(each, 0) for each in places], [self._exits[each] for each in places])

    def _column_p_values(self) -> Iterable[tuple[str, float]]:
        for name, counts in self._counts.items():
            if sum(counts) >= MIN_BOUGHT:
                yield name, p_value(self._columns[name].counts, counts)


def p_value(reference: Sequence[int], window: Sequence[int]) -> float:
    """Test whether two rows of counts come from the same distribution; see the module for the formula.

    Parameters
    ----------
    reference, window : sequences of int
        How many rows of each are in each bin.

    Returns
    -------
    float
        The p-value; 1 if fewer than two bins are left after pooling.

    Examples
    --------
    >>> from thrifty.runtime.watch.drift import p_value
    >>> round(p_value([500, 500], [60, 40]), 3), p_value([500, 500], [0, 100]) < 1e-20
    (0.056, True)
    """
    table = _pooled(np.array([reference, window], dtype=float))
    n_bins = table.shape[1]
    if n_bins < 2:
        return 1.0
    rows, bins, total = table.sum(axis=1), table.sum(axis=0), table.sum()
    statistic = 2.0 * (
        xlogy(table, table).sum() - xlogy(rows, rows).sum() - xlogy(bins, bins).sum() + xlogy(total, total)
    )
    spread = (total * (1.0 / rows).sum() - 1.0) * (total * (1.0 / bins).sum() - 1.0)
    correction = 1.0 + spread / (6.0 * total * (n_bins - 1))
    return float(chdtrc(n_bins - 1, max(statistic, 0.0) / correction))


def _pooled(table: np.ndarray) -> np.ndarray:
    """Pool the bins with small expected counts into one; join it with the smallest other bin if it is small itself."""
    bins = table.sum(axis=0)
    rows = table.sum(axis=1)
    least = MIN_EXPECTED * bins.sum() / rows.min() if rows.min() > 0 else np.inf  # of a bin's total
    if bins.sum() < 2 * least:
        return table.sum(axis=1, keepdims=True)
    table = table[:, np.argsort(-bins, kind="stable")]
    n_kept = int((bins >= least).sum())
    rest = table[:, n_kept:].sum(axis=1, keepdims=True)
    kept = table[:, :n_kept]
    if rest.sum() >= least:
        return np.hstack([kept, rest])
    return np.hstack([kept[:, :-1], kept[:, -1:] + rest])


def _values(result: Result) -> Iterable[tuple[str, object]]:
    """Return the values that a row bought and that are not redacted."""
    return (each for call in result.trace.calls if call.values for each in call.values.items())
