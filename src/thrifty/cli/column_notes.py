"""What ``thrifty fit`` says about columns, and ``thrifty predict`` about odd cells."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from thrifty.cli.tables.table_file import quoted
from thrifty.cli.words import plural, shortened
from thrifty.models.tables.column_reports import ColumnReport
from thrifty.models.tables.fields import BOOLEAN, CATEGORY, DATE, NUMBER
from thrifty.models.tables.odd_cells import OddCells

MAX_NAMES = 60
MAX_VALUE = 40  # characters
PLURALS = {NUMBER: "numbers", BOOLEAN: "booleans", DATE: "dates", CATEGORY: "categories"}
ODD = {
    NUMBER: "not a finite number",
    BOOLEAN: "neither true nor false",
    DATE: "not a date",
    CATEGORY: "new to the model",
}
OPTIONS = {NUMBER: "--numeric", CATEGORY: "--category"}
STRICT = "Correct them, or leave out --strict."


def summary(reports: Sequence[ColumnReport]) -> list[str]:
    """Return a line per kind, with the columns that were taken for it."""
    lines = []
    for kind, plural_kind in PLURALS.items():
        if names := [_described(each) for each in reports if each.kind == kind]:
            rest = f" and {len(names) - MAX_NAMES} more" if len(names) > MAX_NAMES else ""
            lines.append(f"{plural_kind.capitalize()}: {', '.join(names[:MAX_NAMES])}{rest}.")
    return lines


def _described(report: ColumnReport) -> str:
    details = [f"{plural(report.n_levels, 'level')}"] if report.n_levels else []
    details += [f"{report.n_missing:,} missing"] if report.n_missing else []
    return f"{report.column} ({', '.join(details)})" if details else str(report.column)


def odd_columns(reports: Iterable[ColumnReport], numbers: Sequence[int]) -> list[str]:
    """Return a sentence about each column with odd cells; `numbers` are the row numbers that people count."""
    return [_odd_column(each, numbers) for each in reports if each.odd]


def _odd_column(report: ColumnReport, numbers: Sequence[int]) -> str:
    odd = report.odd
    assert odd is not None
    found = (
        f"{len(odd.rows):,} of {plural(report.n_values, 'value')} of {report.column!r} {_are(odd)} {ODD[odd.expected]}"
    )
    first = f"first {_shown(odd.first)} in row {numbers[odd.rows[0]]}"
    if report.kind == CATEGORY:
        return f"{found}, {first}. The column is taken as a category. Pass {_option(odd.expected, report)}."
    more = "" if report.told else f" Pass {_option(CATEGORY, report)} to take the column as a category."
    return f"{found}, {first}, and {_are(odd)} treated as missing.{more}"


def _option(kind: str, report: ColumnReport) -> str:
    if kind not in OPTIONS:
        return f"--category {report.column!r} to confirm this, or correct these cells"
    return f"{OPTIONS[kind]} {report.column!r}" + (" to take it as numbers" if kind == NUMBER else "")


def refuse_useless(reports: Iterable[ColumnReport], numbers: Sequence[int]) -> None:
    """Raise ValueError if a column that was said to be numbers has none."""
    for each in reports:
        if each.told and each.odd and len(each.odd.rows) == each.n_values:
            raise ValueError(
                f"--numeric is {each.column!r}, but none of its values is a number; row "
                f"{numbers[each.odd.rows[0]]} has {_shown(each.odd.first)}. Leave out --numeric for this column."
            )


class _OddColumn(NamedTuple):
    """The odd cells of a column: what they are not, the first one and where it is, and how many there are."""

    expected: str
    first: Any
    place: str
    n_cells: int


class OddCellCounts:
    """Counts the odd cells of a table that is read in chunks."""

    def __init__(self) -> None:
        self._found: dict[Any, _OddColumn] = {}

    def add(self, cells: Iterable[OddCells], n_rows_before: int) -> None:
        """Count the odd cells of a chunk."""
        for odd in cells:
            place = f"row {n_rows_before + int(odd.rows[0]) + 1}"
            self._add(odd.column, _OddColumn(odd.expected, odd.first, place, len(odd.rows)))

    def add_file(self, counts: "OddCellCounts", file: str) -> None:
        """Count the odd cells of a file."""
        for name, odd in counts._found.items():
            self._add(name, odd._replace(place=f"{odd.place} of {file}"))

    def _add(self, name: Any, odd: _OddColumn) -> None:
        known = self._found.get(name, odd._replace(n_cells=0))
        self._found[name] = known._replace(n_cells=known.n_cells + odd.n_cells)

    def sentences(self) -> list[str]:
        """Return a sentence about each column with odd cells, and how they are treated."""
        return [f"{found}, and treated as {treatment}." for found, treatment in self._findings()]

    def refuse(self, place: str) -> None:
        """Raise ValueError if there are odd cells."""
        if self._found:
            found = "; ".join(found for found, _ in self._findings())
            raise ValueError(f"{place}: --strict refuses odd cells: {found}. {STRICT}")

    def _findings(self) -> Iterator[tuple[str, str]]:
        for name, odd in self._found.items():
            are = "is" if odd.n_cells == 1 else "are"
            found = f"{plural(odd.n_cells, 'cell')} of {name!r} {are} {ODD[odd.expected]}"
            found += f", first {_shown(odd.first)} in {odd.place}"
            yield found, "unlike all levels" if odd.expected == CATEGORY else "unavailable"


def _are(odd: OddCells) -> str:
    return "is" if len(odd.rows) == 1 else "are"


def _shown(value: Any) -> str:
    return shortened(repr(value), MAX_VALUE, at_end=8)


def kinds_from(numeric: Sequence[str], category: Sequence[str]) -> dict[Any, str]:
    """Return the kinds that the options --numeric and --category give."""
    if both := sorted({*numeric} & {*category}):
        raise ValueError(f"{quoted(both)} is named by both --numeric and --category. Leave out one of them.")
    return dict.fromkeys(numeric, NUMBER) | dict.fromkeys(category, CATEGORY)


def settled(kinds: Mapping[Any, str], reports: Iterable[ColumnReport]) -> dict[Any, str]:
    """Return the kinds that the options give, and those of columns in doubt, which have been reported."""
    return {each.column: each.kind for each in reports if each.odd} | dict(kinds)


def as_records(reports: Iterable[ColumnReport], numbers: Sequence[int | None]) -> list[dict[str, Any]]:
    """Return the reports as plain values, ready for JSON."""
    return [
        {
            "column": each.column,
            "kind": each.kind,
            "values": each.n_values,
            "missing": each.n_missing,
            "levels": each.n_levels,
            "odd": None
            if each.odd is None
            else {"count": len(each.odd.rows), "first": each.odd.first, "row": numbers[each.odd.rows[0]]},
        }
        for each in reports
    ]
