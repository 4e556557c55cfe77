"""``thrifty costs``: check a price list against a table, or start one from it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(help="Price lists: check one, or start one from a table.", no_args_is_help=False)

EXAMPLE = """\

# What several columns share and is paid for once is a bundle. Take the hash signs away, name it and its members:
{bundle}
"""
BUNDLES = {
    ".toml": '# [bundles."blood draw"]\n# price = 2.1\n# members = [{members}]',
    ".yaml": "# bundles:\n#   blood draw:\n#     price: 2.1\n#     members: [{members}]",
}


@app.command()
def check(
    costs: Annotated[Path, typer.Argument(help="A price list: .csv, .toml or .yaml.")],
    data: Annotated[Path | None, typer.Option(help="A table whose columns should all have a price.")] = None,
    target: Annotated[str | None, typer.Option(help="Its target, which needs none.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column of it that needs none either.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Say what a price list comes to, or what is wrong with it and in which line."""
    from thrifty import CostModel
    from thrifty.cli.terminal import console, print_json

    model = CostModel.from_file(costs)
    if data is not None:
        refuse_mismatch(model, str(costs), feature_columns(data, target, drop or []), str(data))
    if json:
        print_json(as_record(model))
    else:
        print_prices(console(), model, str(costs), None if data is None else str(data))


@app.command()
def template(
    data: Annotated[Path, typer.Argument(help="A table: .csv, .tsv, .parquet, or - for CSV on standard input.")],
    target: Annotated[str | None, typer.Option(help="Its target, which has no price.")] = None,
    drop: Annotated[list[str] | None, typer.Option(help="A column that is no feature.")] = None,
    unit: Annotated[str, typer.Option(help="What prices are in, such as CAD or ms.")] = "",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to: .csv, .toml or .yaml, or - for CSV on standard output.")
    ] = Path("-"),
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there.")] = False,
) -> None:
    """Start a price list: a line for every column of a table, each at a price of 1."""
    from thrifty.cli.files import refuse_unwritable
    from thrifty.replacing import replacing

    text = rendered(feature_columns(data, target, drop or []), unit, ".csv" if str(output) == "-" else output.suffix)
    if str(output) == "-":
        typer.echo(text, nl=False)
        return
    if output.exists() and not force:
        raise ValueError(f"--output is '{output}', which is there already. Pass another name, or --force.")
    refuse_unwritable(output)
    with replacing(output) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def feature_columns(data: Path, target: str | None, drop: Sequence[str]) -> list[str]:
    """Return the columns of a table that are features."""
    from thrifty.cli.tables.opening import open_table
    from thrifty.cli.tables.training import refuse_unknown

    others = [*([target] if target else []), *drop]
    with open_table(data) as table:
        for option, names in (("--target", [target] if target else []), ("--drop", drop)):
            refuse_unknown(names, table.names, option, table.place)
        return [name for name in table.names if name not in others]


def rendered(names: Sequence[str], unit: str, suffix: str) -> str:
    """Return a price list at a price of 1 each, with an example of a bundle where the format has comments."""
    from thrifty import CostModel
    from thrifty.costs.files import FORMATS

    suffix = suffix.lower()
    if suffix not in FORMATS:
        raise ValueError(f"--output ends in {suffix!r}; expected {', '.join(FORMATS)}.")
    text = FORMATS[suffix][1](CostModel(dict.fromkeys(names, 1.0), unit=unit))
    example = BUNDLES.get(".yaml" if suffix == ".yml" else suffix)
    members = ", ".join(f'"{name}"' for name in names[:2])
    return text + EXAMPLE.format(bundle=example.format(members=members)) if example else text


def refuse_mismatch(model: Any, costs: str, columns: Sequence[str], data: str) -> None:
    """Refuse a price list that lacks a column of the table, or has one that the table lacks."""
    from thrifty.cli.tables.training import listed

    unpriced = [name for name in columns if name not in model.names]
    unknown = [name for name in model.names if name not in columns]
    problems = [
        *([f"there is no price for {listed(unpriced)}"] if unpriced else []),
        *([f"{listed(unknown)} is no column of {data}"] if unknown else []),
    ]
    if problems:
        raise ValueError(f"{costs}: {', and '.join(problems)}. Add, remove or rename lines until they agree.")


def print_prices(out: Any, model: Any, costs: str, data: str | None) -> None:
    """Print the features with their prices, the bundles, and the total."""
    from thrifty.cli.amounts import amount
    from thrifty.cli.terminal import plain_table

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
    """Return a price list as plain values."""
    import numpy as np

    alone = model.of(np.eye(model.n_features, dtype=bool))
    features = [
        {
            "name": name,
            "price": price,
            "alone": cost,
            "bundles": [bundle for bundle, (members, _) in model.bundles.items() if name in members],
            "requires": list(model.requires.get(name, ())),
        }
        for (name, price), cost in zip(model.costs.items(), alone.tolist(), strict=True)
    ]
    bundles = [{"name": name, "price": p, "members": list(m)} for name, (m, p) in model.bundles.items()]
    return {"unit": model.unit, "total": model.total, "features": features, "bundles": bundles}
