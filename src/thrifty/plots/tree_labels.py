"""Labels of the rows in the plot of a tree, and the texts for their means."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True)
class Labels:
    """Labels of the rows, and the text for a mean label.

    Attributes
    ----------
    y : ndarray of shape (n,) or None
        Labels of the rows. None if they are unknown.
    classes : tuple
        All classes. Empty for regression.
    """

    y: NDArray[Any] | None
    classes: tuple[Any, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes whose shares are shown: the second of two classes, or all of more classes."""
        shown = self.classes[1:] if len(self.classes) == 2 else self.classes
        return tuple(name if isinstance(name, str) else f"class {name}".removesuffix(".0") for name in shown)

    def targets(self, n_rows: int) -> NDArray[np.float64]:
        """Return an array whose column means are the mean label: y, or one-hot columns of the shown classes."""
        if self.y is None:
            return np.empty((n_rows, 0))
        if not self.classes:
            return np.asarray(self.y, dtype=float)[:, None]
        one_hot = (self.y[:, None] == np.asarray(self.classes)).astype(float)
        return one_hot[:, 1:] if len(self.classes) == 2 else one_hot

    def describe(self, mean: Sequence[float]) -> str:
        """Return the text for a mean label: the mean, or the largest share with the name of its class."""
        if not mean:
            return ""
        if not self.names:
            return f"mean {mean[0]:.3g}"
        largest = int(np.argmax(mean))
        return f"{mean[largest]:.0%} {self.names[largest]}"


def labels_of(estimator: Any, y: ArrayLike | None, n_rows: int) -> Labels:
    """Return the labels of the rows, after a check of their number and their classes."""
    if y is None:
        return Labels(None)
    given = np.asarray(y)
    if given.shape != (n_rows,):
        raise ValueError(f"y has shape {given.shape} but X has {n_rows} rows; pass one label per row.")
    classes = np.asarray(getattr(estimator, "classes_", ()))
    unknown = np.setdiff1d(given, classes) if len(classes) else classes
    if len(unknown):
        raise ValueError(f"y holds {unknown.tolist()[0]!r}; expected one of the classes {classes.tolist()}.")
    return Labels(given, tuple(classes.tolist()))
