"""Sums of terms: kernel values of rows with the vectors of terms, and the partial scores of a stopping rule.

A row must get exactly the same result alone and in a batch. A matrix product of BLAS does not guarantee this. Therefore
the products are written out in LLVM code, as in `thrifty.kernels.dot`: lane k adds the products k, k + LANES, ..., and
the lanes are added in pairs. Rows and terms are processed in tiles of a few rows and a few terms, so that their sums
stay in registers. A tile of one row and one term does the same arithmetic. Vectors are padded with zeros to a multiple
of LANES.

    X      (n, width)  padded rows of a block
    rows   (a,)        rows of the block that are still active
    T      (m, width)  padded vectors of the terms
    held   (n, t)      term values of the rows of the block, in the order of the terms
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from thrifty.kernels.dot import LANES, _add_in_pairs, _load, dot

LINEAR, POLY, RBF, SIGMOID = range(4)
TILE = 4  # rows and terms of a tile, which needs 16 vectors of sums
BLOCK_TERMS = 64  # terms of a block; their vectors stay in cache during the loop over the rows


def padded(vectors: np.ndarray) -> np.ndarray:
    """Return a float64 copy of vectors (n, d), padded with zeros to a width that is a multiple of LANES."""
    n, d = vectors.shape
    wide = np.zeros((n, -(-d // LANES) * LANES))
    wide[:, :d] = vectors
    return wide


@njit(cache=True, nogil=True)
def kernel_values(X, rows, T, squares, first, last, kind, gamma, coef0, degree, held):
    """Write the kernel values of the active rows with the terms first..last to these columns of `held`.

    LINEAR    x . t                              RBF       exp(-gamma * |x - t|^2)
    POLY      (gamma * x . t + coef0)^degree     SIGMOID   tanh(gamma * x . t + coef0)

    `squares` holds |t|^2 of each term.
    """
    _products(X, rows, T, first, last, held)
    for row in rows:
        line = held[row]
        square = dot(X[row], X[row]) if kind == RBF else 0.0
        for t in range(first, last):
            if kind == RBF:
                line[t] = math.exp(-gamma * max(square + squares[t] - 2.0 * line[t], 0.0))
            elif kind == POLY:
                line[t] = (gamma * line[t] + coef0) ** degree
            elif kind == SIGMOID:
                line[t] = math.tanh(gamma * line[t] + coef0)


@njit(cache=True, nogil=True)
def _products(X, rows, T, first, last, held):
    """Write the dot products of the active rows with the vectors of terms first..last."""
    whole_rows = rows.size - rows.size % TILE
    for start in range(first, last, BLOCK_TERMS):
        stop = min(start + BLOCK_TERMS, last)
        whole_terms = stop - (stop - start) % TILE
        for i in range(0, whole_rows, TILE):
            for t in range(start, whole_terms, TILE):
                _tile_many_many(X, rows, i, T, t, held)
            for t in range(whole_terms, stop):
                _tile_many_rows(X, rows, i, T, t, held)
        for i in range(whole_rows, rows.size):
            for t in range(start, whole_terms, TILE):
                _tile_many_terms(X, rows, i, T, t, held)
            for t in range(whole_terms, stop):
                _tile_single(X, rows, i, T, t, held)


@njit(cache=True, nogil=True)
def partial_scores(held, rows, start, stop, weights, carry, sums):
    """Write the weighted sums of terms start..stop of the active rows, with weights (k, stop - start).

    With `carry` they are added to the previous sums.
    """
    for row in rows:
        values = held[row, start:stop]
        for c in range(weights.shape[0]):
            partial = dot(values, weights[c])
            sums[row, c] = sums[row, c] + partial if carry else partial


@njit(cache=True, nogil=True)
def full_scores(held, rows, position, weights, intercept, sums):
    """Write the sums of all terms, added in the order of the original predictor.

    `position[t]` is the column of `held` with term t of the predictor.
    """
    for row in rows:
        for c in range(intercept.size):
            total = intercept[c]
            for t in range(position.size):
                total += weights[c, t] * held[row, position[t]]
            sums[row, c] = total


def _tile(n_rows: int, n_terms: int) -> Any:
    """Return an intrinsic that writes the products of n_rows active rows, from the i-th, and n_terms terms, from t."""

    @intrinsic
    def tile(typing_context: Any, X: Any, rows: Any, i: Any, T: Any, t: Any, held: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            index, vector = context.get_value_type(types.intp), ir.VectorType(ir.DoubleType(), LANES)
            x, active, terms, out = (
                context.make_array(signature.args[k])(context, builder, arguments[k]) for k in (0, 1, 3, 5)
            )
            width, held_width = (cgutils.unpack_tuple(builder, each.shape)[1] for each in (x, out))
            positions = [builder.add(arguments[2], index(a)) for a in range(n_rows)]
            row_numbers = [builder.load(builder.gep(active.data, [position])) for position in positions]
            columns = [builder.add(arguments[4], index(c)) for c in range(n_terms)]
            sums = _sums_of_products(
                builder,
                [builder.gep(x.data, [builder.mul(row, width)]) for row in row_numbers],
                [builder.gep(terms.data, [builder.mul(column, width)]) for column in columns],
                (width, index, vector),
            )
            for row, line in zip(row_numbers, sums, strict=True):
                start = builder.gep(out.data, [builder.mul(row, held_width)])
                for column, total in zip(columns, line, strict=True):
                    builder.store(_add_in_pairs(builder, builder.load(total)), builder.gep(start, [column]))
            return context.get_dummy_value()

        return types.void(X, rows, types.intp, T, types.intp, held), generate

    return tile


def _sums_of_products(builder: Any, x_lines: list[Any], t_lines: list[Any], sizes: Any) -> list[list[Any]]:
    """Generate the loop over the width of the vectors; return pointers to the vectors of sums."""
    width, index, vector = sizes
    zero = ir.Constant(vector, [0.0] * LANES)
    multiply_add = cgutils.get_or_insert_function(
        builder.module, ir.FunctionType(vector, [vector] * 3), f"llvm.fma.v{LANES}f64"
    )
    sums = [[cgutils.alloca_once(builder, vector) for _ in t_lines] for _ in x_lines]
    for total in (total for line in sums for total in line):
        builder.store(zero, total)
    with cgutils.for_range_slice(builder, index(0), width, index(LANES), index) as (j, _):
        terms = [_load(builder, start, j, vector) for start in t_lines]
        for line, start in zip(sums, x_lines, strict=True):
            x = _load(builder, start, j, vector)
            for total, t in zip(line, terms, strict=True):
                builder.store(builder.call(multiply_add, (x, t, builder.load(total))), total)
    return sums


_tile_many_many, _tile_many_rows, _tile_many_terms, _tile_single = (
    _tile(n_rows, n_terms) for n_rows in (TILE, 1) for n_terms in (TILE, 1)
)
