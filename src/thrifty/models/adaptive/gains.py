"""Expected gains: by how much the loss falls if a row buys one further group.

All columns of training rows are known. So the gain of every group is computed in every state, with a predictor that was
not fitted on the row, and regressed on the state. A group may be bought out of the default order only if that pays on
rows that its regression was not fitted on.
"""

from functools import partial
from typing import NamedTuple

import numpy as np

from thrifty.kernels.adaptive.forests import add_leaves
from thrifty.kernels.adaptive.simulation import gains_of_groups
from thrifty.kernels.adaptive.structures import Policy
from thrifty.kernels.threads import in_threads, over_rows
from thrifty.models.adaptive.boosted_outputs import Numbers
from thrifty.models.adaptive.boosting import Boosted, Plan, boost, constant_tree
from thrifty.models.adaptive.policy import packed
from thrifty.models.adaptive.simulation import n_described_of
from thrifty.models.adaptive.training_rows import NO_FOLD, States, TrainingRows, bins_of_states
from thrifty.models.forests.forest import Forest
from thrifty.models.growing.limits import Limits

PLAN = Plan(40, 0.25, Limits(None, 15, 60.0, 20.0), max_features=0.7)
SMALLEST_BLOCK = 32  # states of a thread
MIN_Z = 1.0  # standard errors by which buying a group instead of the default has to be better


class Gains(NamedTuple):
    """Regressions of gains: one for each fold, one on all rows, and the groups that they are of."""

    of_fold: list[Forest]
    of_all: Forest
    candidates: np.ndarray


def no_gains(rows: TrainingRows) -> Gains:
    """Return gains that let every row follow the default order."""
    n_features = rows.codes.n_features + n_described_of(rows) - 2
    forest = Boosted([constant_tree(1)], np.zeros(1), n_features, [], []).forest()
    return Gains([forest] * rows.n_folds, forest, np.empty(0, dtype=np.int64))


def fit_gains(
    rows: TrainingRows,
    policies: list[Policy],
    groups: np.ndarray,
    row: np.ndarray,
    bought: np.ndarray,
) -> tuple[Gains, np.ndarray]:
    """Regress the gains of groups on states, and find the groups that are worth buying out of order.

    Parameters
    ----------
    rows : TrainingRows
    policies : list of Policy
        One for each fold; their predictors compute the gains.
    groups : ndarray of int
        The groups to consider.
    row : ndarray of int, shape (n,)
        The row of each state.
    bought : ndarray of bool, shape (n, n_groups)

    Returns
    -------
    Gains
        Of all groups.
    ndarray of int
        The positions of the groups that are worth buying out of the default order.
    """
    gains, prices, described = gains_of_states(rows, policies, groups, row, bought)
    bins = bins_of_states(described, rows.random)
    states, weight, fold = States.of(rows, row, bought, described, bins), rows.weight[row], rows.fold[row]

    def fitted(own_fold: int, random: np.random.Generator) -> Forest:
        others = np.flatnonzero(fold != own_fold)
        return fit_states(states.take(others), gains[others], weight[others], PLAN, random).forest()

    folds, randoms = [*range(rows.n_folds), NO_FOLD], rows.random.spawn(rows.n_folds + 1)
    *forests, of_all = in_threads([partial(fitted, *each) for each in zip(folds, randoms, strict=True)])
    expected = np.empty_like(gains)
    for k, forest in enumerate(forests):
        held_out = np.flatnonzero(fold == k)
        expected[held_out] = _predicted(forest, rows, row[held_out], bought[held_out], described[held_out])
    return Gains(forests, of_all, groups), _worthwhile(gains, expected, prices)


