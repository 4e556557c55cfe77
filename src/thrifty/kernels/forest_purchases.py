"""Rows that buy their way through a forest, tree after tree, as far as each may pay.

Trees come in rounds (one tree, or one per class), and what stands after the last complete round is the answer. A row
pays for evaluating a round when it enters it, and for a feature when its path first comes to a split on it. Where the
next payment would break its cap it stops for good.

Costs only grow, so a block of rows is walked a stretch of rounds at a time as if money were no object, and then the
bill is made out. A row that could not have paid it is taken back to where the stretch began and walks it alone, to
find out where it has to stop.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from thrifty.kernels.forest import TOGETHER, add_trees, copy_columns, goes_right


class UnitArrays(NamedTuple):
    """What features cost, as the kernels see it: units, in ticks, and who pays for them."""

    ticks: np.ndarray  # (u,)
    scale: float  # ticks that make a cost of 1
    payer_at: np.ndarray  # (u + 1,) where the features that require a unit start in `payer`
    payer: np.ndarray  # uint32
    bill_at: np.ndarray  # (d + 1,) where the units that a feature requires start in `bill`
    bill: np.ndarray  # uint32
    round_at: np.ndarray  # (rounds + 1,) the trees of each round
    round_ticks: np.ndarray  # (rounds,) what evaluating a round costs


# Arrays are copied in plain loops: an assignment between slices compiles many times as long, for its error messages.


@njit(cache=True, nogil=True)
def buy_rows(forest, units, columns, stretch, X, cap, first, last, sums, spend, exits, acquired):
    """Send rows first..last through the rounds, each under its cap.

    `columns` are those of X that the trees read; a bill is made out every `stretch` rounds; `acquired` (n, d) is
    written too, unless it has no rows.
    """
    base, round_at, n_rounds, d = forest.base, units.round_at, units.round_ticks.size, X.shape[1]
    values, fill = np.zeros((d + 1, TOGETHER)), np.full(d, np.nan)
    seen, seen_before = np.zeros((d + 1, TOGETHER), np.uint8), np.zeros((d + 1, TOGETHER), np.uint8)
    totals, totals_before = np.zeros((base.size, TOGETHER)), np.zeros((base.size, TOGETHER))
    ticks, ticks_before = np.zeros((1, TOGETHER)), np.zeros((1, TOGETHER))
    node, going = np.zeros(TOGETHER, np.uint32), np.zeros(TOGETHER, np.bool_)
    bought, paid, trial = np.zeros(d, np.uint8), np.zeros(units.ticks.size, np.uint8), np.zeros(base.size)
    for start in range(first, last, TOGETHER):
        n_going = n_rows = min(TOGETHER, last - start)
        holes = copy_columns(X, columns, fill, start, n_rows, values)
        seen[:] = 0
        ticks[:] = 0.0
        going[:] = True
        for s in range(base.size):
            totals[s, :] = base[s]
        begin = 0
        while begin < n_rounds and n_going:
            end = min(begin + stretch, n_rounds)
            copy_block(seen, seen_before)
            copy_block(totals, totals_before)
            copy_block(ticks, ticks_before)
            add_trees(forest, round_at[begin], round_at[end], values, holes, node, seen, totals)
            make_out_bill(units, seen, end, ticks[0])
            for r in range(n_rows):
                i = start + r
                if going[r] and ticks[0, r] / units.scale > cap[i]:
                    going[r] = False
                    n_going -= 1
                    take_back(units, seen_before, totals_before, r, bought, paid, sums[i])
                    spent, done, _ = buy_rounds(
                        forest, units, X[i], cap[i], begin, end, ticks_before[0, r], bought, paid, sums[i], trial
                    )
                    write_row(i, spent / units.scale, done, bought, spend, exits, acquired)
            begin = end
        for r in range(n_rows):
            if going[r]:
                take_back(units, seen, totals, r, bought, paid, sums[start + r])
                write_row(start + r, ticks[0, r] / units.scale, n_rounds, bought, spend, exits, acquired)


@njit(cache=True, nogil=True)
def copy_block(source, target):
    """Copy what a block of rows has come to."""
    for k in range(source.shape[0]):
        for r in range(TOGETHER):
            target[k, r] = source[k, r]


@njit(cache=True, nogil=True)
def write_row(row, spent, n_rounds, bought, spend, exits, acquired):
    """Write what became of a row."""
    spend[row], exits[row] = spent, n_rounds - 1
    if acquired.shape[0]:
        for column in range(bought.size):
            acquired[row, column] = bought[column]


@njit(cache=True, nogil=True)
def take_back(units, seen, totals, r, bought, paid, sums):
    """Write what row r of a block has bought, paid and added up, having seen these columns."""
    bill_at, bill = units.bill_at, units.bill
    paid[:] = 0
    for column in range(np.uint32(bought.size)):
        bought[column] = seen[column, r]
        if bought[column]:
            pay(column, bill_at, bill, paid)
    for s in range(sums.size):
        sums[s] = totals[s, r]


@njit(cache=True, nogil=True)
def make_out_bill(units, seen, end, ticks):
    """Write what a block of rows owes after the first rounds, having seen these columns: every unit once."""
    evaluation = 0.0
    for stage in range(end):
        evaluation += units.round_ticks[stage]
    ticks[:] = evaluation
    paid = np.zeros(TOGETHER, np.uint8)
    unit_ticks, payer_at, payer = units.ticks, units.payer_at, units.payer
    for unit in range(unit_ticks.size):
        paid[:] = 0
        for p in range(payer_at[unit], payer_at[unit + 1]):
            column = payer[p]
            for r in range(TOGETHER):
                paid[r] |= seen[column, r]
        for r in range(TOGETHER):
            ticks[r] += unit_ticks[unit] * paid[r]


@njit(cache=True, nogil=True)
def buy_rounds(forest, units, x, cap, begin, end, spent, bought, paid, sums, trial):
    """Send one row through rounds begin..end; return its ticks spent, the next round, and whether it may go on.

    Its state (`bought`, `paid`, `sums`) is brought up to date; `trial` is scratch space.
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
            trial[s] = sums[s]
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
                goes = goes_right(x[column], node, threshold, missing_right, category_set, words)
                node = right[node] if goes else left[node]
            for part in range(value.shape[1]):
                trial[score_of[tree, part]] += value[node, part]
        for s in range(sums.size):
            sums[s] = trial[s]
    return spent, end, True


@njit(cache=True, nogil=True)
def price_of(column, bill_at, bill, ticks, paid):
    """Return the ticks of what a column requires and is not paid yet."""
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
