"""``thrifty costs``: check a price list against a table, or make a new one for a table."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="Check a price list, or make a new one for a table.", no_args_is_help=False)

EXAMPLE = """\

# A bundle is a cost that several columns share and that is paid once. To add one, remove the hash signs and edit:
{bundle}
"""
BUNDLES = {
    ".toml": '# [bundles."blood draw"]\n# price = 2.1\n# members = [{members}]',
    ".yaml": "# bundles:\n#   blood draw:\n#     price: 2.1\n#     members: [{members}]",
}


@app.command()
def check(
    costs: Annotated[Path, typer.Argument(help="A price list: .csv, .toml or .yaml.")],
    data: Annotated[Path | None, typer.Option(help="A table; each of its columns must have a price.")] = None,
    target: Annotated[str | None, typer.Option(help="The target column, which needs no price.")] = None,
    qid: Annotated[str | None, typer.Option(help="The column with the queries, which needs no price.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Another column that needs no price.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the prices of a price list, or the line in which something is wrong."""
    from thrifty import CostModel
    from thrifty.cli.price_list import read_prices
    from thrifty.cli.terminal import console, print_json

    if data is None:
        refuse_columns_without_table(target=target, qid=qid, drop=drop)
        model = CostModel.from_file(costs)
    else:
        columns = feature_columns(data, target, qid, drop or [])
        model = read_prices(costs, columns, {target, qid, *(drop or [])}, str(data))
    if json:
        print_json(as_record(model))
    else:
        print_prices(console(), model, costs, data)


@app.command()
def template(
    data: Annotated[Path, typer.Argument(help="A table: .csv, .tsv, .parquet, or - for CSV on standard input.")],
    target: Annotated[str | None, typer.Option(help="The target column, which has no price.")] = None,
    qid: Annotated[str | None, typer.Option(help="The column with the queries, which has no price.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="Another column that has no price.")] = None,
    unit: Annotated[str, typer.Option(help="The unit of the prices, such as CAD or ms.")] = "",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .csv, .toml, .yaml, or - for CSV on standard output.")
    ] = Path("-"),
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Make a price list with one line per column of a table, each with the price 1."""
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.words import printable
    from thrifty.replacing import replacing

    suffix = ".csv" if str(output) == "-" else output.suffix.lower()
    text = template_text(feature_columns(data, target, qid, drop or []), unit, suffix)
    if str(output) == "-":
        lines = text.split("\n")
        typer.echo("\n".join(map(printable, lines)) if sys.stdout.isatty() else text, nl=False)
        return
    refuse_output("--output", output, inputs=(data,), force=force)
    with replacing(output) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def feature_columns(data: Path, target: str | None, qid: str | None, drop: Sequence[str]) -> list[str]:
    """Return the columns of a table that need a price."""
    from thrifty.cli.tables.table_file import open_table

    with open_table(data) as table:
        table.refuse_unknown(target=target, qid=qid, drop=drop)
        names = [name for name in table.names if name not in {target, qid, *drop}]
    if not names:
        raise ValueError(f"{data}: no column is left that needs a price. Leave out some options.")
    return names


def refuse_columns_without_table(**options: str | Sequence[str] | None) -> None:
    """Raise ValueError if an option names columns, but there is no table that has them."""
    for option, names in options.items():
        if names:
            raise ValueError(f"--{option} is given, but there is no table. Pass --data too.")


def template_text(names: Sequence[str], unit: str, suffix: str) -> str:
    """Return a price list with the price 1 for each column, and an example of a bundle if the format has comments."""
    from thrifty import CostModel
    from thrifty.costs.files import FORMATS

    if suffix not in FORMATS:
        raise ValueError(f"--output ends in {suffix!r}; expected {', '.join(FORMATS)}.")
    text = FORMATS[suffix][1](CostModel(dict.fromkeys(names, 1.0), unit=unit))
    example = BUNDLES.get(".yaml" if suffix == ".yml" else suffix)
    plain = [name for name in names if name.isprintable() and not {*name} & {*'"\\'}]  # need no escapes in quotes
    members = ", ".join(f'"{name}"' for name in plain[:2])
    return text + EXAMPLE.format(bundle=example.format(members=members)) if example else text


def print_prices(out: Any, model: Any, costs: Path, data: Path | None) -> None:
    """Print the prices of the features, the bundles, and the total."""
    from thrifty.cli.terminal import plain_table
    from thrifty.costs.amounts import amount

    record = as_record(model)
    table = plain_table(feature="left", own_price="right", bought_alone="right", shares="left")
    for feature in record["features"]:
        own = "" if feature["price"] is None else amount(feature["price"], model.unit, fixed=True)
        shared = ", ".join([*feature["bundles"], *(f"needs {other}" for other in feature["requires"])])
        table.add_row(feature["name"], own, amount(feature["alone"], model.unit, fixed=True), shared)
    out.print(table)
    for bundle in record["bundles"]:
        members = ", ".join(bundle["members"])
        out.print(f"{bundle['name']}: {amount(bundle['price'], model.unit)}, paid once for {members}")
    agrees = f" Every column of {data} has a price." if data else ""
    out.print(f"{costs}: {amount(model.total, model.unit)} for everything.{agrees}")


def as_record(model: Any) -> dict[str, Any]:
    """Return a price list as plain values, ready for JSON."""
    import numpy as np

    from thrifty.costs.spreadsheets import bundles_by_member

    alone = model.marginal(np.zeros(model.n_features, dtype=bool))
    requires, bundles_of = model.requires, bundles_by_member(model)
    features = [
        {
            "name": name,
            "price": price,
            "alone": cost,
            "bundles": bundles_of.get(name, []),
            "requires": list(requires.get(name, ())),
        }
        for (name, price), cost in zip(model.costs.items(), alone.tolist(), strict=True)
    ]
    bundles = [{"name": name, "price": p, "members": list(m)} for name, (m, p) in model.bundles.items()]
    return {"unit": model.unit, "total": model.total, "features": features, "bundles": bundles}
