"""``thrifty profile``: measure how long sources take, and write the price list in milliseconds."""

import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

FORMATS = (".csv", ".toml", ".yaml", ".yml")
MAX_FEATURES = 4  # that a line of the table names


class Statistic(StrEnum):
    """The latency that becomes the price of a call."""

    median = "median"
    p95 = "p95"
    mean = "mean"


def profile(
    sources: Annotated[Path, typer.Argument(help="A Python file that defines sources.")],
    keys: Annotated[Path, typer.Argument(help="A table with keys: .csv, .tsv, .parquet, or - for standard input.")],
    key: Annotated[
        str | None, typer.Option(help="The column with the keys; needed if the table has several columns.")
    ] = None,
    rows: Annotated[int, typer.Option(min=1, help="How many keys to measure each source with.")] = 100,
    warmup: Annotated[int, typer.Option(min=0, help="How many calls of each source to make before.")] = 5,
    statistic: Annotated[
        Statistic, typer.Option(help="The latency that becomes the price of a call.")
    ] = Statistic.median,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The price list to write: .csv, .toml or .yaml.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the price list if it exists.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Measure how long each source takes, and write a price list in milliseconds that 'thrifty fit' takes."""
    from thrifty.cli.costs import as_record
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.terminal import console, print_json, progress
    from thrifty.runtime.profiling import price_list, profile_sources
    from thrifty.runtime.sources.catalog import load_sources

    if output is not None:
        refuse_output("--output", output, formats=FORMATS, inputs=(sources, keys), force=force)
    values = read_keys(keys, key, rows)
    with redirect_stdout(sys.stderr):  # what the program of the user prints must not be mixed with the result
        catalog = load_sources(sources)
        if output is not None:
            refuse_names(catalog, output)
        with progress("measuring", len(catalog) * (warmup + len(values))) as advance:
            profiles = profile_sources(catalog, values, warmup=warmup, advance=advance)
    prices = price_list(profiles, statistic)
    if output is not None:
        prices.to_file(output)
    if json:
        measured = [each.as_dict() | {"price": each.price(statistic)} for each in profiles]
        written = None if output is None else str(output)
        print_json({"sources": measured, "statistic": str(statistic), "prices": as_record(prices), "file": written})
    else:
        print_profiles(profiles, statistic)
        console().print(ending(prices, output), soft_wrap=True)


def read_keys(path: Path, column: str | None, limit: int) -> list[Any]:
    """Return the first keys of a table: whole numbers if all of them are, otherwise text."""
    from thrifty.cli.tables.table_file import open_table, quoted

    with open_table(path) as table:
        table.refuse_unknown(key=column)
        if column is None and len(table.names) > 1:
            raise ValueError(f"{path}: the table has the columns {quoted(table.names)}. Pass --key with one of them.")
        name = column or table.names[0]
        texts: list[Any] = []
        for chunk in table.chunks([name]):
            texts += chunk[name].head(limit - len(texts)).tolist()
            if len(texts) == limit:
                break
    if not texts:
        raise ValueError(f"{path}: the table has no rows, so there are no keys to measure with.")
    for number, text in enumerate(texts, start=1):
        if text is None or text != text:  # NaN
            raise ValueError(f"{path}: row {number} has no {name!r}, which is the key. Fill it in, or remove the row.")
    return as_numbers([str(text) for text in texts])


def as_numbers(texts: Sequence[str]) -> list[Any]:
    """Return whole numbers if no text changes by that, otherwise the texts.

    >>> as_numbers(["17", "4"]), as_numbers(["007", "4"])
    ([17, 4], ['007', '4'])
    """
    if all(text.isascii() and text.removeprefix("-").isdigit() and str(int(text)) == text for text in texts):
        return [int(text) for text in texts]
    return list(texts)


def refuse_names(catalog: Any, output: Path) -> None:
    """Raise an error if the format of the price list cannot hold the names, before anything is measured."""
    from thrifty.costs.files import FORMATS
    from thrifty.runtime.profiling import Profile, price_list

    trial = price_list(Profile(each.name, each.features, (1.0,), 1) for each in catalog)
    FORMATS[output.suffix.lower()][1](trial)


def print_profiles(profiles: Sequence[Any], statistic: str) -> None:
    """Print the latencies as a table."""
    from thrifty.cli.terminal import plain_table, print_uncut

    table = plain_table(
        source="left", features="left", calls="right", failed="right", median="right", p95="right", price_in_ms="right"
    )
    for each in profiles:
        latencies = (f"{value:.3f}" for value in (each.median, each.p95, each.price(statistic)))
        table.add_row(
            each.source, features_text(each.features), f"{each.n_calls:,}", f"{each.n_failures:,}", *latencies
        )
    print_uncut(table)


def features_text(features: Sequence[str]) -> str:
    """Return the names of some features, and how many more there are.

    >>> features_text(["a", "b", "c", "d", "e"])
    'a, b, c, d and 1 more'
    """
    rest = f" and {len(features) - MAX_FEATURES} more" if len(features) > MAX_FEATURES else ""
    return ", ".join(features[:MAX_FEATURES]) + rest


def ending(prices: Any, output: Path | None) -> str:
    """Return a sentence about all prices together, and where they are."""
    from thrifty.costs.amounts import amount

    total = f"All features together cost {amount(prices.total, prices.unit)}."
    if output is None:
        return f"{total} Pass -o costs.csv to write the price list."
    return f"{total} Written to {output}, for 'thrifty fit --costs {output}'."
