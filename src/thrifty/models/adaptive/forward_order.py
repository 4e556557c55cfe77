"""A better default order: greedy forward selection by the predictor of masked rows.

The first default order comes from boosting that buys columns for all rows at once; see `order`. Once there is a
predictor of masked rows, the decrease of its loss by every further group is known without fitting anything. So groups
are added one by one, each time the one with the largest mean decrease of the loss per price.
"""

import numpy as np

from thrifty.kernels.adaptive.structures import Policy
from thrifty.models.adaptive.gains import gains_of_states
from thrifty.models.adaptive.training_rows import TrainingRows

MAX_ROWS = 1_000  # on which gains are measured


def forward_order(
    rows: TrainingRows, policies: list[Policy], sample: np.ndarray, order: np.ndarray, n_steps: int
) -> np.ndarray:
    """Return the groups in a new default order, of which the first steps are chosen greedily.

    Parameters
    ----------
    rows : TrainingRows
    policies : list of Policy
        One for each fold; their predictors compute the gains.
    sample : ndarray of int
        Rows that may be used.
    order : ndarray of int
        The present default order. It decides about the groups after the last step.
    n_steps : int
        How many groups are chosen.
    """
    row = sample if len(sample) <= MAX_ROWS else np.sort(rows.random.choice(sample, MAX_ROWS, replace=False))
    weight = rows.weight[row]
    left = [group for group in order.tolist() if rows.prices[group] > 0]
    chosen = [group for group in order.tolist() if rows.prices[group] == 0]
    for _ in range(min(n_steps, len(left) - 1)):
        bought = np.zeros((len(row), rows.n_groups), dtype=bool)
        bought[:, chosen] = True
        gains, prices, _ = gains_of_states(rows, policies, np.array(left), row, bought)
        mean = np.average(gains[:, :-1], axis=0, weights=weight)
        free = prices[0, :-1] <= 0  # after another group of the same bundle
        rate = np.where(free, np.inf, mean / np.where(free, 1.0, prices[0, :-1]))
        chosen.append(left.pop(int(np.argmax(rate))))
    return np.array(chosen + left, dtype=np.int64)
