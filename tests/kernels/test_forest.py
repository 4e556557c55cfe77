import numpy as np
import pytest

from kernels.trees import N_FEATURES, coded_rows, naive_outputs, random_tree, rows
from reference.forest import uses
from thrifty.models.forests.forest import LEAF, Forest, Tree


@pytest.fixture(params=[1, 3])
def forest(request):
    random = np.random.default_rng(request.param)
    trees = [random_tree(random, depth, request.param) for depth in (0, 1, 2, 5, 8, 3)]
    return Forest.from_trees(trees, n_features=N_FEATURES)


@pytest.fixture(params=[1, 3])
def categorical_forest(request):
    random = np.random.default_rng(10 + request.param)
    trees = [random_tree(random, depth, request.param, categorical=depth != 3) for depth in (0, 1, 2, 5, 8, 3, 12)]
    return Forest.from_trees(trees, n_features=N_FEATURES)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_outputs_with_missing_values_and_categories_equal_the_naive_version(categorical_forest, dtype):
    assert categorical_forest.categories
    X = coded_rows(75).astype(dtype)
    np.testing.assert_array_equal(categorical_forest.outputs(X), naive_outputs(categorical_forest, X.astype(float)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [7, 32, 75])
def test_outputs_equal_the_naive_version(forest, n, dtype):
    X = rows(n).astype(dtype)
    np.testing.assert_array_equal(forest.outputs(X), naive_outputs(forest, X.astype(float)))


def test_result_does_not_depend_on_threads(forest):
    X = rows(20_000)
    np.testing.assert_array_equal(forest.outputs(X)[12_345:12_400], forest.outputs(X[12_345:12_400]))


def test_outputs_can_be_selected_in_any_order(forest):
    X, wanted = rows(40), [4, 0, 5, 5, 1]
    np.testing.assert_array_equal(forest.outputs(X, wanted), forest.outputs(X)[:, wanted])
    assert forest.outputs(X, []).shape == (40, 0)


def test_columns_that_the_trees_do_not_read_do_not_matter(forest):
    X = rows(40)
    for j in range(forest.n_outputs):
        changed = np.where(forest.reads[j], X, np.inf)
        np.testing.assert_array_equal(forest.outputs(changed, [j]), forest.outputs(X, [j]))


def test_missing_values_are_filled(forest):
    X, fill = rows(40), np.linspace(-1, 1, N_FEATURES)
    np.testing.assert_array_equal(forest.outputs(X, fill=fill), forest.outputs(np.where(np.isnan(X), fill, X)))


def test_a_value_on_the_threshold_goes_left():
    stump = Tree([0, LEAF, LEAF], [0.5, 0, 0], [1, 0, 0], [2, 0, 0], [0.0, -1.0, 1.0])
    forest = Forest.from_trees([stump], n_features=1)
    X = np.array([[0.5], [np.nextafter(0.5, 1)], [-np.inf], [np.inf], [np.nan]])
    assert forest.outputs(X).ravel().tolist() == [-1, 1, -1, 1, -1]


def test_reads_are_the_features_of_the_splits(forest):
    for t, start in enumerate(forest.starts):
        used = uses(forest.feature, forest.left, forest.right, start)
        assert set(np.flatnonzero(forest.tree_reads[t])) == used
    assert forest.reads.shape == (forest.n_outputs, N_FEATURES)
    assert forest.tree_reads.any()
    assert not forest.tree_reads.all()
