"""An objective of the columns in use: those that no node weighs need not be multiplied by zero."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from thrifty.models.expected_cost.objective import Objective, Parameters

WORTHWHILE = 0.7  # columns are left out when this share of those at hand or less is in use, for copying is costly


class Narrowed(NamedTuple):
    """An objective of some columns; the others are taken to have no weight anywhere."""

    columns: np.ndarray
    objective: Objective

    @classmethod
    def not_at_all(cls, objective: Objective) -> "Narrowed":
        """Return the objective of all columns."""
        return cls(np.arange(objective.X.shape[1]), objective)

    def to(self, used: np.ndarray, whole: Objective) -> "Narrowed":
        """Return this or, where that is worth a copy or columns are missing, a new one of the columns used."""
        if len(used) > WORTHWHILE * len(self.columns) and np.isin(used, self.columns).all():
            return self
        if len(used) > WORTHWHILE * whole.X.shape[1]:
            return Narrowed.not_at_all(whole)
        X = np.ascontiguousarray(whole.X[:, used])
        return Narrowed(used, replace(whole, X=X, penalty=whole.penalty.on(used)))

    def inside(self, parameters: Parameters) -> Parameters:
        """Return the parameters of these columns."""
        return replace(parameters, weights=parameters.weights[:, :, self.columns])

    def outside(self, parameters: Parameters, n_features: int) -> Parameters:
        """Return parameters of these columns as parameters of all."""
        weights = np.zeros((*parameters.weights.shape[:2], n_features))
        weights[:, :, self.columns] = parameters.weights
        return replace(parameters, weights=weights)
