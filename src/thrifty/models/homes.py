"""Where the rows live: the one seam between trainers and the memory that holds the rows.

Rows are divided into blocks. A trainer never loops over rows. It passes functions of a block, and the home of the
blocks calls them where the blocks are:

    home.sum(work, *arguments)          the sum over blocks of what work(block, *arguments) returns
    home.collect(work, *arguments)      what it returns for each block, in a list
    home.map(work, *arguments)          a home of what it returns; that stays beside the rows
    home.map_small(work, *arguments)    the same, for results that are small compared with the blocks, and soon replaced
    home.replaced_by(work, *arguments)  the same as map, if the blocks themselves are not needed any more
    home.beside(other)                  a home of pairs; work gets both: work(block, other_block, *arguments)
    home.in_larger_blocks(join, ..)     a home of fewer and larger blocks, because each call of a function takes time

`Here` holds all rows of this process as one block, and functions of a block use threads (`kernels.threads`).
`thrifty.distributed.Partitions` holds one block per partition of a Dask collection, on the workers of a cluster. So
functions of a block are functions of a module, their results are small, and they change neither blocks nor arguments.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import reduce
from importlib import import_module
from operator import add
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from thrifty.exceptions import MissingExtraError

Block = TypeVar("Block", covariant=True)
Work = Callable[..., Any]


class PerBlock(NamedTuple):
    """An argument that differs between blocks: one value per block."""

    values: Sequence[Any]


def evenly_spaced(lengths: Sequence[int], size: int) -> PerBlock:
    """Return the positions in each block of at most `size` rows, evenly spaced over the rows of all blocks.

    Examples
    --------
    >>> from thrifty.models.homes import evenly_spaced
    >>> [positions.tolist() for positions in evenly_spaced([3, 0, 4], 4).values]
    [[0, 2], [], [1, 3]]
    """
    n_rows = sum(lengths)
    return positions_in_blocks(np.linspace(0, n_rows - 1, min(size, n_rows)).astype(int), lengths)


def positions_in_blocks(chosen: np.ndarray, lengths: Sequence[int]) -> PerBlock:
    """Return where some rows are in each block; `chosen` are positions among the rows of all blocks, ascending."""
    ends = np.cumsum(lengths)
    parts = np.split(chosen, np.searchsorted(chosen, ends[:-1]))
    return PerBlock([part - start for part, start in zip(parts, [0, *ends[:-1]], strict=True)])


class Home(ABC, Generic[Block]):
    """Where blocks of rows live."""

    @property
    @abstractmethod
    def n_blocks(self) -> int:
        """The number of blocks."""

    @property
    @abstractmethod
    def block(self) -> Block:
        """The only block, for trainers that need all rows in this process."""

    @abstractmethod
    def sum(self, work: Work, *arguments: Any) -> Any:
        """Return the sum over blocks of ``work(block, *arguments)``: a number, an array, or a tuple of them."""

    @abstractmethod
    def collect(self, work: Work, *arguments: Any) -> list[Any]:
        """Return ``work(block, *arguments)`` of each block, in the order of the rows."""

    @abstractmethod
    def map(self, work: Work, *arguments: Any) -> "Home[Any]":
        """Return the home of ``work(block, *arguments)``, which stays where the block is."""

    def map_small(self, work: Work, *arguments: Any) -> "Home[Any]":
        """Return the same as `map`; the results are small compared with the blocks, and soon replaced by others.

        So it does not pay off to tell a scheduler of them.
        """
        return self.map(work, *arguments)

    def replaced_by(self, work: Work, *arguments: Any) -> "Home[Any]":
        """Return the same as `map`, and give the memory of these blocks back as soon as possible.

        This home must not be used again.
        """
        return self.map(work, *arguments)

    @abstractmethod
    def beside(self, other: "Home[Any]") -> "Home[Any]":
        """Return the home of the blocks together with those of another home of the same rows."""

    def in_larger_blocks(self, join: Work, sizes: Sequence[int]) -> "Home[Block]":
        """Return a home of the same rows in the same order, in as few blocks as can be worked on at the same time.

        `join` makes one block of several, ``join(*blocks)``, and `sizes` are the numbers of rows of the blocks.
        """
        return self


class Here(Home[Block]):
    """One block in the memory of this process.

    Parameters
    ----------
    *parts : object
        The block, or the things that lie side by side.

    Examples
    --------
    >>> from thrifty.models.homes import Here
    >>> Here([1.0, 2.0]).beside(Here([3.0, 4.0])).sum(lambda x, y, power: sum(x) ** power + sum(y), 2)
    16.0
    """

    def __init__(self, *parts: Any):
        self._parts = parts

    @property
    def n_blocks(self) -> int:
        """One."""
        return 1

    @property
    def block(self) -> Block:
        """The block."""
        (block,) = self._parts
        return block

    def sum(self, work: Work, *arguments: Any) -> Any:
        """Return ``work(block, *arguments)``."""
        return work(*self._parts, *[each.values[0] if isinstance(each, PerBlock) else each for each in arguments])

    def collect(self, work: Work, *arguments: Any) -> list[Any]:
        """Return ``work(block, *arguments)`` in a list."""
        return [self.sum(work, *arguments)]

    def map(self, work: Work, *arguments: Any) -> "Here[Any]":
        """Return the home of ``work(block, *arguments)``."""
        return Here(self.sum(work, *arguments))

    def beside(self, other: Home[Any]) -> "Here[Any]":
        """Return the home of both blocks."""
        assert isinstance(other, Here)
        return Here(*self._parts, *other._parts)


class Joined(Home[Block]):
    """The blocks of two homes, one after another, such as rows on workers and a few rows of this process.

    Parameters
    ----------
    first, second : Home

    Examples
    --------
    >>> from thrifty.models.homes import Here, Joined, PerBlock
    >>> Joined(Here([1.0, 2.0]), Here([3.0])).collect(lambda x, power: sum(x) ** power, PerBlock([2, 3]))
    [9.0, 27.0]
    """

    def __init__(self, first: Home[Any], second: Home[Any]):
        self._homes = first, second

    @property
    def n_blocks(self) -> int:
        """The number of blocks of both homes."""
        return sum(home.n_blocks for home in self._homes)

    @property
    def block(self) -> Block:
        """What the first home says, because there are at least two blocks."""
        return self._homes[0].block

    def sum(self, work: Work, *arguments: Any) -> Any:
        """Return the sum over the blocks of both homes."""
        return added([home.sum(work, *those) for home, those in self._each(arguments)])

    def collect(self, work: Work, *arguments: Any) -> list[Any]:
        """Return ``work(block, *arguments)`` of each block."""
        return [result for home, those in self._each(arguments) for result in home.collect(work, *those)]

    def map(self, work: Work, *arguments: Any) -> "Joined[Any]":
        """Return the home of ``work(block, *arguments)``."""
        return Joined(*(home.map(work, *those) for home, those in self._each(arguments)))

    def map_small(self, work: Work, *arguments: Any) -> "Joined[Any]":
        """Return the home of ``work(block, *arguments)``."""
        return Joined(*(home.map_small(work, *those) for home, those in self._each(arguments)))

    def beside(self, other: Home[Any]) -> "Joined[Any]":
        """Return the home of the blocks of both."""
        assert isinstance(other, Joined)
        return Joined(*(mine.beside(its) for mine, its in zip(self._homes, other._homes, strict=True)))

    def _each(self, arguments: tuple[Any, ...]) -> list[tuple[Home[Any], list[Any]]]:
        """Return both homes, each with the arguments for its blocks."""
        n_first = self._homes[0].n_blocks
        parts = slice(0, n_first), slice(n_first, None)
        return [
            (home, [PerBlock(each.values[part]) if isinstance(each, PerBlock) else each for each in arguments])
            for home, part in zip(self._homes, parts, strict=True)
        ]


def argument_of(argument: Any, block: int) -> Any:
    """Return the argument for a block."""
    return argument.values[block] if isinstance(argument, PerBlock) else argument


def added(results: Sequence[Any]) -> Any:
    """Return the sum of what blocks returned: numbers, arrays, or tuples of them."""
    if isinstance(results[0], tuple):
        return tuple(reduce(add, each) for each in zip(*results, strict=True))
    return reduce(add, results)


def is_collection(data: Any) -> bool:
    """Tell whether data are a Dask collection: a DataFrame, a Series or an Array that is computed later."""
    return type(data).__module__.partition(".")[0] == "dask" and hasattr(data, "__dask_graph__")


def collections() -> Any:
    """Return `thrifty.distributed`, imported by name because models stand below it and Dask is an optional extra."""
    try:
        return import_module("thrifty.distributed")
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("dask", "distributed"):
            raise
        raise MissingExtraError(f"Dask collections need {error.name}. Run: pip install 'thrifty[dask]'") from error
