"""The objective restricted to its active columns: those that some node weighs.

Columns whose weights are zero at every node contribute nothing to the products with X, so the joint solver leaves
them out.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from thrifty.arrays import Selection, namespace_of, number
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.row_blocks import with_columns
from thrifty.models.expected_cost.tree_parameters import Parameters

LARGEST_SHARE = 0.7  # columns are copied only if at most this share of the present ones is used: copying takes time


class ActiveColumns(NamedTuple):
    """An objective of some columns; the weights of all other columns are taken to be zero.

    Attributes
    ----------
    columns : Selection or None
        The columns of the full objective; None for all.
    objective : Objective
        The objective of these columns.
    """

    columns: Selection | None
    objective: Objective

    @classmethod
    def all_of(cls, objective: Objective) -> "ActiveColumns":
        """Return the objective of all columns."""
        return cls(None, objective)

    def restricted(self, used: Any, full: Objective) -> "ActiveColumns":
        """Return the objective of the columns marked in `used` (d,), or of more columns if that saves a copy."""
        n_present = self.objective.n_columns
        xp = namespace_of(used)
        n_used = int(number(xp.count_nonzero(used)))
        if n_used > LARGEST_SHARE * n_present and not self._lacks(used):
            return self
        if n_used > LARGEST_SHARE * full.n_columns:
            return ActiveColumns.all_of(full)
        columns = Selection(used)
        rows = full.rows.map(with_columns, columns.positions)
        return ActiveColumns(columns, replace(full, rows=rows, penalty=full.penalty.for_columns(columns.positions)))

    def select(self, parameters: Parameters) -> Parameters:
        """Return the parameters of these columns, given the parameters of all columns."""
        if self.columns is None:
            return parameters
        xp = namespace_of(parameters.weights)
        return replace(parameters, weights=xp.take(parameters.weights, self.columns.positions, axis=2))

    def expand(self, parameters: Parameters) -> Parameters:
        """Return the parameters of all columns, given the parameters of these columns."""
        if self.columns is None:
            return parameters
        return replace(parameters, weights=self.columns.spread(parameters.weights))

    def _lacks(self, used: Any) -> bool:
        """Tell whether some of the columns marked in `used` are not here."""
        xp = namespace_of(used)
        return self.columns is not None and bool(number(xp.any(used & ~self.columns.marks)))
