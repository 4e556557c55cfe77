"""A table of a report: the same in the terminal and on the page."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class ShownTable:
    """A caption, names of columns, and rows of text."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
