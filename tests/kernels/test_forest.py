import numpy as np
import pytest

from reference.forest import descend, uses
from thrifty.models.boosting.forest import LEAF, Forest, Tree

N_FEATURES = 6


def grown(random, depth, n_values):
    """Return a random tree that is not complete, its nodes in random order behind the root."""
    nodes = []

    def grow(level):
        nodes.append(None)
        me = len(nodes) - 1
        if level == depth or random.random() < 0.2:
            nodes[me] = (LEAF, 0.0, -7, 99)
        else:
            nodes[me] = (random.integers(N_FEATURES), random.normal(), grow(level + 1), grow(level + 1))
        return me

    grow(0)
    order = np.r_[0, 1 + random.permutation(len(nodes) - 1)]
    place = np.argsort(order)
    feature, threshold, left, right = (np.array(column) for column in zip(*(nodes[k] for k in order), strict=True))
    inner = feature != LEAF
    left[inner], right[inner] = place[left[inner]], place[right[inner]]
    return Tree(feature, threshold, left, right, random.normal(size=(len(nodes), n_values)))


def naive(forest, X):
    def output(x, tree):
        arrays = (forest.feature, forest.threshold, forest.left, forest.right)
        return forest.value[descend(*arrays, forest.starts[tree], x)]

    return np.array([np.concatenate([output(x, t) for t in range(forest.n_trees)]) for x in X])


@pytest.fixture(params=[1, 3])
def forest(request):
    random = np.random.default_rng(request.param)
    trees = [grown(random, depth, request.param) for depth in (0, 1, 2, 5, 8, 3)]
    return Forest.from_trees(trees, n_features=N_FEATURES)


def rows(n):
    X = np.random.default_rng(0).normal(size=(n, N_FEATURES))
    X[3, 2], X[5] = np.nan, np.nan
    return X


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [7, 32, 75])
def test_outputs_are_those_of_a_plain_walk(forest, n, dtype):
    X = rows(n).astype(dtype)
    np.testing.assert_array_equal(forest.outputs(X), naive(forest, X.astype(float)))


def test_threads_change_nothing(forest):
    X = rows(20_000)
    np.testing.assert_array_equal(forest.outputs(X)[12_345:12_400], forest.outputs(X[12_345:12_400]))


def test_some_outputs_in_any_order(forest):
    X, wanted = rows(40), [4, 0, 5, 5, 1]
    np.testing.assert_array_equal(forest.outputs(X, wanted), forest.outputs(X)[:, wanted])
    assert forest.outputs(X, []).shape == (40, 0)


def test_what_the_wanted_trees_do_not_read_does_not_matter(forest):
    X = rows(40)
    for j in range(forest.n_outputs):
        poisoned = np.where(forest.reads[j], X, np.inf)
        np.testing.assert_array_equal(forest.outputs(poisoned, [j]), forest.outputs(X, [j]))


def test_missing_values_are_filled(forest):
    X, fill = rows(40), np.linspace(-1, 1, N_FEATURES)
    np.testing.assert_array_equal(forest.outputs(X, fill=fill), forest.outputs(np.where(np.isnan(X), fill, X)))


def test_a_value_on_the_threshold_goes_left():
    stump = Tree([0, LEAF, LEAF], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0.0, -1.0, 1.0])
    forest = Forest.from_trees([stump], n_features=1)
    X = np.array([[0.5], [np.nextafter(0.5, 1)], [-np.inf], [np.inf], [np.nan]])
    assert forest.outputs(X).ravel().tolist() == [-1, 1, -1, 1, -1]


def test_reads_are_the_features_split_on(forest):
    for t, start in enumerate(forest.starts):
        used = uses(forest.feature, forest.left, forest.right, start)
        assert set(np.flatnonzero(forest.tree_reads[t])) == used
    assert forest.reads.shape == (forest.n_outputs, N_FEATURES)
    assert forest.tree_reads.any()
    assert not forest.tree_reads.all()
