"""The arrays of a policy, of its stops and of a state, each in one block of memory.

Python takes longer to pass the arrays of a policy to a kernel one by one than the kernel takes for a step. So they are
copied into one array of bytes. It begins with a table, which has five whole numbers for each of them: the positions of
its first byte and behind its last one, and its length along three axes.
"""

import numpy as np

from thrifty.kernels.adaptive.structures import NODE, PackedForest, Policy, State, Stops, borrowing

ALIGNMENT = 64  # bytes


def as_memory(parts: tuple) -> np.ndarray:
    """Copy the arrays and numbers of a tuple, and of the tuples in it, into one array of bytes."""
    arrays = [np.ascontiguousarray(each) for each in _flat(parts)]
    starts = np.cumsum([_padded(40 * len(arrays)), *(_padded(each.nbytes) for each in arrays)])
    memory = np.zeros(int(starts[-1]), dtype=np.uint8)
    table = memory[: 40 * len(arrays)].view(np.int64).reshape(-1, 5)
    for line, array, start in zip(table, arrays, starts.tolist(), strict=False):
        line[:] = start, start + array.nbytes, *(*array.shape, 1, 1, 1)[:3]
        memory[start : start + array.nbytes] = array.reshape(-1).view(np.uint8)
    return memory


def place_in(memory: np.ndarray, parts: tuple, name: str) -> slice:
    """Return where the bytes of an array are in memory, given the tuple of arrays and the name of the array."""
    at = parts._fields.index(name)  # type: ignore[attr-defined]
    return slice(*memory[40 * at : 40 * at + 16].view(np.int64).tolist())


def _flat(parts: tuple) -> list:
    return [leaf for each in parts for leaf in (_flat(each) if isinstance(each, tuple) else [each])]


def _padded(n_bytes: int) -> int:
    return -(-n_bytes // ALIGNMENT) * ALIGNMENT


@borrowing(inline="always")
def length(memory, k, axis):
    """Return the length of array k along an axis."""
    return memory.view(np.int64)[5 * k + 2 + axis]


@borrowing(inline="always")
def content(memory, k):
    """Return the bytes of array k."""
    table = memory.view(np.int64)
    return memory[table[5 * k] : table[5 * k + 1]]


@borrowing(inline="always")
def floats(memory, k):
    """Return array k of floats."""
    return content(memory, k).view(np.float64)


@borrowing(inline="always")
def float_table(memory, k):
    """Return array k of floats with two axes."""
    return floats(memory, k).reshape((length(memory, k, 0), length(memory, k, 1)))


@borrowing(inline="always")
def float_cube(memory, k):
    """Return array k of floats with three axes."""
    return floats(memory, k).reshape((length(memory, k, 0), length(memory, k, 1), length(memory, k, 2)))


@borrowing(inline="always")
def ints(memory, k):
    """Return array k of whole numbers."""
    return content(memory, k).view(np.int64)


@borrowing(inline="always")
def int_table(memory, k):
    """Return array k of whole numbers with two axes."""
    return ints(memory, k).reshape((length(memory, k, 0), length(memory, k, 1)))


@borrowing(inline="always")
def forest_in(memory, k):
    """Return the forest that begins with array k."""
    score_of = content(memory, k + 5).view(np.uint32)
    return PackedForest(
        nodes=content(memory, k).view(NODE),
        words=content(memory, k + 1).view(np.uint64),
        value=float_table(memory, k + 2),
        root=content(memory, k + 3).view(np.uint32),
        base=floats(memory, k + 4),
        score_of=score_of.reshape((length(memory, k + 5, 0), length(memory, k + 5, 1))),
    )


@borrowing(inline="always")
def policy_in(memory):
    """Return the policy in a block of memory."""
    return Policy(
        predictor=forest_in(memory, 0),
        phase_start=ints(memory, 6),
        phase_base=float_table(memory, 7),
        last_count=floats(memory, 8),
        centre=floats(memory, 9),
        width=floats(memory, 10),
        slope=float_cube(memory, 11),
        offset=float_cube(memory, 12),
        is_linear=content(memory, 13),
        gains=forest_in(memory, 14),
        tree_start=int_table(memory, 20),
        trees=ints(memory, 21),
        groups_above=content(memory, 22).view(np.uint64),
        column_start=ints(memory, 23),
        source=ints(memory, 24),
        unit_start=ints(memory, 25),
        units=ints(memory, 26),
        unit_ticks=floats(memory, 27),
        shares_units=content(memory, 28)[0] != 0,
        fill=floats(memory, 29),
        first=ints(memory, 30),
        order=ints(memory, 31),
        candidates=ints(memory, 32),
        n_at_stage=ints(memory, 33),
        scale=floats(memory, 34)[0],
        total=floats(memory, 35)[0],
        is_regression=content(memory, 36)[0] != 0,
    )


@borrowing(inline="always")
def stops_in(memory):
    """Return the stops in a block of memory."""
    return Stops(forest=forest_in(memory, 0), stage_start=ints(memory, 6), stage_base=float_table(memory, 7))


@borrowing(inline="always")
def state_in(memory):
    """Return the state in a block of memory."""
    return State(
        values=floats(memory, 0),
        bought=content(memory, 1),
        paid=content(memory, 2),
        leaf=content(memory, 3).view(np.uint32),
        scores=floats(memory, 4),
        gains=floats(memory, 5),
        counts=floats(memory, 6),
        plan=ints(memory, 7),
    )
