"""What can be bought: sets of units that some column requires, each at the price of its units that are not paid yet.

Columns with the same units are one purchase, as the members of a bundle without prices of their own. A column with
prerequisites is bought together with them. Columns that cost nothing are known from the beginning.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.costs import CostModel


@dataclass(frozen=True, eq=False)
class Purchases:
    """Purchases p, units u and columns d; all arrays are of numbers, in NumPy or in torch.

    Attributes
    ----------
    required : array of shape (d, u)
        1 where a column requires a unit that has a price.
    units : array of shape (p, u)
        1 where a purchase pays for a unit.
    columns : array of shape (p, d)
        1 where a purchase alone makes a column known.
    prices : array of shape (u,)
        In shares of the cost of all columns.
    """

    required: Any
    units: Any
    columns: Any
    prices: Any

    @classmethod
    def of(cls, costs: CostModel) -> "Purchases":
        """Return the purchases of a cost model.

        >>> purchases = Purchases.of(CostModel([1.0, 0.0, 0.0], bundles={"panel": ([1, 2], 3.0)}))
        >>> purchases.columns.astype(int).tolist()
        [[0, 1, 1], [1, 0, 0]]
        """
        paid = costs.unit_costs > 0
        required = np.asarray(costs.requirement, dtype=np.float32)[:, paid]
        units = np.unique(required, axis=0)
        units = units[units.any(axis=1)]
        columns = (required @ (1.0 - units).T == 0).T.astype(np.float32)
        prices = costs.unit_costs[paid] / (costs.total or 1.0)
        return cls(required, units, columns, prices.astype(np.float32))

    @property
    def n(self) -> int:
        """The number of purchases."""
        return len(self.units)

    def known(self, paid: Any) -> Any:
        """Return 1 for each column (n, d) whose units are all paid, from what rows paid (n, u)."""
        return ((1.0 - paid) @ self.required.T < 0.5) * 1.0

    def price(self, paid: Any) -> Any:
        """Return what each purchase costs (n, p) after what rows paid (n, u); 0 if nothing is left to pay."""
        return (1.0 - paid) @ (self.units * self.prices).T
