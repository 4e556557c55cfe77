"""Buying by the tree instead of by the split.

Eq. (5) of the Greedy Miser asks for the *tree* that is best for what it buys. Growing it split by split judges a
feature by a single split, though the whole tree may go on to use it, and so misses features that are worth their
price in several branches. Here every feature not bought yet is judged by a tree that may use it beside those bought:
what that tree saves more than one without it, less the price. The best is bought as long as one is worth it.

What a feature is worth seldom rises while boosting goes on and nothing is bought. So between purchases only those are
judged anew that were last seen worth their price.
"""

from collections.abc import Callable

import numpy as np

from thrifty.models.boosting.accounts import Accounts

Saving = Callable[[np.ndarray], float]  # loss per row that trees save which may split on these features


class Shopper:
    """Decides before each round what to buy.

    Parameters
    ----------
    accounts : Accounts
    """

    def __init__(self, accounts: Accounts):
        self._accounts = accounts
        self._worth = np.full(len(accounts.ledger.prices), np.inf)  # as last seen, an upper bound

    def shop(self, saving: Saving, features: np.ndarray) -> None:
        """Buy, one after another, what is worth its price to a tree that may split on some features."""
        while (found := self._best(saving, features)) is not None:
            self._accounts.buy(found, (), None)
            self._worth[:] = np.inf

    def _best(self, saving: Saving, features: np.ndarray) -> int | None:
        prices = self._accounts.penalties(None)
        free = [int(j) for j in features if prices[j] == 0]
        wanted = [int(j) for j in features if 0 < prices[j] < min(self._worth[j], np.inf)]
        if not wanted:
            return None
        without = saving(np.array(free, dtype=np.int64)) if free else 0.0
        for j in wanted:
            self._worth[j] = saving(np.sort([*free, j])) - without
        best = max(wanted, key=lambda j: self._worth[j] - prices[j])
        return best if self._worth[best] > prices[best] else None
