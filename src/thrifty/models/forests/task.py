"""What the sums of a forest mean: how they turn into values, log-odds or orders of documents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.base import is_regressor

from thrifty.models.rebuilt import Rebuilt

Kind = Literal["regression", "classification", "ranking"]
SMALLEST_PROBABILITY = 1e-12  # stands for none, whose logarithm is not finite


def _log_odds(probability: np.ndarray) -> np.ndarray:
    """Return log-odds for the second of two classes, or the logarithms of one probability per class."""
    if probability.shape[1] == 1:
        return logit(np.clip(probability, SMALLEST_PROBABILITY, 1 - SMALLEST_PROBABILITY))
    return np.log(np.maximum(probability, SMALLEST_PROBABILITY))


# From sums (n, n_scores) to scores: values in regression, log-odds in classification.
LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda sums: sums,
    "log": np.exp,
    "logit": expit,
    "root": lambda sums: np.sign(sums) * sums**2,
    "softplus": lambda sums: np.logaddexp(sums, 0.0),
    "one against rest": log_expit,
    "probability": _log_odds,
}


@dataclass(frozen=True)
class Task(Rebuilt):
    """What the model that a forest was read from predicts, and how its sums say so.

    Parameters
    ----------
    kind : {"regression", "classification", "ranking"}
    link : str
        One of `LINKS`: what makes scores of sums.
    scale : float
        What sums are multiplied by before that.
    classes : tuple, optional
        The labels, in the order of the scores.
    averaged : bool
        The trees vote with equal shares, so that the first few answer with their own average.
    prior : tuple of float, optional
        The sums of a row that went through no tree of an averaged forest; the base by default.

    Examples
    --------
    >>> import numpy as np
    >>> Task("regression", link="log").scores(np.array([[0.0], [1.0]])).round(2)
    array([1.  , 2.72])
    """

    _made_of = ("kind", "link", "scale", "classes", "averaged", "prior")

    kind: Kind = "regression"
    link: str = "identity"
    scale: float = 1.0
    classes: tuple[Any, ...] | None = None
    averaged: bool = False
    prior: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or self.link not in LINKS:
            raise ValueError(
                f"Task: kind is {self.kind!r} and link {self.link!r}; expected {get_args(Kind)}, {[*LINKS]}."
            )

    def scores(self, sums: np.ndarray) -> np.ndarray:
        """Return the scores (n,) or (n, n_scores) of rows whose trees add up to these sums (n, n_scores)."""
        scores = LINKS[self.link](sums if self.scale == 1 else self.scale * sums)
        return scores[:, 0] if scores.shape[1] == 1 else scores


def task_of(estimator: Any) -> Task:
    """Return the task of an estimator of ours, whose sums are its scores."""
    if (classes := getattr(estimator, "classes_", None)) is not None:
        return Task("classification", classes=tuple(classes.tolist()))
    return Task("regression" if is_regressor(estimator) else "ranking")
