"""One unit of work of the suite: what names it, and what measures it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class LeftOutError(Exception):
    """A run cannot be computed on this machine. It is left out, as if data were missing."""


class Key(NamedTuple):
    """What names a run in the file of results.

    Attributes
    ----------
    name : str
        The problem or the reproduction.
    seed : int
        The seed of the split, of the data if they are drawn, and of the methods.
    setting : str
        The contender, or the setting of a contender.
    full : bool
        Whether the run belongs to the full suite. A quick run of the same setting is another run.
    """

    name: str
    seed: int
    setting: str
    full: bool = False


@dataclass(frozen=True)
class Run:
    """A key, and a function without arguments that returns what was measured.

    Attributes
    ----------
    key : Key
    measure : callable
        Returns a dict of JSON values. It must be possible to pickle it, so that runs can be computed in other
        processes: use ``functools.partial`` of a function of a module. It raises `thrifty.DatasetNotFoundError`,
        ImportError or LeftOutError if data, a package or memory are missing; the run is then left out, and not written
        to the file.
    settings : mapping
        What is worth recording beside the key: sizes, numbers of trials, parameters. JSON values.
    """

    key: Key
    measure: Callable[[], dict[str, Any]]
    settings: Mapping[str, Any] = field(default_factory=dict)
