import numpy as np
import pytest

from thrifty.kernels.histograms import Columns, SplitRules, pack_rows
from thrifty.kernels.tree_growth import Size, grow_tree
from thrifty.kernels.tree_rows import LEAF

N = 200
ALL, NOBODY = np.arange(N, dtype=np.uint32), np.empty(0, dtype=np.uint32)


@pytest.fixture
def columns():
    in_blocks = np.random.default_rng(0).integers(0, 30, (1, N, 8)).astype(np.uint8)
    edges = np.tile(np.arange(255) + 0.5, (8, 1))
    return Columns(
        in_blocks.view("<u8")[:, :, 0], in_blocks, np.full(8, 30), edges, np.zeros(8, dtype=bool), np.arange(8)
    )


def grown(columns, size, n_histograms=8):
    packed = pack_rows(ALL, np.random.default_rng(1).normal(size=N), np.ones(N), np.ones(N), 1)
    pool = np.random.default_rng(2).integers(-(2**40), 2**40, (n_histograms, 8, 256, 1))
    return grow_tree(columns, size, SplitRules(2.0, False, 0.0), ALL.copy(), NOBODY, packed, 1e-12, np.arange(8), pool)


@pytest.mark.parametrize("n_histograms", [1, 3, 64])
def test_the_memory_for_histograms_grows_and_does_not_change_the_tree(columns, n_histograms):
    expected, expected_saved, _ = grown(columns, Size(100, 100))
    nodes, saved, pool = grown(columns, Size(100, 100), n_histograms)
    assert saved == expected_saved
    assert len(pool) > 3
    for array, expected_array in zip(nodes, expected, strict=True):
        np.testing.assert_array_equal(array, expected_array)


@pytest.mark.parametrize(
    ("size", "n_leaves"), [(Size(100, 1), 1), (Size(100, 2), 2), (Size(1, 100), 2), (Size(2, 3), 3)]
)
def test_the_size_of_a_tree_is_limited(columns, size, n_leaves):
    nodes, saved, _ = grown(columns, size)
    assert (nodes.feature == LEAF).sum() == n_leaves
    assert (saved > 0) == (n_leaves > 1)


def test_the_rows_of_a_node_are_those_of_its_children(columns):
    nodes, _, _ = grown(columns, Size(100, 20))
    for node in np.flatnonzero(nodes.feature != LEAF):
        left, right = nodes.left[node], nodes.right[node]
        assert node < left < right
        assert [*nodes.bag_span[left], *nodes.bag_span[right]] == [
            nodes.bag_span[node, 0],
            nodes.bag_span[left, 1],
            nodes.bag_span[left, 1],
            nodes.bag_span[node, 1],
        ]
        assert nodes.rest_span[node].tolist() == [0, 0]
