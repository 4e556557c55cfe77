r"""Read error costs from CSV files.

For classes, one line for each pair of a true class and a predicted one. Pairs without a line cost nothing, but every
class has to be in some line::

    true,predicted,cost
    ill,healthy,1000
    healthy,ill,100

Or a matrix, with the predicted classes in the first line and the true classes in the first column. The text of the
first cell is free::

    true \ predicted,healthy,ill
    healthy,0,100
    ill,1000,0

For numbers, one line: what a unit of error costs, or a squared unit of error::

    absolute,2.5
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from thrifty.costs.declaration import parse_price
from thrifty.costs.errors import format_value, prefix_errors
from thrifty.costs.spreadsheets import PLAIN_NUMBER
from thrifty.exceptions import CostError

PAIRS = ["true", "predicted", "cost"]
NUMBERS = ("absolute", "squared")

Line = tuple[int, list[str]]  # its number, and its cells
Pairs = dict[tuple[Any, Any], float]


def read_error_costs(path: Path, classes: Any = None) -> Any:
    """Return the error costs of a file, in the form that `ErrorCosts.resolve` takes.

    Parameters
    ----------
    path : Path
    classes : array-like of shape (n_classes,), optional
        The classes of the data; the file names them by their text. None if numbers are predicted.

    Returns
    -------
    dict
        ``{(true, predicted): cost}``, or ``{"absolute": cost}`` or ``{"squared": cost}``.
    """
    with prefix_errors(str(path)):
        lines = _lines(_text(path))
        if not lines:
            raise CostError("the file has no lines. Write one for each pair: true,predicted,cost.")
        if classes is None:
            return _of_numbers(lines)
        named = {str(each): each for each in np.asarray(classes).tolist()}
        is_list = [cell.lower() for cell in lines[0][1]] == PAIRS
        return _checked_pairs(_listed(lines) if is_list else _matrix(lines), named)


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise CostError(f"cannot be read ({error.strerror}). Check the path.") from None
    except UnicodeDecodeError as error:
        raise CostError(f"byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


def _lines(text: str) -> list[Line]:
    """Return the lines that are not empty."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    except csv.Error as error:
        raise CostError(f"line {reader.line_num}: {error}. Correct the CSV.") from None
    return [(number, cells) for number, cells in rows if any(cells)]


def _of_numbers(lines: list[Line]) -> dict[str, float]:
    expected = f"Write one line such as {NUMBERS[0]},2.5 or {NUMBERS[1]},0.1."
    if len(lines) != 1:
        raise CostError(f"the file has {len(lines)} lines, but the target is a number. {expected}")
    number, cells = lines[0]
    with prefix_errors(f"line {number}"):
        if len(cells) != 2 or cells[0].lower() not in NUMBERS:
            raise CostError(f"{format_value(','.join(cells))} is not the cost of an error of a number. {expected}")
        if not (cost := _cost(cells[1], "an error")):
            raise CostError(f"an error costs 0, so that any answer would do. {expected}")
        return {cells[0].lower(): cost}


def _listed(lines: list[Line]) -> Iterator[tuple[int, str, str, str]]:
    """Yield line number, true class, predicted class and cost of a file with one line for each pair."""
    for number, cells in lines[1:]:
        if len(cells) != len(PAIRS):
            raise CostError(f"line {number}: there are {len(cells)} cells. Write {', '.join(PAIRS)}.")
        yield number, *cells  # type: ignore[misc]


def _matrix(lines: list[Line]) -> Iterator[tuple[int, str, str, str]]:
    """Yield line number, true class, predicted class and cost of a file with a matrix."""
    (first, (_, *answers)), *rows = lines
    for number, (true, *cells) in rows:
        if len(cells) != len(answers):
            raise CostError(f"line {number}: there are {len(cells)} costs for {len(answers)} predicted classes.")
        yield from ((number, true, answer, cell) for answer, cell in zip(answers, cells, strict=True))
    if sorted(answers) != sorted(cells[0] for _, cells in rows):
        raise CostError(
            f"line {first}: a matrix needs the same classes in the first line and in the first column. "
            f"Or begin with the line {','.join(PAIRS)}, and write one line for each pair."
        )


def _checked_pairs(cells: Iterator[tuple[int, str, str, str]], named: dict[str, Any]) -> Pairs:
    pairs: Pairs = {}
    for number, true, answer, cost in cells:
        with prefix_errors(f"line {number}"):
            pair = _class(true, named), _class(answer, named)
            if pair in pairs:
                raise CostError(f"the pair {true},{answer} appears twice. Keep one line.")
            pairs[pair] = _cost(cost, f"the answer {format_value(answer)} for {format_value(true)}")
    mentioned = {each for pair in pairs for each in pair}
    if missing := [name for name, label in named.items() if label not in mentioned]:
        raise CostError(f"the class {format_value(missing[0])} of the data is missing. Write what its errors cost.")
    return pairs


def _class(text: str, named: dict[str, Any]) -> Any:
    """Return the class with a text; True and False may be written in any case."""
    matches = [label for name, label in named.items() if text == name]
    matches += [label for name, label in named.items() if isinstance(label, bool) and text.lower() == name.lower()]
    if not matches:
        known = ", ".join(map(format_value, list(named)[:5]))
        raise CostError(f"{format_value(text)} is not a class of the data. Its classes are {known}.")
    return matches[0]


def _cost(text: str, what: str) -> float:
    number = float(text) if PLAIN_NUMBER.fullmatch(text) else np.nan
    if not 0 <= number < np.inf:
        raise CostError(f"{what} costs {format_value(text)}. A cost must be a finite number, 0 or more.")
    return parse_price(number, "error", what)
