"""The rows at a node, and every sum over them that least squares needs.

All functions here are functions of one block of rows; `thrifty.models.homes` adds what they return over the blocks.
X may be on a device. It then stays there, and the sums are computed there (`kernels.moments_arrays`).
In the comments, w is the weight of a row, x its features, y its targets and o the origin.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from thrifty.arrays import cast, host_dtype, is_device_array, like, moved, namespace_of, part_of, to_host
from thrifty.kernels import moments_arrays
from thrifty.kernels.moments import gather, products, squares
from thrifty.kernels.moments_arrays import DEVICE_BLOCK_ROWS
from thrifty.kernels.threads import over_rows
from thrifty.models.rows import Encoder, Rows

BLOCK_ROWS = 8192  # rows copied at a time for the full product


class PerColumn(NamedTuple):
    """One number for each feature and one for each target, such as an origin or sums of squares."""

    features: np.ndarray
    targets: np.ndarray


@dataclass(frozen=True, eq=False)
class RowBlock:
    """A block of training rows.

    Attributes
    ----------
    X : array of shape (n, n_features)
        It may be on a device; everything else is in NumPy arrays.
    targets : ndarray of shape (n, n_targets)
    count : ndarray of shape (n,)
        How often each row counts.
    """

    X: Any
    targets: np.ndarray
    count: np.ndarray


class Members(NamedTuple):
    """The rows of a block that are at a node.

    Attributes
    ----------
    rows : ndarray of int
        Their positions in the block.
    weight : ndarray
        Weight of each of them: its count times its probability of being at the node.
    """

    rows: np.ndarray
    weight: np.ndarray


class Sums(NamedTuple):
    """Sums over the rows at a node.

    Attributes
    ----------
    weight : float
        Σ w
    features : ndarray of shape (n_features,)
        Σ w (x - o)
    squares : ndarray of shape (n_features,)
        Σ w (x - o)²
    cross : ndarray of shape (n_features, n_targets)
        Σ w (x - o) (y - o)'
    targets : ndarray of shape (n_targets,)
        Σ w (y - o)
    target_squares : ndarray of shape (n_targets,)
        Σ w (y - o)²
    """

    weight: float
    features: np.ndarray
    squares: np.ndarray
    cross: np.ndarray
    targets: np.ndarray
    target_squares: np.ndarray


def row_block(rows: Rows, encoder: Encoder, device: str | None = None, owner: str = "") -> RowBlock:
    """Return a block of training rows with encoded targets, X on a device if one is given; messages name `owner`."""
    return RowBlock(moved(rows.X, device, owner), encoder(rows.y), rows.weight)


def bytes_on_device(rows: Rows) -> int:
    """Return about how many bytes of a device sums over these rows need: X, X without missing values, some blocks."""
    n_rows, n_columns = rows.X.shape
    return n_columns * (2 * n_rows * host_dtype(rows.X).itemsize + 3 * 8 * min(n_rows, DEVICE_BLOCK_ROWS))


def all_members(block: RowBlock) -> Members:
    """Return all rows of a block."""
    return Members(np.arange(block.X.shape[0]), block.count)


def totals(block: RowBlock) -> tuple[int, float, np.ndarray, np.ndarray]:
    """Return the number of rows, their weight, and the weighted sums of features and targets."""
    X, targets, count = block.X, block.targets, block.count
    sums = _products(X, np.arange(len(count)), np.zeros(X.shape[1]), count[:, None])[0]
    return len(count), count.sum(), sums, count @ targets


def present_totals(block: RowBlock) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each feature, the weight of the rows that have a value, and the weighted sum of the values."""
    if is_device_array(block.X):
        return moments_arrays.present_totals(block.X, block.count)
    missing = np.isnan(block.X)
    return block.count @ ~missing, block.count @ np.where(missing, 0.0, block.X)


def filled(block: RowBlock, fill: np.ndarray) -> RowBlock:
    """Return a copy of a block in which `fill` replaces NaN."""
    xp = namespace_of(block.X)
    fill = like(fill, block.X)
    return replace(block, X=xp.where(xp.isnan(block.X), fill, cast(block.X, fill.dtype)))


def sums_by_passes(block: RowBlock, members: Members, origin: PerColumn) -> Sums:
    """Return the sums over the rows at a node."""
    targets = block.targets[members.rows] - origin.targets
    factors = members.weight[:, None] * np.column_stack([np.ones(len(targets)), targets])
    sums = _products(block.X, members.rows, origin.features, factors)
    return Sums(
        members.weight.sum(),
        sums[0],
        _squares(block.X, members.rows, origin.features, members.weight),
        sums[1:].T,
        members.weight @ targets,
        members.weight @ targets**2,
    )


