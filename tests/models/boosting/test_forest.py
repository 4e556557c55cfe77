import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from thrifty.models.boosting.forest import LEAF, Forest, Tree

STUMP = {"feature": [1, LEAF, LEAF], "threshold": [0.5, 0, 0], "left": [1, 0, 0], "right": [2, 0, 0]}
GOOD = {**STUMP, "value": [0.0, -1.0, 1.0], "starts": [0], "n_features": 2}


def test_from_arrays():
    forest = Forest(**GOOD, base=3.0)
    assert (forest.n_trees, forest.n_outputs, forest.n_features) == (1, 1, 2)
    assert forest.reads.tolist() == [[False, True]]
    assert forest.outputs([[9, 0], [9, 1]]).tolist() == [[-1.0], [1.0]]  # whole numbers are fine
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
    ],
)
def test_broken_arrays_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        Forest(**GOOD | change)


def test_nobody_is_no_forest():
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


def test_a_forest_is_frozen():
    threshold = np.array([0.5, 0.0, 0.0])
    forest = Forest(**GOOD | {"threshold": threshold})
    threshold[0] = 7.0
    assert forest.outputs([[0.0, 1.0]])[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        forest.threshold[0] = 7.0
    assert clone(forest) is forest
    assert Forest.from_model(forest) is forest


def test_copies_agree():
    forest = Forest(**GOOD, base=[3.0], feature_names=["a", "b"])
    for twin in (pickle.loads(pickle.dumps(forest)), copy.deepcopy(forest)):
        assert twin.scores([[0.0, 1.0]]) == forest.scores([[0.0, 1.0]])
        assert (twin.feature_names, repr(twin)) == (("a", "b"), "Forest(1 tree, 3 nodes, 1 of 2 features read)")
