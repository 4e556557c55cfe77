"""What mistakes cost, in the unit of the costs of the features.

A case costs what is acquired for it, and what its answer costs if it is wrong (P. D. Turney. Cost-sensitive
classification. Journal of Artificial Intelligence Research 2, 1995). For classes with probabilities p_1, ..., p_K and a
matrix C of costs by class and answer, the answer with the smallest expected cost is

    argmin_c  sum_k p_k C[k, c]

Files with error costs: error_cost_files.py.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.costs.declaration import parse_price
from thrifty.costs.errors import format_value
from thrifty.exceptions import CostError
from thrifty.stored import Array, Labels, Number, Whole, stored

POWERS = {"absolute": 1, "squared": 2}
MAX_LISTED = 5  # classes in a message


class ErrorCosts(ABC):
    """What wrong answers cost.

    Examples
    --------
    >>> from thrifty.costs import ErrorCosts
    >>> costs = ErrorCosts.resolve({("ill", "healthy"): 100, ("healthy", "ill"): 20}, classes=["healthy", "ill"])
    >>> costs.of(["ill", "ill", "healthy"], ["healthy", "ill", "ill"])
    array([100.,   0.,  20.])
    >>> costs.cheapest([[0.9, 0.1], [0.8, 0.2]])
    array(['healthy', 'ill'], dtype='<U7')
    >>> ErrorCosts.resolve({"absolute": 3}).of([1.0, 2.0], [1.5, 0.0])
    array([1.5, 6. ])
    """

    @staticmethod
    def resolve(given: Any, classes: Any = None, owner: str = "ErrorCosts") -> ErrorCosts:
        """Return error costs in the form in which users write them as an object.

        Parameters
        ----------
        given : ErrorCosts, array-like, DataFrame, dict, float, or path-like
            For classes: a matrix with a row for each true class and a column for each answer, in the order of
            `classes`; a DataFrame whose index and columns are the classes, in any order; or
            ``{(true, answer): cost}``, where pairs that are not listed cost 0. For numbers: a cost for each squared
            unit of error, which ``{"squared": cost}`` says too, or ``{"absolute": cost}`` for each unit of error. For
            both, the path of a CSV file, as `from_file` takes it.
        classes : array-like of shape (n_classes,), optional
            The classes, sorted. None if numbers are predicted.
        owner : str, default="ErrorCosts"
            The beginning of messages.

        Returns
        -------
        ErrorCosts
        """
        if isinstance(given, os.PathLike):
            return ErrorCosts.from_file(given, classes)
        if classes is None:
            return NumberErrorCosts.parse(given, owner)
        return ClassErrorCosts.parse(given, np.asarray(classes), owner)

    @staticmethod
    def from_file(path: str | os.PathLike[str], classes: Any = None) -> ErrorCosts:
        """Read error costs from a CSV file.

        Parameters
        ----------
        path : str or path-like
            The file. The documentation of the module `thrifty.costs.error_cost_files` describes the formats.
        classes : array-like of shape (n_classes,), optional
            The classes, sorted. None if numbers are predicted.

        Returns
        -------
        ErrorCosts
        """
        from thrifty.costs.error_cost_files import read_error_costs

        return ErrorCosts.resolve(read_error_costs(Path(path), classes), classes, str(path))

    @abstractmethod
    def of(self, truth: Any, answer: Any) -> np.ndarray:
        """Return what answers cost.

        Parameters
        ----------
        truth : array-like of shape (n,)
            The true classes or numbers.
        answer : array-like of shape (n,)

        Returns
        -------
        ndarray of shape (n,)
        """

    @abstractmethod
    def constant(self, truth: Any, weight: Any = None) -> Any:
        """Return the answer that costs least if every row gets the same one.

        Parameters
        ----------
        truth : array-like of shape (n,)
            The true classes or numbers.
        weight : array-like of shape (n,), optional
            How often each row counts.

        Returns
        -------
        object
            A class, or a number.
        """


@stored(classes=Labels("n_classes"), matrix=Array("float64", "n_classes", "n_classes", low=0, finite=True))
@dataclass(frozen=True, eq=False)
class ClassErrorCosts(ErrorCosts):
    """What each answer costs for each true class.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        Sorted.
    matrix : ndarray of shape (n_classes, n_classes)
        The cost of each answer (column) for each true class (row).

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.costs.error_costs import ClassErrorCosts
    >>> costs = ClassErrorCosts(np.array([0, 1]), np.array([[0.0, 5.0], [50.0, 0.0]]))
    >>> costs.cheapest([[0.95, 0.05], [0.85, 0.15]])
    array([0, 1])
    """

    classes: np.ndarray
    matrix: np.ndarray

    @classmethod
    def parse(cls, given: Any, classes: np.ndarray, owner: str) -> ClassErrorCosts:
        """Return what users wrote as an object; see `ErrorCosts.resolve`."""
        labels = classes.tolist()
        if isinstance(given, ErrorCosts):
            known = given.classes.tolist() if isinstance(given, ClassErrorCosts) else []
            _refuse_unless(set(labels) <= set(known), owner, given, f"error costs of the classes {_listed(classes)}")
            places = [known.index(label) for label in labels]
            return cls(classes, given.matrix[np.ix_(places, places)])  # type: ignore[attr-defined]
        if hasattr(given, "index") and hasattr(given, "columns"):
            given = _pairs_of_frame(given, labels, owner)
        if isinstance(given, Mapping):
            return cls(classes, _matrix_of_pairs(given, labels, owner))
        return cls(classes, _checked_matrix(given, labels, owner))

    def of(self, truth: Any, answer: Any) -> np.ndarray:
        """Return what answers cost; both are classes."""
        return self.matrix[self._codes(truth), self._codes(answer)]

    def cheapest(self, probabilities: Any, classes: Any = None) -> np.ndarray:
        """Return the answers with the smallest expected cost; of equal ones the first.

        Parameters
        ----------
        probabilities : array-like of shape (n, n_known)
        classes : array-like of shape (n_known,), optional
            The classes of the columns of `probabilities`; by default all.

        Returns
        -------
        ndarray of shape (n,)
        """
        matrix = self.matrix if classes is None else self.matrix[self._codes(classes)]
        return self.classes[(np.asarray(probabilities) @ matrix).argmin(axis=1)]

    def constant(self, truth: Any, weight: Any = None) -> Any:
        """Return the class that costs least as the answer for every row."""
        counts = np.bincount(self._codes(truth), weights=weight, minlength=len(self.classes))
        return self.classes[(counts @ self.matrix).argmin()]

    def _codes(self, values: Any) -> np.ndarray:
        values = np.asarray(values)
        codes = np.minimum(np.searchsorted(self.classes, values), len(self.classes) - 1)
        for unknown in values[self.classes[codes] != values][:1].tolist():
            raise CostError(f"{format_value(unknown)} is not one of the classes {_listed(self.classes)}.")
        return codes


@stored(cost=Number(0, finite=True), power=Whole(1, 2))
@dataclass(frozen=True)
class NumberErrorCosts(ErrorCosts):
    """What errors of predicted numbers cost: ``cost * |error| ** power``.

    Attributes
    ----------
    cost : float
    power : {1, 2}
        1 for a cost of each unit of error, 2 for a cost of each squared unit.

    Examples
    --------
    >>> from thrifty.costs.error_costs import NumberErrorCosts
    >>> NumberErrorCosts(2.0, power=2).of([1.0, 5.0], [2.0, 2.0])
    array([ 2., 18.])
    """

    cost: float
    power: int = 2

    @classmethod
    def parse(cls, given: Any, owner: str) -> NumberErrorCosts:
        """Return what users wrote as an object; see `ErrorCosts.resolve`."""
        if isinstance(given, NumberErrorCosts):
            return given
        named = given if isinstance(given, Mapping) else {"squared": given}
        expected = 'a cost above 0 for each squared unit of error, or {"absolute": cost} for each unit'
        _refuse_unless(len(named) == 1 and set(named) <= set(POWERS), owner, given, expected)
        name, cost = next(iter(named.items()))
        _refuse_unless(_is_cost(cost) and cost > 0, owner, given, expected)
        return cls(float(cost), POWERS[name])

    def of(self, truth: Any, answer: Any) -> np.ndarray:
        """Return what answers cost; both are numbers."""
        error = np.asarray(truth, dtype=float) - np.asarray(answer, dtype=float)
        return self.cost * np.abs(error) ** self.power

    def constant(self, truth: Any, weight: Any = None) -> float:
        """Return the number that costs least as the answer for every row: the median for power 1, else the mean."""
        numbers = np.asarray(truth, dtype=float)
        weight = np.ones(len(numbers)) if weight is None else np.asarray(weight, dtype=float)
        if self.power == 2:
            return float(np.average(numbers, weights=weight))
        order = np.argsort(numbers)
        below = np.cumsum(weight[order])
        return float(numbers[order][np.searchsorted(below, 0.5 * below[-1])])


def _matrix_of_pairs(given: Mapping[Any, Any], labels: list[Any], owner: str) -> np.ndarray:
    matrix = np.zeros((len(labels), len(labels)))
    for pair, cost in given.items():
        is_pair = isinstance(pair, tuple) and len(pair) == 2
        problem = f", where {format_value(pair)} is not a pair (true class, answer)"
        _refuse_unless(is_pair, owner, given, _expected(labels), problem)
        for label in pair:
            _refuse_unless(label in labels, owner, given, _expected(labels), f": {format_value(label)} is not a class")
        problem = f", where {format_value(pair)} costs {format_value(cost)}"
        _refuse_unless(_is_cost(cost), owner, given, _expected(labels), problem)
        matrix[labels.index(pair[0]), labels.index(pair[1])] = cost
    return matrix


def _pairs_of_frame(frame: Any, labels: list[Any], owner: str) -> dict[tuple[Any, Any], Any]:
    """Return the cells of a table whose rows and columns are named by classes."""
    trues, answers = frame.index.tolist(), frame.columns.tolist()
    for axis, names in (("index", trues), ("columns", answers)):
        if len(names) != len(labels) or any(label not in names for label in labels):
            problem = f"error_costs is a DataFrame whose {axis} is {format_value(names)}"
            raise CostError(f"{owner}: {problem}; expected the classes {_listed(labels)} on both axes.")
    cells = frame.to_numpy().tolist()
    return {(t, a): cells[trues.index(t)][answers.index(a)] for t in labels for a in labels}


def _checked_matrix(given: Any, labels: list[Any], owner: str) -> np.ndarray:
    try:
        matrix = np.array(given, dtype=float)
    except (TypeError, ValueError):
        matrix = np.empty((0, 0))
    valid = matrix.shape == (len(labels), len(labels)) and np.isfinite(matrix).all() and (matrix >= 0).all()
    _refuse_unless(bool(valid), owner, given, _expected(labels))
    return matrix


def _is_cost(value: Any) -> bool:
    try:
        parse_price(value, "", "")
    except CostError:
        return False
    return True


def _expected(labels: list[Any]) -> str:
    n = len(labels)
    return (
        f"a matrix of shape ({n}, {n}) of costs of at least 0, by true class and answer, or "
        f"{{(true class, answer): cost}} with classes {_listed(labels)}"
    )


def _listed(labels: Any) -> str:
    shown = [format_value(each) for each in np.asarray(labels).tolist()]
    return ", ".join(shown[:MAX_LISTED]) + (f" and {len(shown) - MAX_LISTED} more" if len(shown) > MAX_LISTED else "")


def _refuse_unless(valid: bool, owner: str, given: Any, expected: str, problem: str = "") -> None:
    if not valid:
        raise CostError(f"{owner}: error_costs is {format_value(given)}{problem}; expected {expected}.")