def gram_columns(block: RowBlock, members: Members, origin: PerColumn, features: list[int]) -> np.ndarray:
    """Return Σ w (x - o) (x_f - o_f) for some features f, of shape (len(features), n_features)."""
    if is_device_array(block.X):
        return moments_arrays.gram_columns(block.X, members.rows, origin.features, members.weight, features)
    factors = members.weight[:, None] * (block.X[members.rows[:, None], features] - origin.features[features])
    return _products(block.X, members.rows, origin.features, factors)


def full_product(block: RowBlock, members: Members, origin: PerColumn) -> np.ndarray:
    """Return Σ w z z' for z = (x - o, 1, y - o)."""
    X, rows, d = block.X, members.rows, block.X.shape[1]
    width = d + 1 + block.targets.shape[1]
    scale = np.sqrt(members.weight)
    if is_device_array(X):
        others = scale[:, None] * np.column_stack([np.ones(len(rows)), block.targets[rows] - origin.targets])
        return moments_arrays.full_product(X, rows, origin.features, scale, others)
    gram = np.zeros((width, width))
    buffer = np.empty((min(BLOCK_ROWS, len(rows)), width))
    for first in range(0, len(rows), BLOCK_ROWS):
        part = slice(first, first + BLOCK_ROWS)
        chosen, z = rows[part], buffer[: len(rows) - first]
        _gather(X, chosen, origin.features, scale[part], z)
        z[:, d] = scale[part]
        z[:, d + 1 :] = scale[part, None] * (block.targets[chosen] - origin.targets)
        gram += z.T @ z  # NumPy recognises the symmetric product and computes only half of it
    return gram


def weighted_rows(block: RowBlock, members: Members, origin: PerColumn) -> tuple[np.ndarray, np.ndarray]:
    """Return √w (x - o) and √w (y - o) of the rows at a node."""
    scale, rows = np.sqrt(members.weight)[:, None], members.rows
    return scale * (block.X[rows] - origin.features), scale * (block.targets[rows] - origin.targets)


def ranges(block: RowBlock, members: Members, features: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the smallest and the largest value of some features and targets, (2, n), or an empty range of no rows."""
    columns = [to_host(block.X[:, int(f)]) for f in features] + [block.targets[:, t] for t in targets]
    found = np.array([[np.inf], [-np.inf]]).repeat(len(columns), axis=1)
    if len(members.rows):
        for column, line in zip(columns, found.T, strict=True):
            values = column[members.rows]
            line[:] = values.min(), values.max()
    return found


def n_members(block: RowBlock, members: Members) -> int:
    """Return the number of rows at a node."""
    return len(members.rows)


def rows_at(
    block: RowBlock, members: Members, positions: np.ndarray, features: list[int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return some features of some members, their targets, weights, and probabilities of being at the node."""
    rows, weight = members.rows[positions], members.weight[positions]
    return (
        to_host(part_of(block.X, rows, np.array(features, dtype=int))).astype(float),
        block.targets[rows],
        weight,
        weight / block.count[rows],
    )


def _gather(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, scale: np.ndarray, out: np.ndarray) -> None:
    """Write scale * (X[rows] - shift) into the first columns of `out`."""
    over_rows(lambda first, last: gather(X, rows, shift, scale, first, last, out), len(rows))


def _products(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Return factors' (X[rows] - shift), of shape (n_factors, n_features)."""
    if is_device_array(X):
        return moments_arrays.products(X, rows, shift, factors)
    return _sum_over_threads(products, X, rows, shift, factors, (factors.shape[1], X.shape[1]))


def _squares(X: np.ndarray, rows: np.ndarray, shift: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted sums of (X[rows] - shift)**2 over the rows."""
    if is_device_array(X):
        return moments_arrays.squares(X, rows, shift, weight)
    return _sum_over_threads(squares, X, rows, shift, weight, (X.shape[1],))


def _sum_over_threads(
    kernel: Any, X: np.ndarray, rows: np.ndarray, shift: np.ndarray, factors: np.ndarray, shape: tuple[int, ...]
) -> np.ndarray:
    """Run a kernel that adds to its output on the rows of each thread, each with its own output; return the sum."""

    def work(first: int, last: int) -> np.ndarray:
        out = np.zeros(shape)
        kernel(X, rows, shift, factors, first, last, out)
        return out

    return sum(over_rows(work, len(rows)), np.zeros(shape))