def gains_of_states(
    rows: TrainingRows, policies: list[Policy], groups: np.ndarray, row: np.ndarray, bought: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the gains of groups in states and their prices (n, len(groups) + 1), and the description of states.

    The last column is that of the default group. Prices are in ticks.
    """
    shape, objective = (len(row), len(groups) + 1), rows.objective
    gains, prices, described = np.empty(shape), np.empty(shape), np.empty((len(row), n_described_of(rows)))
    for k, policy in enumerate(policies):
        members = np.flatnonzero(rows.fold[row] == k)
        parts = tuple(np.empty((len(members), each.shape[1])) for each in (gains, prices, described))
        own, has = row[members], np.ascontiguousarray(bought[members]).astype(np.uint8)
        fixed = (policy, groups, rows.X, own, has, rows.targets, objective.cost_matrix, objective.kind)
        over_rows(
            lambda first, last, fixed=fixed, parts=parts: gains_of_groups(*fixed, first, last, *parts),  # type: ignore[misc, call-arg]
            len(members),
            smallest=SMALLEST_BLOCK,
        )
        gains[members], prices[members], described[members] = parts
    return gains, prices, described[:, :-2]


def fit_states(
    states: States, labels: np.ndarray, weight: np.ndarray, plan: Plan, random: np.random.Generator
) -> Boosted:
    """Regress many numbers (n, n_outputs) on states."""
    everyone, nobody = np.arange(len(labels), dtype=np.uint32), np.empty(0, dtype=np.uint32)
    outputs = Numbers(labels, weight, everyone)
    return boost(states.codes, states.bins, outputs, everyone, nobody, plan, random, states.varying)


def held_out_outputs(
    states: States,
    labels: np.ndarray,
    weight: np.ndarray,
    fitted: np.ndarray,
    plan: Plan,
    random: np.random.Generator,
    held_out: np.ndarray,
) -> np.ndarray:
    """Regress many numbers (n, n_outputs), which are all known, on some states; return the outputs of others."""
    bag, rest = fitted.astype(np.uint32), held_out.astype(np.uint32)
    outputs = Numbers(labels, weight, bag)
    boost(states.codes, states.bins, outputs, bag, rest, plan, random, states.varying)
    return labels[held_out] - outputs.residual[held_out]


def _predicted(
    forest: Forest, rows: TrainingRows, row: np.ndarray, bought: np.ndarray, described: np.ndarray
) -> np.ndarray:
    """Return the outputs of a forest of states."""
    return state_outputs(forest, state_values(rows, row, bought, described))


def state_values(rows: TrainingRows, row: np.ndarray, bought: np.ndarray, described: np.ndarray) -> np.ndarray:
    """Return states as numbers: the columns, NaN if they are not bought, and the features that describe the state."""
    X = rows.X[row]
    known = np.where(np.isnan(X), rows.fill, X)
    return np.hstack([np.where(bought[:, rows.group_of], known, np.nan), described])


def state_outputs(forest: Forest, values: np.ndarray) -> np.ndarray:
    """Return the sums (n, n_outputs) of trees with vector leaves."""
    out, trees, values = np.tile(forest.base, (len(values), 1)), packed(forest), np.ascontiguousarray(values)
    over_rows(lambda first, last: add_leaves(trees, values, first, last, out), len(values), smallest=256)
    return out


def _worthwhile(gains: np.ndarray, expected: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the positions of the groups whose choice instead of the default group pays on held-out rows.

    In the states where a group has the largest expected gain per price, larger than that of the default group, the mean
    of its gain per price - the gain per price of the default group has to be MIN_Z standard errors above 0.
    """
    at = np.arange(len(gains))
    if gains.shape[1] == 1:
        return np.empty(0, dtype=np.int64)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate, realised = expected / prices, gains / prices
    rate[:, :-1][~np.isfinite(realised[:, :-1])] = -np.inf
    best = rate[:, :-1].argmax(axis=1)
    usable = np.isfinite(realised[:, -1]) & (rate[at, best] > np.maximum(rate[:, -1], 0.0))
    difference = np.where(usable, realised[at, best] - realised[:, -1], 0.0)
    kept = []
    for c in range(gains.shape[1] - 1):
        chosen = difference[usable & (best == c)]
        if len(chosen) > 1 and chosen.mean() > MIN_Z * chosen.std(ddof=1) / np.sqrt(len(chosen)):
            kept.append(c)
    return np.array(kept, dtype=np.int64)


def restricted(gains: Gains, kept: np.ndarray) -> Gains:
    """Return the gains of some of the groups, given by their positions, and of the default group."""
    outputs = np.append(kept, len(gains.candidates))
    of_fold = [_with_outputs(forest, outputs) for forest in gains.of_fold]
    return Gains(of_fold, _with_outputs(gains.of_all, outputs), gains.candidates[kept])


def _with_outputs(forest: Forest, outputs: np.ndarray) -> Forest:
    """Return a forest with vector leaves that has some of the outputs."""
    n_trees = forest.n_trees
    return forest.replace(
        value=forest.value[:, outputs],
        base=forest.base[outputs],
        score_of=np.tile(np.arange(len(outputs)), n_trees),
        expected=np.zeros(n_trees * len(outputs)),
    )
