"""What precedes a fit on derived columns: an encoder learns them, and the estimator gets their costs and names."""

from collections.abc import Mapping
from typing import Any

from sklearn.base import clone

from thrifty.costs import CostModel
from thrifty.models.rows import Rows
from thrifty.models.session import Feature
from thrifty.models.tables.column_reports import refuse_unusable, warn_of_mixed
from thrifty.models.tables.encoder import TableEncoder


def learned_encoder(
    rows: Rows,
    costs: CostModel,
    kinds: Mapping[Feature, str] | None = None,
    max_levels: int = 20,
    *,
    owner: str = "TableModel",
) -> TableEncoder:
    """Return an encoder that has learned raw columns; warn of columns whose kind is in doubt.

    Parameters
    ----------
    rows : Rows
        Raw training rows.
    costs : CostModel
        The costs of the raw columns, with their names.
    kinds : dict or None, default=None
        The kinds that the user gave.
    max_levels : int, default=20
        The number of levels of a category that get a column.
    owner : str, default="TableModel"
        The beginning of messages.

    Returns
    -------
    TableEncoder
    """
    encoder = TableEncoder(max_levels, kinds).fit(rows.X, rows.weight, costs.names or range(costs.n_features))
    refuse_unusable(owner, encoder.report_)
    warn_of_mixed(owner, encoder.report_, stacklevel=3)
    return encoder


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
