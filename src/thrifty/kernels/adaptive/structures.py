"""What decides the purchases of a row, and what is known about a row, as arrays."""

from functools import partial
from typing import NamedTuple

import numpy as np
from numba import njit

NOTHING, UNAFFORDABLE = -1, -2  # instead of a group; NOTHING also instead of a column of cost weights
EVERYTHING = 2.0  # instead of a share, which is at most 1
NODE = np.dtype(
    [
        ("threshold", np.float64),
        ("feature", np.uint32),
        ("left", np.uint32),  # a leaf is its own child
        ("right", np.uint32),
        ("category_set", np.uint32),  # start in `words` of the codes that go left; 0: numeric split
        ("missing_right", np.uint64),
    ]
)

# Numba counts the references to an array whenever a function reads it from a tuple, which would take most of the time
# here. Functions that neither create nor return arrays do without: whoever calls them holds the arrays.
borrowing = partial(njit, cache=True, nogil=True, _nrt=False)


class PackedForest(NamedTuple):
    """A forest whose nodes are records, because a row that goes down a tree reads all fields of a node together."""

    nodes: np.ndarray  # (m,) of NODE
    words: np.ndarray  # uint64, category sets; see `thrifty.kernels.forest`
    value: np.ndarray  # (m, k)
    root: np.ndarray  # (t,) uint32
    base: np.ndarray  # (s,)
    score_of: np.ndarray  # (t, k) uint32


class Policy(NamedTuple):
    """What decides the purchases of a row, as arrays."""

    predictor: PackedForest  # reads masked columns; its trees are those of phase 0, then those of phase 1, ...
    phase_start: np.ndarray  # (n_phases + 1,) the trees of a phase are phase_start[phase] : phase_start[phase + 1]
    phase_base: np.ndarray  # (n_phases, s) what the scores of a phase start from
    last_count: np.ndarray  # (n_phases,) the largest number of groups that a row has in a phase
    centre: np.ndarray  # (d,) a bought value x that is finite adds
    width: np.ndarray  # (d,) offset + slope * (x - centre) / width
    slope: np.ndarray  # (n_phases, d, s) to the scores of a phase;
    offset: np.ndarray  # (n_phases, d, s) (x - centre) / width is limited to -LIMIT..LIMIT
    is_linear: np.ndarray  # (n_phases,) uint8, whether a phase has slopes and offsets
    gains: PackedForest  # expected decrease of the loss by each candidate, and (last) by the default group
    tree_start: np.ndarray  # (n_phases, G + 1) the trees of a phase that read columns of group g are
    trees: np.ndarray  # trees[tree_start[phase, g] : tree_start[phase, g + 1]]
    groups_above: np.ndarray  # (m,) uint64, bit g % 64 is 1 if a node above splits on a column of group g
    column_start: np.ndarray  # (G + 1,) the columns of group g are column_start[g] : column_start[g + 1]
    source: np.ndarray  # (d,) the column of X that each column is read from
    unit_start: np.ndarray  # (G + 1,) the units that group g requires are
    units: np.ndarray  # units[unit_start[g] : unit_start[g + 1]]
    unit_ticks: np.ndarray  # (n_units,) cost of each unit in ticks
    shares_units: bool  # whether two groups require the same unit, so that a purchase can make another group free
    fill: np.ndarray  # (d,) what NaN in a bought column stands for; NaN: as if it were not bought
    first: np.ndarray  # groups that every row buys first, in this order
    order: np.ndarray  # (G,) default order of the groups
    candidates: np.ndarray  # (C,)
    n_at_stage: np.ndarray  # (S,) how many groups a row buys at each stage
    scale: float  # ticks in a cost of 1
    total: float  # ticks of everything
    is_regression: bool


class State(NamedTuple):
    """What is known about one row."""

    values: np.ndarray  # (d + b + 4,)
    bought: np.ndarray  # (G,) uint8
    paid: np.ndarray  # (n_units,) uint8
    leaf: np.ndarray  # (t,) uint32, the leaf of each tree of the predictor
    scores: np.ndarray  # (s,)
    gains: np.ndarray  # (C + 1,)
    counts: np.ndarray  # ticks spent, groups bought, stage, phase
    plan: np.ndarray  # (G,) the groups that the present stage buys


class Stops(NamedTuple):
    """Expected advantage of going on over answering now, for each stage and several cost weights, as arrays."""

    forest: PackedForest  # the value of a leaf has an entry for each cost weight
    stage_start: np.ndarray  # (S + 1,) the trees of stage t are stage_start[t] : stage_start[t + 1]
    stage_base: np.ndarray  # (S, n_weights) what the trees of a stage start from


@njit(cache=True, nogil=True)
def new_state(policy):
    """Return the arrays of a state; `begin` fills them."""
    n_groups = policy.order.size
    return State(
        np.empty(policy.fill.size + n_described(policy)),
        np.empty(n_groups, np.uint8),
        np.empty(policy.unit_ticks.size, np.uint8),
        np.empty(policy.predictor.root.size, np.uint32),
        np.empty(policy.phase_base.shape[1]),
        np.empty(policy.candidates.size + 1),
        np.empty(4),
        np.empty(n_groups, np.int64),
    )


@njit(cache=True, nogil=True)
def n_described(policy):
    """Return the number of features of a state behind its columns."""
    if policy.is_regression:
        return 5
    n_scores = policy.phase_base.shape[1]
    return 6 if n_scores == 1 else n_scores + 5
