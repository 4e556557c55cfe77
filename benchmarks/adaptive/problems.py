"""The problems: data, prices, and a split into training and test rows for each seed.

Rows are split 80/20 and stratified by class, except:

    cube, cube_nm   10,000 training rows and 10,000 test rows, drawn anew for each seed; in cube_nm_last the columns of
                    the context come last, which should make no difference
    covtype         20,000 training rows and 20,000 test rows of 581,012
    letter          5,000 training rows of 20,000, because 26 classes are slow for every method; the rest are test rows
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.utils import Bunch

from thrifty import datasets
from thrifty.costs import CostModel

SEEDS = range(5)
FIRST_SEEDS = range(3)  # computed before the others
CUBE_ROWS = 10_000


@dataclass(frozen=True, eq=False)
class Problem:
    """Training and test rows of one seed, with the costs of the columns."""

    name: str
    seed: int
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    costs: CostModel

    @property
    def n_classes(self) -> int:
        """The number of classes of the training rows."""
        return len(np.unique(self.y))

    @property
    def majority(self) -> float:
        """The test accuracy of the most frequent class of the training rows, which costs nothing."""
        return float(np.mean(self.y_test == np.bincount(self.y).argmax()))


def load(name: str, seed: int) -> Problem:
    """Return the problem of a name for a seed."""
    data, n_train, n_test = PROBLEMS[name](seed)
    X = np.ascontiguousarray(data.X, dtype=float)
    parts = train_test_split(
        X, data.y, train_size=n_train, test_size=n_test, stratify=data.y, random_state=seed, shuffle=True
    )
    X_train, X_test, y_train, y_test = parts
    costs = CostModel.resolve(data.costs, X.shape[1])
    return Problem(name, seed, X_train, y_train, X_test, y_test, costs)


Loaded = tuple[Bunch, float | int | None, float | int | None]  # the data, and the sizes of the training and test parts


def _stored(seed: int, *, name: str) -> Loaded:
    return datasets.load(name), None, 0.2


def _cube(seed: int, *, make: str, **options: Any) -> Loaded:
    return getattr(datasets, make)(2 * CUBE_ROWS, random_state=seed, **options), CUBE_ROWS, CUBE_ROWS


def _covtype(seed: int) -> Loaded:
    return datasets.load_covtype(binary=True), 20_000, 20_000


def _letter(seed: int) -> Loaded:
    return datasets.load_letter(), 5_000, None


PROBLEMS: dict[str, Callable[[int], Loaded]] = {
    "spambase": partial(_stored, name="spambase"),
    "thyroid": partial(_stored, name="thyroid"),
    "heart": partial(_stored, name="heart_cleveland"),
    "pima": partial(_stored, name="pima"),
    "hepatitis": partial(_stored, name="hepatitis"),
    "segmentation": partial(_stored, name="segmentation"),
    "satimage": partial(_stored, name="satimage"),
    "cube": partial(_cube, make="make_cube"),
    "cube_nm": partial(_cube, make="make_cube_nm"),
    "cube_nm_last": partial(_cube, make="make_cube_nm", context_last=True),
    "covtype": _covtype,
    "letter": _letter,
}  # in the order in which they are computed
BIG = ("satimage", "cube", "cube_nm", "covtype", "letter")
ADAPTIVE_ONLY = ("cube_nm_last",)
EIGHT = ("thyroid", "heart", "pima", "hepatitis", "segmentation", "satimage", "letter", "covtype")
