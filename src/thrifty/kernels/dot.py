"""Dot product that is vectorised and always adds in the same order.

A plain loop cannot be both. Strict IEEE order does not allow vector instructions. With fastmath the compiler chooses
the order, which may differ between a kernel for batches and one for single rows. Therefore the vectors of eight lanes
are written out in LLVM code:

    1. lane k adds the products k, k + 8, k + 16, ...
    2. the lanes are added in pairs
    3. the remaining products (fewer than 8) are added one by one
"""

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8


@njit(cache=True, nogil=True)
def dot(values, weights):
    """Return the sum of values[j] * weights[j] over the length of `weights`; `values` may be longer."""
    n_in_lanes = weights.size // LANES * LANES
    total: float = dot_in_lanes(values, weights, n_in_lanes)  # type: ignore[call-arg]
    for j in range(n_in_lanes, weights.size):
        total += values[j] * weights[j]
    return total


@intrinsic
def dot_in_lanes(typing_context: Any, values: Any, weights: Any, size: Any) -> Any:
    """Return the sum of the first `size` products of two contiguous float64 arrays; size is a multiple of LANES."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, index = ir.VectorType(ir.DoubleType(), LANES), context.get_value_type(types.intp)
        pointers = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:2], arguments[:2], strict=True)
        ]
        lanes = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        with cgutils.for_range_slice(builder, index(0), arguments[2], index(LANES), index) as (j, _):
            v, w = (_load(builder, pointer, j, vector) for pointer in pointers)
            builder.store(builder.fadd(builder.load(lanes), builder.fmul(v, w)), lanes)
        return _add_in_pairs(builder, builder.load(lanes))

    return types.float64(values, weights, types.intp), generate


def _load(builder: Any, pointer: Any, j: Any, vector: Any) -> Any:
    """Generate a load of LANES numbers that start at position j."""
    return builder.load(builder.bitcast(builder.gep(pointer, [j]), vector.as_pointer()), align=8)


def _add_in_pairs(builder: Any, lanes: Any) -> Any:
    """Generate the sum of the lanes: ((0 + 1) + (2 + 3)) + ((4 + 5) + (6 + 7))."""
    sums = [builder.extract_element(lanes, ir.IntType(32)(k)) for k in range(LANES)]
    while len(sums) > 1:
        sums = [builder.fadd(sums[k], sums[k + 1]) for k in range(0, len(sums), 2)]
    return sums[0]
