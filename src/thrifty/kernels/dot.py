"""A dot product that is both vectorised and always summed in the same order.

Plain loops are one or the other: strict IEEE order forbids the compiler to use vector registers, and fastmath lets it
choose an order that may differ between a kernel for batches and one for a single row. So the eight lanes are spelled
out as vectors: lane k sums the products k, k + 8, k + 16, ..., the lanes are added in pairs, the rest one by one.
"""

from typing import Any

from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8


@njit(cache=True, nogil=True)
def dot(held, weights):
    """Sum held * weights over the length of the weights."""
    whole = weights.size // LANES * LANES
    total: float = dot_in_lanes(held, weights, whole)  # type: ignore[call-arg]
    for j in range(whole, weights.size):
        total += held[j] * weights[j]
    return total


@intrinsic
def dot_in_lanes(typing_context: Any, held: Any, weights: Any, size: Any) -> Any:
    """Sum the first `size` products, a multiple of LANES, of two contiguous float64 arrays."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector, index = ir.VectorType(ir.DoubleType(), LANES), context.get_value_type(types.intp)
        starts = [
            context.make_array(kind)(context, builder, array).data
            for kind, array in zip(signature.args[:2], arguments[:2], strict=True)
        ]
        lanes = cgutils.alloca_once_value(builder, ir.Constant(vector, [0.0] * LANES))
        with cgutils.for_range_slice(builder, index(0), arguments[2], index(LANES), index) as (j, _):
            h, w = (_load(builder, start, j, vector) for start in starts)
            builder.store(builder.fadd(builder.load(lanes), builder.fmul(h, w)), lanes)
        return _add_in_pairs(builder, builder.load(lanes))

    return types.float64(held, weights, types.intp), generate


def _load(builder: Any, start: Any, j: Any, vector: Any) -> Any:
    return builder.load(builder.bitcast(builder.gep(start, [j]), vector.as_pointer()), align=8)


def _add_in_pairs(builder: Any, lanes: Any) -> Any:
    sums = [builder.extract_element(lanes, ir.IntType(32)(k)) for k in range(LANES)]
    while len(sums) > 1:
        sums = [builder.fadd(sums[k], sums[k + 1]) for k in range(0, len(sums), 2)]
    return sums[0]
