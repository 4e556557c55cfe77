"""The objective restricted to its active columns: those that some node weighs.

Columns whose weights are zero at every node contribute nothing to the products with X, so the joint solver leaves
them out.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.tree_parameters import Parameters

LARGEST_SHARE = 0.7  # columns are copied only if at most this share of the present ones is used: copying takes time


class ActiveColumns(NamedTuple):
    """An objective of some columns; the weights of all other columns are taken to be zero.

    Attributes
    ----------
    columns : ndarray of int
        Positions of the columns in the full objective.
    objective : Objective
        The objective of these columns.
    """

    columns: np.ndarray
    objective: Objective

    @classmethod
    def all_of(cls, objective: Objective) -> "ActiveColumns":
        """Return the objective of all columns."""
        return cls(np.arange(objective.X.shape[1]), objective)

    def restricted(self, used: np.ndarray, full: Objective) -> "ActiveColumns":
        """Return the objective of the columns `used`, or of more columns if that saves a copy."""
        if len(used) > LARGEST_SHARE * len(self.columns) and np.isin(used, self.columns).all():
            return self
        if len(used) > LARGEST_SHARE * full.X.shape[1]:
            return ActiveColumns.all_of(full)
        X = np.ascontiguousarray(full.X[:, used])
        return ActiveColumns(used, replace(full, X=X, penalty=full.penalty.for_columns(used)))

    def select(self, parameters: Parameters) -> Parameters:
        """Return the parameters of these columns, given the parameters of all columns."""
        return replace(parameters, weights=parameters.weights[:, :, self.columns])

    def expand(self, parameters: Parameters, n_columns: int) -> Parameters:
        """Return the parameters of all columns, given the parameters of these columns."""
        weights = np.zeros((*parameters.weights.shape[:2], n_columns))
        weights[:, :, self.columns] = parameters.weights
        return replace(parameters, weights=weights)
