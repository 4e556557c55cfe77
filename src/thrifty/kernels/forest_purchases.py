"""Evaluation of a forest in which each row pays for the features that it reads, up to its cap.

Trees are evaluated in rounds (one tree, or one tree per class). The answer of a row is the sum of its complete rounds.
A row pays for the evaluation of a round at its start, and for a feature when its path first reaches a split on it. If
the next payment would exceed the cap, the row stops.

For speed, a block of rows is first evaluated for several rounds without looking at the cap. Then the cost of each row
is computed once. Costs never decrease, so a row whose cost is within its cap could pay for every step. A row whose cost
exceeds its cap is reset to the state before these rounds, and goes through them alone to find where it must stop.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.forest import BLOCK_ROWS, add_trees, copy_columns, goes_right


class UnitArrays(NamedTuple):
    """Costs for the kernels: ``u`` units, ``d`` features, costs in ticks."""

    ticks: np.ndarray  # (u,) cost of each unit
    scale: float  # number of ticks in a cost of 1
    payer_at: np.ndarray  # (u + 1,) unit -> start of the features that require it in `payer`
    payer: np.ndarray  # uint32, features
    bill_at: np.ndarray  # (d + 1,) feature -> start of the units that it requires in `bill`
    bill: np.ndarray  # uint32, units
    round_at: np.ndarray  # (n_rounds + 1,) round -> its first tree
    round_ticks: np.ndarray  # (n_rounds,) cost of evaluating each round


# Arrays are copied in plain loops, because an assignment between slices takes many times as long to compile.


@njit(cache=True, nogil=True)
def buy_rows(forest, units, columns, rounds_per_check, X, cap, first, last, sums, spend, exits, acquired):
    """Evaluate rows first..last, each under its cap, and write their sums, spend, exits and acquired features.

    columns            columns of X that the trees read
    rounds_per_check   number of rounds that a block is evaluated between two comparisons of cost and cap
    acquired           (n, d), not written if it has no rows
    """
    base, round_at, n_rounds, d = forest.base, units.round_at, units.round_ticks.size, X.shape[1]
    values, fill = np.zeros((d + 1, BLOCK_ROWS)), np.full(d, np.nan)
    seen, seen_before = np.zeros((d + 1, BLOCK_ROWS), np.uint8), np.zeros((d + 1, BLOCK_ROWS), np.uint8)
    totals, totals_before = np.zeros((base.size, BLOCK_ROWS)), np.zeros((base.size, BLOCK_ROWS))
    ticks, ticks_before = np.zeros((1, BLOCK_ROWS)), np.zeros((1, BLOCK_ROWS))
    node, active = np.zeros(BLOCK_ROWS, np.uint32), np.zeros(BLOCK_ROWS, np.bool_)
    bought, paid, scratch = np.zeros(d, np.uint8), np.zeros(units.ticks.size, np.uint8), np.zeros(base.size)
    for start in range(first, last, BLOCK_ROWS):
        n_active = n_rows = min(BLOCK_ROWS, last - start)
        has_nan = copy_columns(X, columns, fill, start, n_rows, values)
        seen[:] = 0
        ticks[:] = 0.0
        active[:] = True
        for s in range(base.size):
            totals[s, :] = base[s]
        begin = 0
        while begin < n_rounds and n_active:
            end = min(begin + rounds_per_check, n_rounds)
            copy_block(seen, seen_before)
            copy_block(totals, totals_before)
            copy_block(ticks, ticks_before)
            add_trees(forest, round_at[begin], round_at[end], values, has_nan, node, seen, totals)
            count_ticks(units, seen, end, ticks[0])
            for r in range(n_rows):
                i = start + r
                if active[r] and ticks[0, r] / units.scale > cap[i]:
                    active[r] = False
                    n_active -= 1
                    load_row(units, seen_before, totals_before, r, bought, paid, sums[i])
                    spent, next_round, _ = buy_rounds(
                        forest, units, X[i], cap[i], begin, end, ticks_before[0, r], bought, paid, sums[i], scratch
                    )
                    write_row(i, spent / units.scale, next_round, bought, spend, exits, acquired)
            begin = end
        for r in range(n_rows):
            if active[r]:
                load_row(units, seen, totals, r, bought, paid, sums[start + r])
                write_row(start + r, ticks[0, r] / units.scale, n_rounds, bought, spend, exits, acquired)


@njit(cache=True, nogil=True)
def copy_block(source, target):
    """Copy an array (k, BLOCK_ROWS)."""
    for k in range(source.shape[0]):
        for r in range(BLOCK_ROWS):
            target[k, r] = source[k, r]


@njit(cache=True, nogil=True)
def write_row(row, spent, n_rounds, bought, spend, exits, acquired):
    """Write the spend of a row, its last complete round (-1 if no round is complete) and, if wanted, its features."""
    spend[row], exits[row] = spent, n_rounds - 1
    if acquired.shape[0]:
        for column in range(bought.size):
            acquired[row, column] = bought[column]


@njit(cache=True, nogil=True)
def load_row(units, seen, totals, r, bought, paid, sums):
    """Copy the state of row r of a block to the state of a single row: features bought, units paid, sums."""
    bill_at, bill = units.bill_at, units.bill
    paid[:] = 0
    for column in range(np.uint32(bought.size)):
        bought[column] = seen[column, r]
        if bought[column]:
            pay(column, bill_at, bill, paid)
    for s in range(sums.size):
        sums[s] = totals[s, r]


@njit(cache=True, nogil=True)
def count_ticks(units, seen, end, ticks):
    """Write the cost of a block of rows after `end` rounds, in which they have seen these columns."""
    evaluation = 0.0
    for stage in range(end):
        evaluation += units.round_ticks[stage]
    ticks[:] = evaluation
    paid = np.zeros(BLOCK_ROWS, np.uint8)
    unit_ticks, payer_at, payer = units.ticks, units.payer_at, units.payer
    for unit in range(unit_ticks.size):
        paid[:] = 0
        for p in range(payer_at[unit], payer_at[unit + 1]):
            column = payer[p]
            for r in range(BLOCK_ROWS):
                paid[r] |= seen[column, r]
        for r in range(BLOCK_ROWS):
            ticks[r] += unit_ticks[unit] * paid[r]


@njit(cache=True, nogil=True)
def buy_rounds(forest, units, x, cap, begin, end, spent, bought, paid, sums, scratch):
    """Evaluate one row in rounds begin..end; return its ticks spent, the next round, and whether it can continue.

    The state of the row (`bought`, `paid`, `sums`) is updated. `scratch` holds the sums of the round that is not yet
    complete.
    """
    feature, threshold, left, right, missing_right, category_set, words = forest[:7]
    value, root, score_of = forest.value, forest.root, forest.score_of
    ticks, bill_at, bill, scale = units.ticks, units.bill_at, units.bill, units.scale
    round_at, round_ticks = units.round_at, units.round_ticks
    for stage in range(begin, end):
        if (spent + round_ticks[stage]) / scale > cap:
            return spent, stage, False
        spent += round_ticks[stage]
        for s in range(sums.size):
            scratch[s] = sums[s]
        for tree in range(round_at[stage], round_at[stage + 1]):
            node = root[tree]
            while left[node] != node:
                column = feature[node]
                if not bought[column]:
                    price = price_of(column, bill_at, bill, ticks, paid)
                    if (spent + price) / scale > cap:
                        return spent, stage, False
                    pay(column, bill_at, bill, paid)
                    bought[column] = 1
                    spent += price
                to_right = goes_right(x[column], node, threshold, missing_right, category_set, words)
                node = right[node] if to_right else left[node]
            for k in range(value.shape[1]):
                scratch[score_of[tree, k]] += value[node, k]
        for s in range(sums.size):
            sums[s] = scratch[s]
    return spent, end, True


@njit(cache=True, nogil=True)
def price_of(column, bill_at, bill, ticks, paid):
    """Return the ticks of the unpaid units of a column."""
    price = 0.0
    for k in range(bill_at[column], bill_at[column + 1]):
        if not paid[bill[k]]:
            price += ticks[bill[k]]
    return price


@njit(cache=True, nogil=True)
def pay(column, bill_at, bill, paid):
    """Mark the units of a column as paid."""
    for k in range(bill_at[column], bill_at[column + 1]):
        paid[bill[k]] = 1
