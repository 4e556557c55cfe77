import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingRegressor

from thrifty.models.forests.forest import LEAF, Forest, Tree

STUMP = {"feature": [1, LEAF, LEAF], "threshold": [0.5, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
GOOD = {**STUMP, "value": [0.0, -1.0, 1.0], "starts": [0], "n_features": 2}


def test_from_arrays():
    forest = Forest(**GOOD, base=3.0)
    assert (forest.n_trees, forest.n_outputs, forest.n_features) == (1, 1, 2)
    assert forest.reads.tolist() == [[False, True]]
    assert forest.outputs([[9, 0], [9, 1]]).tolist() == [[-1.0], [1.0]]  # whole numbers are accepted
    assert forest.scores([[9, 0], [9, 1]]).tolist() == [[2.0], [4.0]]


def test_outputs_add_up_by_score():
    tree = Tree(**STUMP, value=[0.0, -1.0, 1.0])
    forest = Forest.from_trees([tree, tree, tree], n_features=2, base=[0.0, 10.0], score_of=[0, 1, 1])
    assert forest.scores([[9.0, 1.0]]).tolist() == [[1.0, 12.0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"feature": [2, -1, -1]}, "feature holds an index outside 0..1"),
        ({"feature": [-2, -1, -1]}, "feature holds an index outside 0..1"),
        ({"feature": [0.5, -1, -1]}, "feature has shape"),
        ({"left": [3, 0, 0]}, "left holds an index outside 0..2"),
        ({"right": [-1, 0, 0]}, "right holds an index outside 0..2"),
        ({"left": [0, 0, 0]}, "node 0 is reached in two ways"),
        ({"left": [2, 0, 0]}, "node 2 is reached in two ways"),
        ({"starts": [0, 1]}, "node 1 is reached in two ways"),
        ({"starts": [3]}, "starts holds an index outside 0..2"),
        ({"starts": []}, "starts has shape|no trees"),
        ({"left": [1, 0]}, "left has 2 entries for 3 nodes"),
        ({"value": [0.0, 1.0]}, "value has 2 entries for 3 nodes"),
        ({"value": [0.0, np.nan, 1.0]}, "not finite"),
        ({"base": np.inf}, "not finite"),
        ({"threshold": [np.nan, 0, 0]}, "threshold is NaN"),
        ({"score_of": [1]}, "score_of holds an index outside 0..0"),
        ({"score_of": [0, 0]}, "score_of has 2 entries for 1 outputs"),
        ({"missing_left": [True]}, "missing_left has 1 entries for 3 nodes"),
        ({"missing_left": [0.5, 1, 1]}, "missing_left has shape"),
        ({"categories": {3: [1]}}, "categories has node 3, which is not a split"),
        ({"categories": {-3: [1]}}, "categories has node -3, which is not a split"),
        ({"categories": {1: [1]}}, "categories has node 1, which is not a split"),
        ({"categories": {0: [-1]}}, r"categories of node 0 are \[-1\]; expected whole numbers"),
        ({"categories": {0: [2**24]}}, "from 0 to 16777215"),
        ({"categories": {0: [0.5]}}, "expected whole numbers"),
    ],
)
def test_broken_arrays_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Forest(**GOOD | change)


def test_an_empty_list_of_trees_is_refused():
    with pytest.raises(ValueError, match="no trees"):
        Forest.from_trees([], n_features=2)


@pytest.mark.parametrize(
    ("X", "columns", "message"),
    [
        ([[1.0]], None, r"X has shape \(1, 1\); expected \(n, 2\)"),
        ([1.0, 2.0], None, r"X has shape \(2,\)"),
        ([[1.0, 2.0]], [1], "outputs from 0 to 0"),
        ([[1.0, 2.0]], [-1], "outputs from 0 to 0"),
    ],
)
def test_bad_requests_are_refused(X, columns, message):
    with pytest.raises(ValueError, match=message):
        Forest(**GOOD).outputs(X, columns)


def test_missing_values_go_left_by_default():
    holes = [[9.0, np.nan]]
    unknown, left, right = (Forest(**GOOD, missing_left=each) for each in (None, [True] * 3, [False] * 3))
    assert [each.outputs(holes)[0, 0] for each in (unknown, left, right)] == [-1.0, -1.0, 1.0]
    assert [each.knows_missing for each in (unknown, left, right)] == [False, True, True]
    assert right.outputs(holes, fill=[0.0, 0.0])[0, 0] == -1.0


def test_listed_categories_go_left():
    forest = Forest(**GOOD, categories={0: [3, 0, 64]})
    rows = np.array([0, 1, 3, 63, 64, 65, 1000, -1, 3.9, np.inf, -np.inf])
    goes_left = forest.outputs(np.column_stack([rows, rows]))[:, 0] < 0
    assert goes_left.tolist() == [True, False, True, False, True, False, False, False, True, False, False]
    assert Forest(**GOOD, categories={0: []}).outputs([[0.0, 0.0]])[0, 0] == 1.0


def test_a_prefix_holds_the_first_trees():
    model = HistGradientBoostingRegressor(max_iter=6, max_depth=3, categorical_features=[1])
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=300), random.integers(0, 5, 300)])
    X[::7, 0] = np.nan
    forest = Forest.from_model(model.fit(X, np.nan_to_num(X[:, 0]) + (X[:, 1] % 2)))
    for n_trees in (1, 4, 6):
        prefix = forest.prefix(n_trees)
        np.testing.assert_array_equal(prefix.outputs(X), forest.outputs(X)[:, :n_trees])
        np.testing.assert_array_equal(prefix.reads, forest.reads[:n_trees])
        assert (prefix.knows_missing, len(prefix.base)) == (True, 1)
    assert len(forest.prefix(2).feature) < len(forest.feature)
    for wrong in (0, 7):
        with pytest.raises(ValueError, match=f"n_trees is {wrong}; expected 1 to 6"):
            forest.prefix(wrong)


def test_nodes_that_no_tree_reaches_are_ignored():
    forest = Forest(**GOOD | {"starts": [1]}, categories={0: [1]})
    assert forest.outputs([[9.0, 1.0]])[0, 0] == -1.0
    assert forest.prefix(1).categories == {}


def test_a_forest_is_immutable():
    threshold = np.array([0.5, 0.0, 0.0])
    forest = Forest(**GOOD | {"threshold": threshold})
    threshold[0] = 7.0
    assert forest.outputs([[0.0, 1.0]])[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        forest.threshold[0] = 7.0
    with pytest.raises(TypeError):
        forest.categories[0] = (1,)
    assert clone(forest) is forest
    assert Forest.from_model(forest) is forest


def test_copies_agree():
    forest = Forest(**GOOD, base=[3.0], feature_names=["a", "b"], missing_left=[False] * 3, categories={0: [2]})
    for twin in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        for row in ([0.0, 1.0], [0.0, 2.0], [0.0, np.nan]):
            assert twin.scores([row]) == forest.scores([row])
        assert (twin.feature_names, repr(twin)) == (("a", "b"), "Forest(1 tree, 3 nodes, 1 of 2 features read)")
