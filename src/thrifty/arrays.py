"""Arrays of NumPy, PyTorch and CuPy: their namespace, where they are, and how they get there.

Code for arrays on a device asks `namespace_of` for the functions to call. For NumPy arrays this is NumPy. For all
others it is the namespace of array-api-compat, which gives every library the functions of the array API standard.

`moved` and `to_host` are the only ways by which arrays get to a device and back, and `number` the only one for scalars.
So a test can count what moves.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from thrifty.exceptions import MissingExtraError

TINY = float(np.finfo(float).tiny)
DEVICES = 'None, "cpu", or the name of a device of PyTorch such as "cuda" or "cuda:1"'


@dataclass
class Moves:
    """What has moved between host and device.

    Attributes
    ----------
    to_device, to_host : int
        Number of elements of the arrays that moved.
    numbers : int
        How many scalars were read from the device.
    """

    to_device: int = 0
    to_host: int = 0
    numbers: int = 0


_counted: ContextVar[Moves | None] = ContextVar("counted", default=None)


@contextmanager
def counted_moves() -> Iterator[Moves]:
    """Count what moves between host and device in this context."""
    moves = Moves()
    token = _counted.set(moves)
    try:
        yield moves
    finally:
        _counted.reset(token)


def taken(values: Any, rows: np.ndarray) -> Any:
    """Return the rows of an array at some positions, or where a boolean mask of NumPy is True."""
    positions = np.flatnonzero(rows) if rows.dtype == bool else rows
    return namespace_of(values).take(values, like(positions, values), axis=0)


def part_of(X: Any, rows: Any, columns: Any) -> Any:
    """Return a copy of the values of some rows in some columns, given by their positions."""
    if isinstance(X, np.ndarray):
        return X[rows[:, None], columns]
    xp = namespace_of(X)
    return xp.take(xp.take(X, like(columns, X), axis=1), like(rows, X), axis=0)


def concatenated(xp: Any, parts: list[Any], axis: int = 0) -> Any:
    """Return arrays joined along an axis; NumPy 1 has another name for this function."""
    join = xp.concat if hasattr(xp, "concat") else xp.concatenate
    return join(parts, axis=axis)


def stable_order(values: Any, axis: int = -1) -> Any:
    """Return the positions that sort an array; equal values stay in order."""
    if isinstance(values, np.ndarray):
        return np.argsort(values, axis=axis, kind="stable")
    return namespace_of(values).argsort(values, axis=axis, stable=True)


def cast(values: Any, dtype: Any) -> Any:
    """Return an array with another dtype, without a copy if it has that dtype already."""
    if isinstance(values, np.ndarray):
        return values.astype(dtype, copy=False)
    return namespace_of(values).astype(values, dtype, copy=False)


def diagonal_of(matrix: Any) -> Any:
    """Return the diagonal of a matrix."""
    return matrix.diagonal() if isinstance(matrix, np.ndarray) else namespace_of(matrix).linalg.diagonal(matrix)


def with_larger_diagonal(matrix: Any, added: Any) -> Any:
    """Return a matrix to whose diagonal some numbers are added; a NumPy array is changed in place."""
    if isinstance(matrix, np.ndarray):
        matrix[np.diag_indices(len(matrix))] += added
        return matrix
    xp = namespace_of(matrix)
    return matrix + xp.eye(matrix.shape[0], dtype=matrix.dtype, **place_of(matrix)) * added


class Selection:
    """The marked entries of arrays of one shape, as a vector and back.

    Parameters
    ----------
    marks : array of bool

    Attributes
    ----------
    positions : array of int, shape (size,)
        Positions of the marked entries, counted along the last axis first.
    size : int
        Number of the marked entries.
    """

    def __init__(self, marks: Any):
        self.marks = marks
        if isinstance(marks, np.ndarray):
            self.positions = marks.ravel().nonzero()[0]
        else:
            xp = namespace_of(marks)
            self.positions = xp.nonzero(xp.reshape(marks, (-1,)))[0]
        self.size = int(self.positions.shape[0])

    @cached_property
    def _rank(self) -> Any:
        """For each entry, the number of marked entries before it; one less for those after the last marked one."""
        xp = namespace_of(self.marks)
        flat = xp.reshape(self.marks, (-1,))
        counted = xp.cumsum(flat) if xp is np else xp.cumulative_sum(xp.astype(flat, self.positions.dtype))
        return xp.clip(counted - 1, 0, None)

    def of(self, values: Any) -> Any:
        """Return the marked entries of an array that can be broadcast to the shape of the marks."""
        if isinstance(values, np.ndarray):
            return (values if values.shape == self.marks.shape else np.broadcast_to(values, self.marks.shape))[
                self.marks
            ]
        xp = namespace_of(values)
        return xp.take(xp.reshape(xp.broadcast_to(values, self.marks.shape), (-1,)), self.positions)

    def put(self, entries: Any, others: Any) -> Any:
        """Return an array with these marked entries, and all other entries from `others`."""
        if not self.size:
            return others
        if isinstance(entries, np.ndarray):
            return np.where(self.marks, entries.take(self._rank).reshape(self.marks.shape), others)
        xp = namespace_of(entries)
        return xp.where(self.marks, xp.reshape(xp.take(entries, self._rank), self.marks.shape), others)

    def spread(self, entries: Any) -> Any:
        """Return an array with these entries at the marked positions of its last axis, and zeros elsewhere.

        The marks have one axis, and `entries` has an entry for each of them along its last axis.
        """
        shape = (*entries.shape[:-1], self.marks.shape[0])
        if isinstance(entries, np.ndarray):
            spread = np.zeros(shape, entries.dtype)
            spread[..., self.positions] = entries
            return spread
        xp = namespace_of(entries)
        zeros = xp.zeros(shape, dtype=entries.dtype, **place_of(entries))
        return xp.where(self.marks, xp.take(entries, self._rank, axis=entries.ndim - 1), zeros) if self.size else zeros


def place_of(array: Any) -> dict[str, Any]:
    """Return the argument that makes a new array on the device of another one."""
    return {} if isinstance(array, np.ndarray) else {"device": _compat().device(array)}


def _count(kind: str, amount: int) -> None:
    if (moves := _counted.get()) is not None:
        setattr(moves, kind, getattr(moves, kind) + amount)


def is_device_array(values: Any) -> bool:
    """Tell whether something is an array of another library than NumPy that follows the array API standard."""
    if isinstance(values, np.ndarray | np.generic) or not hasattr(values, "shape"):
        return False
    library = type(values).__module__.partition(".")[0]
    return library in ("torch", "cupy") or hasattr(values, "__array_namespace__")


def namespace_of(array: Any) -> Any:
    """Return the namespace of the functions for an array: NumPy, or that of array-api-compat."""
    return np if isinstance(array, np.ndarray) else _compat().array_namespace(array)


def to_host(array: Any) -> np.ndarray:
    """Return an array as a NumPy array; NumPy arrays and other objects than arrays are returned unchanged."""
    if not is_device_array(array):
        return array
    _count("to_host", math.prod(array.shape))
    if hasattr(array, "detach"):  # PyTorch
        return without_gradient(array).cpu().numpy()
    if hasattr(array, "get"):  # CuPy
        return array.get()
    default = namespace_of(array).empty(0).device  # other libraries: NumPy reads arrays of their default device
    return np.asarray(array.to_device(default))


def without_gradient(array: Any) -> Any:
    """Return an array of which PyTorch does not record derivatives."""
    return array.detach() if hasattr(array, "detach") else array


def host_dtype(array: Any) -> np.dtype:
    """Return the dtype of NumPy for the entries of an array."""
    return np.dtype(str(array.dtype).rpartition(".")[2])


def number(value: Any) -> float:
    """Return a scalar of a device, or of NumPy, as a Python number."""
    if is_device_array(value):
        _count("numbers", 1)
    return float(value)


def largest_size(values: Any) -> float:
    """Return the largest absolute value in an array as a Python number; 0 for an array without entries."""
    xp = namespace_of(values)
    return number(xp.max(xp.abs(values))) if math.prod(values.shape) else 0.0


def like(values: Any, model: Any, dtype: Any = None) -> Any:
    """Return values as an array of the library and on the device of `model`; NumPy arrays pass if `model` is one.

    Parameters
    ----------
    values : array or scalar
    model : array
    dtype : dtype of NumPy, optional
        By default that of `values`.

    Returns
    -------
    array
    """
    if isinstance(model, np.ndarray):
        return np.asarray(to_host(values), dtype)
    xp = namespace_of(model)
    if is_device_array(values):
        return values
    array = np.asarray(values, dtype)
    _count("to_device", array.size)
    return xp.asarray(np.ascontiguousarray(array), device=_compat().device(model))


def moved(values: Any, device: str | None, owner: str) -> Any:
    """Return an array on a device: unchanged if `device` is None, a NumPy array if it is "cpu".

    Parameters
    ----------
    values : array
    device : str or None
        "cpu", or the name of a device of PyTorch; a CuPy array that is already there stays one.
    owner : str
        Who to name in messages.

    Returns
    -------
    array
    """
    if device is None:
        return values
    if device == "cpu":
        return to_host(values)
    if is_device_array(values) and str(_compat().device(values)).startswith(device):
        return values
    torch, array = _torch(), np.ascontiguousarray(to_host(values))
    try:
        place = torch.empty(0, device=device).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise ValueError(f"{owner}: device is {device!r}, which PyTorch cannot use: {reason}") from error
    _count("to_device", array.size)
    return torch.asarray(array, device=place)


@contextmanager
def enough_memory(owner: str, n_bytes: Callable[[], int]) -> Iterator[None]:
    """Replace the errors of libraries whose device has too little memory by one that says how much is needed."""
    try:
        yield
    except Exception as error:
        if type(error).__name__ != "OutOfMemoryError":
            raise
        raise MemoryError(
            f"{owner}: the device has too little memory. This fit needs about {n_bytes() / 1e9:.3g} GB. Pass rows in "
            f'single precision, fewer rows or columns, or device="cpu". ({str(error).splitlines()[0]})'
        ) from error


def refuse_bad_device(device: Any, owner: str) -> None:
    """Raise ValueError unless `device` is None or a string."""
    if not (device is None or (isinstance(device, str) and device)):
        raise ValueError(f"{owner}: device is {device!r}; expected {DEVICES}.")


def _compat() -> Any:
    try:
        return import_module("array_api_compat")
    except ImportError as error:
        raise MissingExtraError("Arrays on a device need array-api-compat. Run: pip install 'thrifty[gpu]'") from error


def _torch() -> Any:
    try:
        return import_module("torch")
    except ImportError as error:
        raise MissingExtraError("device= needs PyTorch. See https://pytorch.org, or run: pip install torch") from error
