"""Lookahead: decide whether to buy a feature by what a whole tree gains from it, instead of a single split.

Eq. (5) of the Greedy Miser minimises over trees. A tree that is grown split by split judges a feature by one split,
although later splits may use it too. So it misses features that are worth their price only in several branches. With
lookahead, before each round, for each feature j that is not bought:

    worth_j = saving(bought features and j) - saving(bought features)

where saving(S) is the decrease of the loss per row by trees that may split on S for free. The feature with the largest
worth_j - penalty_j is bought if this is positive, and the comparison is repeated.

While nothing is bought, the worth of a feature seldom rises from round to round. So only features whose last computed
worth exceeds their penalty are evaluated again.
"""

from collections.abc import Callable

import numpy as np

from thrifty.models.growing.payments import Payments

Saving = Callable[[np.ndarray], float]  # decrease of the loss per row by trees that may split on these features


class Lookahead:
    """Buys features before a round of boosting.

    Parameters
    ----------
    payments : Payments
        Charged for every purchase.
    """

    def __init__(self, payments: Payments):
        self._payments = payments
        self._worth = np.full(len(payments.ledger.prices), np.inf)  # last computed; infinity if not computed yet

    def buy(self, saving: Saving, features: np.ndarray) -> None:
        """Buy the features that are worth their price to a round that may split on `features`, one at a time."""
        while (best := self._best(saving, features)) is not None:
            self._payments.buy(best, (), None)
            self._worth[:] = np.inf

    def _best(self, saving: Saving, features: np.ndarray) -> int | None:
        penalties = self._payments.penalties(None)
        free = [int(j) for j in features if penalties[j] == 0]
        candidates = [int(j) for j in features if 0 < penalties[j] < min(self._worth[j], np.inf)]
        if not candidates:
            return None
        without = saving(np.array(free, dtype=np.int64)) if free else 0.0
        for j in candidates:
            self._worth[j] = saving(np.sort([*free, j])) - without
        best = max(candidates, key=lambda j: self._worth[j] - penalties[j])
        return best if self._worth[best] > penalties[best] else None
