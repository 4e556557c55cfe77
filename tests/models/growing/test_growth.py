"""A tree that is grown in one call is the tree that is grown node by node."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thrifty.models.growing import free_growth
from thrifty.models.growing.binning import Bins
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments

PROBLEMS = st.fixed_dictionaries(
    {
        "seed": st.integers(0, 10_000),
        "n": st.integers(2, 400),
        "d": st.integers(1, 19),
        "n_values": st.sampled_from([2, 5, 1000]),
        "is_weighted": st.booleans(),
        "constant_hessian": st.booleans(),
        "max_depth": st.sampled_from([None, 1, 3]),
        "max_leaf_nodes": st.sampled_from([None, 2, 7]),
        "min_samples_leaf": st.sampled_from([1.0, 4.0, 25.0]),
        "by_hessian": st.booleans(),
        "ridge": st.sampled_from([0.0, 1.5]),
    }
)


def grown(problem, few_cells):
    """Grow a tree of a random problem; `few_cells` decides by which of the two ways."""
    random, n, d = np.random.default_rng(problem["seed"]), problem["n"], problem["d"]
    X = np.floor(problem["n_values"] * random.random((n, d)))
    categorical = random.random(d) < 0.3
    X[:, categorical] %= 12
    X[random.random((n, d)) < 0.15] = np.nan
    bins = Bins.of(X, np.ones(n), 64, categorical, np.random.default_rng(0))
    weight = random.uniform(0.1, 3.0, n) if problem["is_weighted"] else np.ones(n)
    gradient = weight * random.normal(size=n) + weight * np.nan_to_num(X[:, 0] > 0)
    hessian = weight if problem["constant_hessian"] else weight * random.uniform(0.0, 0.25, n)
    limits = Limits(
        problem["max_depth"],
        problem["max_leaf_nodes"],
        problem["min_samples_leaf"],
        problem["ridge"],
        problem["by_hessian"],
    )
    shuffled = random.permutation(n).astype(np.uint32)
    bag, rest = np.sort(shuffled[: (n + 1) // 2]), np.sort(shuffled[(n + 1) // 2 :])
    features = np.sort(random.choice(d, int(random.integers(1, d + 1)), replace=False))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free_growth, "FEW_CELLS", few_cells)
        patch.setattr(free_growth, "n_threads", lambda: 2)
        payments = NoPayments(weight, d)
        grower = Grower(bins.codes(X), bins, payments, limits, problem["constant_hessian"], float(weight.sum()))
        tree = grower.grow(gradient, hessian, bag, rest, features)
    scores = np.zeros(n)
    tree.add_to(scores, 0.1)
    return tree, scores


@settings(max_examples=150, deadline=None)
@given(PROBLEMS)
def test_both_ways_grow_the_same_tree(problem):
    (in_one_call, scores), (by_node, expected) = grown(problem, np.inf), grown(problem, -1)
    one, other = in_one_call.as_tree(0.1), by_node.as_tree(0.1)
    for name in ("feature", "left", "right", "missing_left", "value"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    splits = one.feature >= 0
    numeric = splits & ~np.isin(np.arange(len(splits)), list(other.categories))
    np.testing.assert_array_equal(one.threshold[numeric], other.threshold[numeric])
    assert one.categories == other.categories
    np.testing.assert_array_equal(scores, expected)
    assert in_one_call.saved == pytest.approx(by_node.saved, rel=1e-12)
    assert in_one_call.split_features == by_node.split_features
    for leaf, parts in by_node.rows.items():
        for mine, theirs in zip(in_one_call.rows[leaf], parts, strict=True):
            np.testing.assert_array_equal(mine, theirs)


def test_a_problem_of_the_test_has_splits():
    problem = {"seed": 0, "n": 400, "d": 9, "n_values": 1000, "is_weighted": True, "constant_hessian": False}
    limits = {"max_depth": None, "max_leaf_nodes": None, "min_samples_leaf": 4.0, "by_hessian": False, "ridge": 0.0}
    tree, _ = grown(problem | limits, np.inf)
    assert tree.n_splits > 10
