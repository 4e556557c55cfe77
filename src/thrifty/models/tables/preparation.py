"""Preparing an estimator for derived columns: it gets their costs, and its parameters name them."""

from typing import Any

from sklearn.base import clone

from thrifty.costs import CostModel
from thrifty.models.tables.encoder import TableEncoder


def prepared(estimator: Any, encoder: TableEncoder, costs: CostModel) -> Any:
    """Return a clone of an estimator that can be fitted on the derived columns of an encoder.

    Parameters
    ----------
    estimator : BudgetedEstimator
        Its parameters may name raw columns.
    encoder : TableEncoder
        Fitted on the raw columns.
    costs : CostModel
        The costs of the raw columns.

    Returns
    -------
    BudgetedEstimator
        Not fitted. Its costs are those of the derived columns, and its parameters name derived columns.
    """
    ready = clone(estimator).set_params(costs=encoder.derived_costs(costs))
    if not encoder.one_to_one:
        ready._translate_parameters(encoder.derivation(costs))
    return ready
