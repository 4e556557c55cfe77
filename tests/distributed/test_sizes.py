"""Blocks of rows tell Dask how many bytes they take, so that workers write them to disk in time."""

import numpy as np
import pytest
from dask.sizeof import sizeof

import thrifty.distributed  # noqa: F401 - it tells Dask the sizes of blocks
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.standardised import CanonicalRows
from thrifty.models.expected_cost.traversal import SoftRows
from thrifty.models.growing.losses import SquaredError
from thrifty.models.least_squares.node_rows import RowBlock
from thrifty.models.rows import Rows

X, ONE = np.ones((1000, 10)), np.ones(1000)
KEYS = ONE + 0j
BLOCKS = [  # a block, and the numbers that it holds for each row
    (Rows(X, ONE), 11),
    (RowBlock(X, ONE[:, None], ONE), 12),
    (CanonicalRows(X, ONE[:, None], ONE, KEYS), 14),
    (TrainingRows(X, ONE[:, None], ONE, ONE, KEYS), 15),
    (SquaredError(ONE, ONE), 2),
]


@pytest.mark.parametrize(("block", "n_numbers"), BLOCKS)
def test_blocks_tell_their_sizes(block, n_numbers):
    assert 8000 * n_numbers <= sizeof(block) < 8000 * n_numbers + 1000


def test_tuples_of_arrays_are_as_large_as_the_arrays():
    soft = SoftRows(*[X for _ in SoftRows._fields])
    assert sizeof(soft) >= X.nbytes * len(soft)
