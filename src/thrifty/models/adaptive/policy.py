"""The fitted policy: what rows know, what they buy next, and when they stop."""

import math
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from thrifty.kernels.adaptive.forests import add_leaves, groups_above_nodes
from thrifty.kernels.adaptive.memory import as_memory, place_in
from thrifty.kernels.adaptive.simulation import start_row
from thrifty.kernels.adaptive.structures import EVERYTHING, NODE, NOTHING, PackedForest, Policy, Stops
from thrifty.models.factors import Factors
from thrifty.models.forests.forest import Forest
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.soundness import require
from thrifty.stored import Array, Flag, Structure, stored


@stored(
    forest=Structure(Forest),
    phase_start=Array("int64", "n_starts", low=0),
    phase_base=Array("float64", "n_phases", "n_scores", finite=True),
    last_count=Array("int64", "n_phases", low=0),
    centre=Array("float64", "n_columns", finite=True),
    width=Array("float64", "n_columns", low=0, finite=True),
    slope=Array("float64", "n_phases", "n_columns", "n_scores", finite=True),
    offset=Array("float64", "n_phases", "n_columns", "n_scores", finite=True),
)
class MaskedPredictor(Rebuilt):
    """Scores of masked rows, in which NaN is what a row has not bought.

    Rows with few groups and rows with many groups are predicted by different trees: they are in different phases. The
    scores of a phase are the sum of a constant, of linear terms, if boosting started from a linear model, and of trees.

    Parameters
    ----------
    forest : Forest
        The trees of all phases, one phase after another. A leaf has a value for each score.
    phase_start : ndarray of int, shape (n_phases + 1,)
        The trees of a phase are ``phase_start[phase]`` to ``phase_start[phase + 1]``.
    phase_base : ndarray of shape (n_phases, n_scores)
        What the scores of a phase start from.
    last_count : ndarray of int, shape (n_phases,)
        The largest number of groups that a row has in each phase; the last phase has no limit.
    centre, width : ndarray of shape (n_columns,)
        A bought value x that is finite adds ``offset + slope * z`` with ``z = (x - centre) / width``, limited to -3..3.
    slope, offset : ndarray of shape (n_phases, n_columns, n_scores)
        The coefficients of each phase; 0 if boosting started from a constant.
    """

    _made_of = ("forest", "phase_start", "phase_base", "last_count", "centre", "width", "slope", "offset")

    def __init__(
        self,
        forest: Forest,
        phase_start: np.ndarray,
        phase_base: np.ndarray,
        last_count: np.ndarray,
        centre: np.ndarray,
        width: np.ndarray,
        slope: np.ndarray,
        offset: np.ndarray,
    ):
        self.forest, self.phase_start, self.phase_base = forest, phase_start, phase_base
        self.last_count = last_count
        self.centre, self.width, self.slope, self.offset = centre, width, slope, offset
        rising = phase_start[0] == 0 and phase_start[-1] == forest.n_trees and (np.diff(phase_start) > 0).all()
        require(bool(rising) and len(phase_start) == len(phase_base) + 1, "its phases are not in order")
        require(bool((np.diff(last_count) > 0).all()), "its phases are not in order")
        require(forest.value.shape[1] == phase_base.shape[1], "its predictor has leaves of other scores")
        require(len(forest.base) == phase_base.shape[1] > 0, "its predictor has other scores")
        shape = (len(phase_base), forest.n_features, phase_base.shape[1])
        require(slope.shape == offset.shape == shape, "its linear terms are of other columns or scores")
        require(centre.shape == width.shape == shape[1:2], "its linear terms are of other columns")
        require(bool((width > 0).all()), "its linear terms have a width of 0")

    @property
    def n_scores(self) -> int:
        """The number of scores of a row."""
        return self.phase_base.shape[1]

    @property
    def is_linear(self) -> np.ndarray:
        """Whether each phase has linear terms, (n_phases,)."""
        coefficients = np.concatenate([self.slope, self.offset], axis=1)
        return np.array([each.any() for each in coefficients])


class RowStart(NamedTuple):
    """The state of a row for which free groups are planned.

    Attributes
    ----------
    memory : ndarray of uint8
        The state, in a block of memory; see `thrifty.kernels.adaptive.memory`.
    n_planned : int
        How many groups are planned.
    plan, scores : slice
        The bytes of the planned groups (int64), and of the scores (float64).
    """

    memory: np.ndarray
    n_planned: int
    plan: slice
    scores: slice


