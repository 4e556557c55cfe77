"""Rows in several blocks of this process: what rows on workers are, without the workers."""

import numpy as np

from thrifty.models.homes import Home, added, argument_of


class Blocks(Home):
    """Blocks in lists.

    Parameters
    ----------
    *parts : list
        The blocks, or, for things that lie side by side, the blocks of each of them.
    """

    def __init__(self, *parts):
        self._parts = parts

    @property
    def n_blocks(self):
        return len(self._parts[0])

    @property
    def block(self):
        raise ValueError("The rows are in several blocks.")

    def sum(self, work, *arguments):
        return added(self.collect(work, *arguments))

    def collect(self, work, *arguments):
        sides = zip(*self._parts, strict=True)
        return [work(*blocks, *(argument_of(each, k) for each in arguments)) for k, blocks in enumerate(sides)]

    def map(self, work, *arguments):
        return Blocks(self.collect(work, *arguments))

    def beside(self, other):
        return Blocks(*self._parts, *other._parts)


def fit_in_blocks(model, cuts, X, y, sample_weight=None, **options):
    """Fit a model to rows that are cut into blocks."""

    class InBlocks(type(model)):
        def _located(self, X, y, sample_weight=None, qid=None):
            rows = self._validated(X, y, sample_weight, qid)
            return Blocks([rows.take(part) for part in np.split(np.arange(len(rows)), cuts)])

    InBlocks.__name__ = InBlocks.__qualname__ = type(model).__name__
    return InBlocks(**model.get_params(deep=False)).fit(X, y, sample_weight, **options)
