"""Ranks of contenders over problems, and which differences are more than chance.

The contender with the largest mean gain on a problem (see `curves`) has rank 1; gains that are equal to `DIGITS` digits
share the mean of their ranks. Ranks are compared over the problems on which all compared contenders have results, N
problems and k contenders.

Nemenyi: two mean ranks differ significantly if their difference exceeds

    CD = q sqrt(k (k + 1) / (6 N)),    q = (quantile 1 - alpha of the studentised range of k groups) / sqrt(2)

Holm: the k - 1 other contenders are compared with one contender by the Wilcoxon signed-rank test on the gains of the N
problems. The i-th smallest p value, i = 1, ..., k - 1, is significant if it and all smaller ones are at most
alpha / (k - i).
"""

from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata, studentized_range, wilcoxon

ALPHA = 0.05
DIGITS = 4  # of gains that are compared and committed
LARGE = 1e6  # degrees of freedom, instead of infinity


@dataclass(frozen=True)
class Ranking:
    """Mean ranks of contenders over problems.

    Attributes
    ----------
    problems, contenders : tuple of str
        The contenders are in the order of their mean ranks.
    ranks : ndarray of shape (n_problems, n_contenders)
    gains : ndarray of shape (n_problems, n_contenders)
    """

    problems: tuple[str, ...]
    contenders: tuple[str, ...]
    ranks: np.ndarray
    gains: np.ndarray

    @property
    def mean_ranks(self) -> np.ndarray:
        """The mean rank of each contender."""
        return self.ranks.mean(axis=0)

    @property
    def critical_difference(self) -> float:
        """The difference of mean ranks that is significant (Nemenyi)."""
        return critical_difference(len(self.contenders), len(self.problems))

    def rank_of(self, contender: str) -> float:
        """Return the mean rank of a contender."""
        return float(self.mean_ranks[self.contenders.index(contender)])

    def worse_than(self, contender: str) -> list[str]:
        """Return the contenders with significantly smaller gains (Wilcoxon, Holm)."""
        own = self.gains[:, self.contenders.index(contender)]
        p = {other: _p_value(own, self.gains[:, j]) for j, other in enumerate(self.contenders) if other != contender}
        found = []
        for step, other in enumerate(sorted(p, key=p.__getitem__)):
            if p[other] > ALPHA / (len(p) - step):
                break
            found.append(other)
        place = self.contenders.index
        return [other for other in found if np.median(own - self.gains[:, place(other)]) > 0]


def ranked(gains: dict[str, dict[str, float]]) -> Ranking | None:
    """Return the ranking from mean gains by problem and contender; None if there is nothing to compare.

    Contenders that miss one of the problems are left out.

    >>> ranked({"a": {"x": 0.9, "y": 0.8}, "b": {"x": 0.7, "y": 0.6, "z": 0.9}}).mean_ranks
    array([1., 2.])
    """
    problems = tuple(gains)
    contenders = [name for name in dict.fromkeys(n for each in gains.values() for n in each)
                  if all(name in each for each in gains.values())]  # fmt: skip
    if not problems or len(contenders) < 2:
        return None
    table = np.array([[gains[problem][name] for name in contenders] for problem in problems])
    ranks = rankdata(-table, axis=1)
    order = np.argsort(ranks.mean(axis=0), kind="stable")
    return Ranking(problems, tuple(contenders[j] for j in order), ranks[:, order], table[:, order])


def critical_difference(n_contenders: int, n_problems: int) -> float:
    """Return the difference of mean ranks that is significant (Nemenyi).

    >>> round(critical_difference(5, 10), 2)
    1.93
    """
    quantile = studentized_range.ppf(1 - ALPHA, n_contenders, LARGE) / np.sqrt(2)
    return float(quantile * np.sqrt(n_contenders * (n_contenders + 1) / (6 * n_problems)))


def _p_value(own: np.ndarray, other: np.ndarray) -> float:
    """Return the p value of the signed-rank test; 1 if there is no difference at all."""
    return 1.0 if np.allclose(own, other) else float(wilcoxon(own, other).pvalue)