@stored(
    factors=Structure(Factors),
    predictor=Structure(MaskedPredictor),
    gains=Structure(Forest),
    candidates=Array("int64", "n_candidates", low=0),
    first=Array("int64", "n_first", low=0),
    order=Array("int64", "n_groups", low=0),
    n_at_stage=Array("int64", "n_stages", low=1),
    fill=Array("float64", "n_columns"),
    is_regression=Flag(),
)
class PurchasePolicy(Rebuilt):
    """What a row is predicted from, and what it buys next. Columns are sorted by group.

    Parameters
    ----------
    factors : Factors
        The groups of columns that are bought together.
    predictor : MaskedPredictor
        Scores of masked rows.
    gains : Forest
        The expected decrease of the loss by each candidate, and by the default group (last).
    candidates : ndarray of int
        The groups that may be bought out of the default order.
    first : ndarray of int
        The groups that every row buys first.
    order : ndarray of int, shape (n_groups,)
        The default order.
    n_at_stage : ndarray of int, shape (n_stages,)
        How many groups a row buys at each stage.
    fill : ndarray of shape (n_columns,)
        What NaN in a bought column stands for; NaN: as if the column were not bought.
    is_regression : bool
        Whether the score is a number to predict; otherwise it is log-odds.
    """

    _made_of = (
        *("factors", "predictor", "gains", "candidates", "first", "order", "n_at_stage"),
        *("fill", "is_regression"),
    )

    def __init__(
        self,
        factors: Factors,
        predictor: MaskedPredictor,
        gains: Forest,
        candidates: np.ndarray,
        first: np.ndarray,
        order: np.ndarray,
        n_at_stage: np.ndarray,
        fill: np.ndarray,
        is_regression: bool,
    ):
        self.factors, self.predictor, self.gains = factors, predictor, gains
        self.candidates, self.first, self.order, self.n_at_stage = candidates, first, order, n_at_stage
        self.fill, self.is_regression = fill, is_regression
        self._refuse_unsound()

    def _refuse_unsound(self) -> None:
        """Raise ValueError unless all indices are valid, because kernels follow them unchecked."""
        n_groups, n_columns = len(self.factors), self.factors.cost_model.n_features
        for groups in (self.candidates, self.first):
            require(not groups.size or groups.max() < n_groups, "its policy names a group that does not exist")
        require(sorted(self.order.tolist()) == list(range(n_groups)), "its default order does not list all groups")
        require(len(self.fill) == n_columns and not self.factors.flagged, "its policy has other columns")
        require(self.predictor.forest.n_features == n_columns, "its predictor has other columns")
        require(self.gains.n_features == n_columns + self.n_described - 2, "its gains are of other states")
        require(self.gains.value.shape[1] == len(self.candidates) + 1, "its gains are of other groups")
        require(len(self.gains.base) == len(self.candidates) + 1, "its gains are of other groups")
        free = n_groups - int((self.order_prices > 0).sum())
        require(int(self.n_at_stage.sum()) <= n_groups - free or n_groups == free, "it has too many stages")

    @property
    def n_scores(self) -> int:
        """The number of scores of a row."""
        return self.predictor.n_scores

    @property
    def n_described(self) -> int:
        """The number of features that describe a state, behind the columns."""
        n_belief = 1 if self.is_regression else 2 if self.n_scores == 1 else self.n_scores + 1
        return n_belief + 4

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return len(self.n_at_stage)

    @property
    def order_prices(self) -> np.ndarray:
        """What each group costs a row that has bought nothing."""
        return group_prices(self.factors)

    @cached_property
    def arrays(self) -> Policy:
        """The policy as the kernels read it, for rows whose columns have the order of X."""
        unit_start, units = required_units(self.factors)
        ticks = self.factors.cost_model._units.ticks
        tree_start, trees = self._trees_of_groups()
        predictor = packed(self.predictor.forest)
        group_of = np.repeat(np.arange(len(self.factors)), np.diff(self.factors.starts))
        return Policy(
            predictor=predictor,
            phase_start=self.predictor.phase_start.astype(np.int64),
            phase_base=np.ascontiguousarray(self.predictor.phase_base),
            last_count=self.predictor.last_count.astype(np.float64),
            centre=self.predictor.centre.astype(np.float64),
            width=self.predictor.width.astype(np.float64),
            slope=np.ascontiguousarray(self.predictor.slope),
            offset=np.ascontiguousarray(self.predictor.offset),
            is_linear=self.predictor.is_linear.astype(np.uint8),
            gains=packed(self.gains),
            tree_start=tree_start,
            trees=trees,
            groups_above=groups_above_nodes(predictor.nodes, predictor.root, group_of),
            column_start=self.factors.starts.astype(np.int64),
            source=self.factors.columns,
            unit_start=unit_start,
            units=units,
            unit_ticks=ticks.astype(np.float64),
            shares_units=bool(np.bincount(units).max(initial=0) > 1),
            fill=self.fill.astype(np.float64),
            first=self.first.astype(np.int64),
            order=self.order.astype(np.int64),
            candidates=self.candidates.astype(np.int64),
            n_at_stage=self.n_at_stage.astype(np.int64),
            scale=float(self.factors.cost_model._units.scale),
            total=float(max(ticks.sum(), 1.0)),
            is_regression=bool(self.is_regression),
        )

    @cached_property
    def memory(self) -> np.ndarray:
        """The arrays in one block."""
        return as_memory(self.arrays)

    @cached_property
    def start(self) -> RowStart:
        """What every row starts with."""
        state, n_planned = start_row(self.arrays)
        memory = as_memory(state)
        return RowStart(memory, n_planned, place_in(memory, state, "plan"), place_in(memory, state, "scores"))

    @property
    def training_arrays(self) -> Policy:
        """The policy as the kernels read it, for rows whose columns are sorted by group."""
        return self.arrays._replace(source=np.arange(len(self.fill)))

    def _trees_of_groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the trees that read a column of each group, by phase: where each list starts, and all lists."""
        reads = np.add.reduceat(self.predictor.forest.tree_reads, self.factors.starts[:-1], axis=1) > 0
        starts: list[np.ndarray] = []
        trees: list[np.ndarray] = []
        for first, last in pairwise(self.predictor.phase_start.tolist()):
            lists = [first + np.flatnonzero(each) for each in reads[first:last].T]
            starts.append(sum(len(each) for each in trees) + np.cumsum([0, *map(len, lists)]))
            trees += lists
        return np.array(starts, dtype=np.int64), np.concatenate(trees).astype(np.int64)


@stored(
    forest=Structure(Forest),
    stage_start=Array("int64", "n_starts", low=0),
    stage_base=Array("float64", "n_stages", "n_weights", finite=True),
    cost_weights=Array("float64", "n_weights", low=0, finite=True),
)
class StoppingRule(Rebuilt):
    """The expected advantage of going on over answering now, for each stage and several cost weights.

    Parameters
    ----------
    forest : Forest
        The trees of all stages; a leaf has one value per cost weight.
    stage_start : ndarray of int, shape (n_stages + 1,)
        The trees of stage t are ``stage_start[t]`` to ``stage_start[t + 1]``.
    stage_base : ndarray of shape (n_stages, n_weights)
        What the trees of each stage start from.
    cost_weights : ndarray of shape (n_weights,)
        In descending order; the last one is 0.
    """

    _made_of = ("forest", "stage_start", "stage_base", "cost_weights")

    def __init__(self, forest: Forest, stage_start: np.ndarray, stage_base: np.ndarray, cost_weights: np.ndarray):
        self.forest, self.stage_start, self.stage_base = forest, stage_start, stage_base
        self.cost_weights = cost_weights
        rising = (np.diff(stage_start) >= 0).all() and stage_start[0] == 0 and stage_start[-1] <= forest.n_trees
        require(bool(rising) and len(stage_start) == len(stage_base) + 1, "its stages of stopping are not in order")
        require(forest.value.shape[1] == len(cost_weights) > 1, "its stopping rules are of other cost weights")
        require(bool((np.diff(cost_weights) < 0).all()) and cost_weights[-1] == 0, "its cost weights do not descend")

    @cached_property
    def arrays(self) -> Stops:
        """The rule as the kernels read it."""
        return Stops(packed(self.forest), self.stage_start.astype(np.int64), np.ascontiguousarray(self.stage_base))

    @cached_property
    def memory(self) -> np.ndarray:
        """The arrays in one block."""
        return as_memory(self.arrays)

    def advantage(self, stage: int, values: np.ndarray) -> np.ndarray:
        """Return the advantage of going on (n, n_weights) in states before a stage, given their values."""
        first, last = self.stage_start[stage : stage + 2]
        trees = self.arrays.forest
        out, values = np.tile(self.stage_base[stage], (len(values), 1)), np.ascontiguousarray(values)
        add_leaves(trees._replace(root=trees.root[first:last]), values, 0, len(values), out)
        return out

    def position(self, cost_weight: float) -> tuple[int, float]:
        """Return between which two cost weights one lies; see `position_among`."""
        return position_among(self.cost_weights, cost_weight)


def position_among(weights: np.ndarray, cost_weight: float) -> tuple[int, float]:
    """Return between which two of descending cost weights one lies: the first column, and the share of the second.

    Between two positive cost weights a and b the share of w is (log a - log w) / (log a - log b); between a and 0 it
    is (a - w) / a. The column is NOTHING if the cost weight is larger than all. At a cost weight of 0 the share is
    EVERYTHING.
    """
    if cost_weight > weights[0]:
        return NOTHING, 0.0
    if cost_weight == 0:
        return len(weights) - 2, EVERYTHING
    column = min(int(np.count_nonzero(weights >= cost_weight)), len(weights) - 1) - 1
    high, low = weights[column].item(), weights[column + 1].item()
    if low > 0:
        return column, math.log(high / cost_weight) / math.log(high / low)
    return column, (high - cost_weight) / high


def packed(forest: Forest) -> PackedForest:
    """Return a forest as the kernels of single rows read it."""
    arrays = forest.arrays
    nodes = np.zeros(len(arrays.feature), dtype=NODE)
    for name in NODE.names or ():
        nodes[name] = getattr(arrays, name)
    return PackedForest(nodes, arrays.category_words, arrays.value, arrays.root, arrays.base, arrays.score_of)


def required_units(factors: Factors) -> tuple[np.ndarray, np.ndarray]:
    """Return the units that each group requires: where each list starts, and all lists."""
    requirement = factors.requirement
    return requirement.indptr.astype(np.int64), requirement.indices.astype(np.int64)


def group_prices(factors: Factors) -> np.ndarray:
    """Return what each group costs a row that has bought nothing, (n_groups,)."""
    units = factors.cost_model._units
    return factors.requirement @ units.ticks / units.scale
