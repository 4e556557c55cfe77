"""Calibration: how often answers that are given with some probability are right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

N_BINS = 10


@dataclass(frozen=True)
class Bin:
    """The rows whose likeliest class has a probability between two bounds.

    Attributes
    ----------
    low, high : float
        The bounds; the lower one is excluded.
    n_rows : int
    stated : float
        The mean probability of the likeliest class.
    right : float
        The share of rows of which the likeliest class is the true one.
    """

    low: float
    high: float
    n_rows: int
    stated: float
    right: float


@dataclass(frozen=True)
class Calibration:
    """How far the probabilities of a classifier can be trusted.

    With n rows, K classes, p_ik the probability of class k in row i, and c_i the true class:

        expected_error = sum over bins b of n_b / n * |stated_b - right_b|
        brier          = mean over i of (p_i2 - [c_i = 2])^2                      two classes
        brier          = mean over i of sum over k of (p_ik - [c_i = k])^2        more classes

    The bins are (0, 0.1], (0.1, 0.2], ..., (0.9, 1]; those without rows are left out.

    Attributes
    ----------
    bins : tuple of Bin
    expected_error : float
        The expected calibration error; 0 is best.
    brier : float
        The Brier score; 0 is best.
    """

    bins: tuple[Bin, ...]
    expected_error: float
    brier: float

    @classmethod
    def of(cls, probabilities: np.ndarray, codes: np.ndarray) -> Calibration:
        """Compare probabilities (n, K) with the positions of the true classes (n,)."""
        stated, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == codes
        number = np.clip(np.ceil(stated * N_BINS).astype(int) - 1, 0, N_BINS - 1)
        bins = tuple(_bin(b, stated[number == b], right[number == b]) for b in np.unique(number).tolist())
        gap = sum(each.n_rows * abs(each.stated - each.right) for each in bins) / len(codes)
        return cls(bins, gap, _brier(probabilities, codes))


def _bin(number: int, stated: np.ndarray, right: np.ndarray) -> Bin:
    return Bin(number / N_BINS, (number + 1) / N_BINS, len(stated), float(stated.mean()), float(right.mean()))


def _brier(probabilities: np.ndarray, codes: np.ndarray) -> float:
    n_classes = probabilities.shape[1]
    squares = ((probabilities - np.eye(n_classes)[codes]) ** 2).sum(axis=1)
    return float(squares.mean()) / (2.0 if n_classes == 2 else 1.0)
