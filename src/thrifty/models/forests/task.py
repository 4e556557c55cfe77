"""What the sums of a forest mean: how they become predicted values, log-odds or ranking scores."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from scipy.special import expit, logit
from sklearn.base import is_regressor

from thrifty.models.rebuilt import Rebuilt
from thrifty.stored import Flag, Number, OrNone, Plain, Text, TupleOf, stored

Kind = Literal["regression", "classification", "ranking"]
MIN_PROBABILITY = 1e-12  # replaces 0, whose logarithm is not finite


def _log_odds(probability: np.ndarray) -> np.ndarray:
    """Return log-odds if there is one probability per row, logarithms if there is one per class."""
    if probability.shape[1] == 1:
        return logit(np.clip(probability, MIN_PROBABILITY, 1 - MIN_PROBABILITY))
    return np.log(np.maximum(probability, MIN_PROBABILITY))


# From sums (n, n_scores) to scores: values in regression, log-odds in classification.
LINKS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "identity": lambda sums: sums,
    "log": np.exp,
    "logit": expit,
    "root": lambda sums: np.sign(sums) * sums**2,
    "softplus": lambda sums: np.logaddexp(sums, 0.0),
    "one against rest": lambda sums: sums,
    "votes": lambda sums: sums,
    "hinge": lambda sums: sums,
    "probability": _log_odds,
}


@stored(
    kind=Text(*get_args(Kind)),
    link=Text(*LINKS),
    scale=Number(finite=True),
    classes=OrNone(TupleOf(Plain())),
    averaged=Flag(),
)
@dataclass(frozen=True)
class Task(Rebuilt):
    """What the original model of a forest predicts, and how the sums of its trees become scores.

    Parameters
    ----------
    kind : {"regression", "classification", "ranking"}, default="regression"
        What the model predicts.
    link : str, default="identity"
        The function in `LINKS` that turns sums into scores.
    scale : float, default=1.0
        Sums are multiplied by this number before the link is applied.
    classes : tuple, optional
        The class labels, in the order of the scores.
    averaged : bool, default=False
        Whether the trees have equal weights that add up to 1, as in a random forest. A prediction from the first few
        trees is then their own average.

    Examples
    --------
    >>> import numpy as np
    >>> Task("regression", link="log").scores(np.array([[0.0], [1.0]])).round(2)
    array([1.  , 2.72])
    """

    _made_of = ("kind", "link", "scale", "classes", "averaged")

    kind: Kind = "regression"
    link: str = "identity"
    scale: float = 1.0
    classes: tuple[Any, ...] | None = None
    averaged: bool = False

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind) or self.link not in LINKS:
            raise ValueError(
                f"Task: kind is {self.kind!r} and link {self.link!r}; expected {get_args(Kind)}, {[*LINKS]}."
            )

    def scores(self, sums: np.ndarray) -> np.ndarray:
        """Return the scores of rows.

        Parameters
        ----------
        sums : ndarray of shape (n, n_scores)
            The sums of the trees.

        Returns
        -------
        ndarray of shape (n,) if there is one score, otherwise (n, n_scores)
        """
        scores = LINKS[self.link](sums if self.scale == 1 else self.scale * sums)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @property
    def is_softmax(self) -> bool:
        """Whether the scores are log-odds, whose probabilities add up to 1."""
        return self.kind == "classification" and self.link == "identity"

    @property
    def can_be_calibrated(self) -> bool:
        """Whether the mean prediction is meant to be the mean target. Ranks, hinge scores and votes are not."""
        return self.kind != "ranking" and self.link not in ("hinge", "votes")

    @property
    def is_linear(self) -> bool:
        """Whether values or probabilities are the sums themselves, apart from their scale."""
        return self.link == ("probability" if self.kind == "classification" else "identity")

    def means(self, sums: np.ndarray) -> np.ndarray:
        """Return the expected target of each sum by itself: a value, or the probability of a class.

        Parameters
        ----------
        sums : ndarray of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """
        scaled = self.scale * sums
        if self.kind != "classification":
            return LINKS[self.link](scaled)
        return expit(scaled)

    def probabilities(self, scores: np.ndarray) -> np.ndarray | None:
        """Return the probabilities of classes if they are not those of log-odds, otherwise None.

        Parameters
        ----------
        scores : ndarray of shape (n,) or (n, n_classes)

        Returns
        -------
        ndarray of shape (n, n_classes) or None
            One against rest: the probabilities of a row need not add up to 1. Hinge: they are 0 and 1.
        """
        if self.link == "one against rest":
            return expit(scores)
        if self.link == "hinge":
            return np.column_stack([scores <= 0, scores > 0]).astype(float)
        return None


def task_of(estimator: Any) -> Task:
    """Return the task of a fitted estimator of thrifty, whose sums are its scores."""
    if (classes := getattr(estimator, "classes_", None)) is not None:
        return Task("classification", classes=tuple(classes.tolist()))
    return Task("regression" if is_regressor(estimator) else "ranking")
