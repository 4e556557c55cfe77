"""Read and write cost models as CSV: one row per feature or bundle. `thrifty.costs.files` describes the format."""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Collection
from typing import Any, NamedTuple

from thrifty.costs.declaration import first_repeated, parse_name, parse_price
from thrifty.costs.errors import format_value, prefix_errors
from thrifty.costs.model import CostModel
from thrifty.exceptions import CostError

COLUMNS = ("name", "price", "bundles", "requires")
PLAIN_NUMBER = re.compile(r"[+-]?([0-9]++\.?[0-9]*+|\.[0-9]++)([eE][+-]?[0-9]++)?")  # `float` also accepts 1_000


class Row(NamedTuple):
    """One parsed row of the table, with the number of its line."""

    line: int
    name: str
    price: Any
    bundles: list[str]
    requires: list[str]


def parse_csv(text: str) -> dict[str, Any]:
    """Return the arguments of the CostModel that a CSV text describes."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        columns, unit = _parse_header(next(reader, []))
        places = [columns.index(title) if title in columns else len(columns) for title in COLUMNS]
        rows = [_parse_row(reader.line_num, len(columns), places, cells) for cells in reader if any(cells)]
    except csv.Error as error:
        raise CostError(f"line {reader.line_num}: {error}. Correct the CSV.") from None
    members: dict[str, list[str]] = {bundle: [] for row in rows for bundle in row.bundles}
    _refuse_bad_rows(rows, members.keys())
    features = [row for row in rows if row.name not in members]
    for feature in features:
        for bundle in feature.bundles:
            members[bundle].append(feature.name)
    return {
        "costs": {row.name: row.price for row in features},
        "bundles": {row.name: (members[row.name], row.price) for row in rows if row.name in members},
        "requires": {row.name: row.requires for row in features if row.requires},
        "unit": unit,
    }


def render_csv(model: CostModel) -> str:
    """Return a cost model with names as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("name", f"price ({_cell(model.unit)})" if model.unit else "price", "bundles", "requires"))
    requires, bundles_of = model.requires, bundles_by_member(model)
    for name, price in model.costs.items():
        writer.writerow((_cell(name), price, _cell(*bundles_of.get(name, ())), _cell(*requires.get(name, ()))))
    for name, (_, price) in model.bundles.items():
        writer.writerow((_cell(name), price, "", ""))
    return text.getvalue()


def bundles_by_member(model: CostModel) -> dict[Any, list[str]]:
    """Return the bundles of each feature that is in a bundle."""
    bundles_of = defaultdict(list)
    for bundle, (members, _) in model.bundles.items():
        for feature in members:
            bundles_of[feature].append(bundle)
    return dict(bundles_of)


def _parse_header(header: list[str]) -> tuple[list[str], str]:
    columns, unit = [], ""
    for title in map(str.strip, header):
        if found := re.fullmatch(r"price\s*\((.*)\)", title, re.DOTALL):
            title, unit = "price", found[1]
        if title not in COLUMNS:
            raise CostError(f"line 1: the column {format_value(title)} is unknown. Use {', '.join(COLUMNS)}.")
        if title in columns:
            raise CostError(f"line 1: the column {format_value(title)} appears twice. Keep one.")
        columns.append(title)
    for title in ("name", "price"):
        if title not in columns:
            raise CostError(f"line 1: the column {format_value(title)} is missing. Name the columns in the first line.")
    return columns, unit


def _parse_row(line: int, n_columns: int, places: list[int], cells: list[str]) -> Row:
    """Return a row; `places` has the place of each of COLUMNS among the cells, or `n_columns` if it is left out."""
    if len(cells) > n_columns:
        counts = f"the row has {len(cells)} cells but the header has {n_columns}"
        raise CostError(f"line {line}: {counts}. Put text with commas in quotes.")
    padded = [*cells, *[""] * (n_columns + 1 - len(cells))]
    name, price, bundles, requires = [padded[place].strip() for place in places]
    with prefix_errors(f"line {line}"):
        parse_name(name)
    return Row(line, name, _parse_number(price), _entries(bundles), _entries(requires))


def _parse_number(cell: str) -> Any:
    """Return a number, None for an empty cell, or the unchanged text, which `parse_price` refuses later."""
    if not cell:
        return None
    return float(cell) if PLAIN_NUMBER.fullmatch(cell) else cell


def _entries(cell: str) -> list[str]:
    return [entry.strip() for entry in cell.split(";") if entry.strip()] if cell else []


def _cell(*entries: str) -> str:
    for entry in entries:
        if ";" in entry or "\r" in entry or entry != entry.strip():
            problem = "it contains a semicolon or a carriage return, or begins or ends with a space"
            raise CostError(f"CSV cannot hold {format_value(entry)}: {problem}. Use TOML.")
    return ";".join(entries)


def _refuse_bad_rows(rows: list[Row], bundles: Collection[str]) -> None:
    """Check the rows before `CostModel` does, because only here the line numbers are known."""
    names: set[str] = set()
    known = {row.name: "bundle" if row.name in bundles else "feature" for row in rows}
    for row in rows:
        with prefix_errors(f"line {row.line}"):
            if row.name in names:
                raise CostError(f"the name {format_value(row.name)} appears twice. Keep one row.")
            names.add(row.name)
            if row.name in bundles:
                _refuse_bad_bundle(row)
            elif row.price is not None:
                parse_price(row.price, "feature", row.name)
            _refuse_bad_entries(row, "bundles", row.bundles, "bundle", known)
            _refuse_bad_entries(row, "requires", row.requires, "feature", known)


def _refuse_bad_bundle(row: Row) -> None:
    parse_price(row.price, "bundle", row.name)
    if row.bundles or row.requires:
        name = format_value(row.name)
        raise CostError(f"{name} is a bundle, so its bundles and requires cells must be empty. Empty them.")


def _refuse_bad_entries(row: Row, title: str, entries: list[str], kind: str, known: dict[str, str]) -> None:
    """Refuse entries that are repeated, or not the name of a row of this kind; `known` tells the kind of each row."""
    for entry in entries:
        if known.get(entry) != kind:
            name, shown = format_value(row.name), format_value(entry)
            problem = f"{name} lists {shown} under {title}, but {shown} is not the name of a {kind}"
            raise CostError(f"{problem}. Add a row with its price.")
    if len(entries) > 1 and (repeated := first_repeated(entries)) is not None:
        raise CostError(f"{format_value(row.name)} lists {format_value(repeated)} twice under {title}. List it once.")
