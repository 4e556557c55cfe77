"""A price list and the columns of a table: which prices are used, and what does not agree."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from thrifty.cli.tables.table_file import quoted


def read_prices(costs: Path, columns: Sequence[str], not_bought: Collection[str | None], table: str) -> Any:
    """Return the cost model of the columns of a table, read from a price list.

    Parameters
    ----------
    costs : Path
        The price list.
    columns : sequence of str
        The columns that need a price.
    not_bought : collection of str or None
        Other columns of the table, such as the target; None stands for no column. Their prices are not used.
    table : str
        The name of the table in messages.

    Returns
    -------
    CostModel
    """
    from thrifty.costs import CostModel

    model = CostModel.from_file(costs)
    refuse_mismatch(list(model.costs), columns, not_bought, costs, table)
    return model if model.n_features == len(columns) else model.select(columns)


def refuse_mismatch(
    priced: Sequence[str], columns: Sequence[str], not_bought: Collection[str | None], costs: Path, table: str
) -> None:
    """Raise ValueError unless every column has a price, and every price is that of a column."""
    known, have_price = {*columns, *not_bought}, set(priced)
    unpriced = [name for name in columns if name not in have_price]
    unknown = [name for name in priced if name not in known]
    problems = [
        *([f"there is no price for {quoted(unpriced)}"] if unpriced else []),
        *([f"{quoted(unknown)} is not a column of {table}"] if unknown else []),
    ]
    if problems:
        raise ValueError(
            f"{costs}: {', and '.join(problems)}. Add, remove or rename lines until they agree, or leave out columns "
            "with --drop."
        )
