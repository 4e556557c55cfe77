"""Growth of trees in one call of a kernel, and node by node, gives the same trees."""

from dataclasses import dataclass

import numpy as np
import pytest

from thrifty.kernels.threads import n_threads
from thrifty.models.forests.forest import LEAF
from thrifty.models.growing import free_growth
from thrifty.models.growing.bag import Bag
from thrifty.models.growing.binning import Bins
from thrifty.models.growing.growth import Grower
from thrifty.models.growing.limits import Limits
from thrifty.models.growing.payments import NoPayments


@dataclass
class Problem:
    """Random rows with numbers, categories, copied columns, missing values and weights, and random limits."""

    seed: int

    def __post_init__(self):
        random = self.random = np.random.default_rng(self.seed)
        n, d = int(random.integers(5, 400)), int(random.integers(1, 25))
        self.X = random.normal(size=(n, d))
        coarse = random.random(d) < 0.5
        self.X[:, coarse] = np.round(self.X[:, coarse] * random.integers(1, 8))
        self.categorical = random.random(d) < random.choice([0.0, 0.4])
        n_categories = np.where(random.random(d) < 0.5, 8, 300)  # more than there are codes
        self.X[:, self.categorical] = random.integers(0, n_categories[self.categorical], (n, self.categorical.sum()))
        if d > 2:  # gains of copied columns are equal
            self.X[:, d - 1], self.categorical[d - 1] = self.X[:, 0], self.categorical[0]
        self.X[random.random((n, d)) < random.choice([0.0, 0.3])] = np.nan
        self.weight = random.choice([np.ones(n), random.integers(0, 3, n) + 0.0, random.uniform(0.1, 2.0, n)])
        self.weight[: n // 2 + 1] += 0.5
        self.constant_hessian = bool(random.random() < 0.5)
        self.limits = Limits(
            max_depth=random.choice([None, 1, 3, 6]),
            max_leaf_nodes=random.choice([None, 1, 2, 7, 31]),
            min_samples_leaf=float(random.choice([0.5, 1, 5, 40])),
            l2_regularization=float(random.choice([0.0, 1.0, 20.0])),
            by_hessian=bool(random.random() < 0.3),
        )

    def grower(self):
        d = self.X.shape[1]
        bins = Bins.of(self.X, self.weight, int(self.random.choice([4, 254])), self.categorical, self.random)
        payments = NoPayments(d)
        all_weight = float(self.weight.sum())
        return Grower(bins.codes(self.X), bins, payments, self.limits, self.constant_hessian, all_weight)

    def draw(self):
        """Return the derivatives, the bag, the rest and the features of a tree."""
        random, (n, d) = self.random, self.X.shape
        gradient = self.weight * np.round(random.normal(size=n) - np.nan_to_num(self.X[:, 0]), int(random.integers(4)))
        hessian = self.weight * (1.0 if self.constant_hessian else random.uniform(0.0, 0.25, n))
        rows = random.permutation(n).astype(np.uint32)
        n_bag = int(random.integers(1, n + 1))
        if self.weight[rows[:n_bag]].sum() == 0:
            n_bag = n
        features = np.sort(random.choice(d, int(random.integers(1, d + 1)), replace=False))
        return gradient, hessian, self.weight, rows[:n_bag], rows[n_bag:], features


def grown_both_ways(problem, grower, draw):
    """Return the same tree, grown in one call and grown node by node, each with its bag."""
    bags = []
    for _ in range(2):
        gradient, hessian, weight, rows, rest, features = draw
        bags.append(Bag(gradient, hessian, weight, rows.copy(), rest.copy(), features, grower.n_words))
    splits = grower._free.grow(bags[0]), grower._priced.grow(bags[1], grower.payments)
    ridge = problem.limits.l2_regularization
    return [(bag.grown(each, ridge), bag) for each, bag in zip(splits, bags, strict=True)]


@pytest.mark.parametrize("seed", range(120))
def test_both_ways_of_growing_give_the_same_tree(seed):
    problem = Problem(seed)
    grower = problem.grower()
    for _ in range(3):  # the memory of one tree is used again for the next
        (free, bag), (priced, other_bag) = grown_both_ways(problem, grower, problem.draw())
        tree, expected = free.as_tree(0.3), priced.as_tree(0.3)
        assert tree.categories == expected.categories
        for name in ("feature", "threshold", "left", "right", "missing_left", "value"):
            array, expected_array = getattr(tree, name), getattr(expected, name)
            assert array.dtype == expected_array.dtype
            np.testing.assert_array_equal(array, expected_array, err_msg=name)
        assert free.saved == priced.saved
        assert (free.n_splits, free.split_features) == (priced.n_splits, priced.split_features)
        np.testing.assert_array_equal(bag.packed.words, other_bag.packed.words)
        for array, expected_array in zip(free.leaves, priced.leaves, strict=True):
            np.testing.assert_array_equal(array, expected_array)


def test_the_random_problems_are_not_trivial():
    """Trees with many splits, categories, missing values on both sides, and rows outside the bag do occur."""
    trees = []
    for seed in range(120):
        problem = Problem(seed)
        trees.append(grown_both_ways(problem, problem.grower(), problem.draw())[0][0])
    assert max(tree.n_splits for tree in trees) > 40
    assert sum(tree.n_splits > 3 for tree in trees) > 30
    assert sum(bool(tree.as_tree(1.0).categories) for tree in trees) > 10
    sides = np.concatenate([tree.as_tree(1.0).missing_left[tree.as_tree(1.0).feature != LEAF] for tree in trees])
    assert 0.1 < sides.mean() < 0.9
    assert sum(bool(np.diff(tree.leaves.rest_span).any()) for tree in trees) > 30


@pytest.mark.parametrize("seed", range(10))
def test_every_row_ends_in_the_leaf_that_its_values_lead_to(seed):
    problem = Problem(seed)
    grower, (gradient, hessian, weight, bag, rest, features) = problem.grower(), problem.draw()
    grown = grower.grow(Bag(gradient, hessian, weight, bag.copy(), rest.copy(), features, grower.n_words))
    scores = np.zeros(len(problem.X))
    grown.add_to(scores, 0.5)
    tree = grown.as_tree(0.5)
    rows_of = rows_by_leaf(grown)
    assert sorted(np.concatenate([row for groups in rows_of.values() for row in groups])) == sorted([*bag, *rest])
    for leaf, groups in rows_of.items():
        for row in np.concatenate(groups):
            assert leaf_of(tree, problem.X[row]) == leaf
            assert scores[row] == tree.value[leaf, 0]
        G, H = gradient[groups[0]].sum(), hessian[groups[0]].sum() + problem.limits.l2_regularization
        assert tree.value[leaf, 0] == pytest.approx(-0.5 * G / H if grown.n_splits and H > 0 else 0.0)


def rows_by_leaf(grown):
    """The rows of the bag and of the rest that ended in each leaf."""
    node, bag_span, rest_span, bag, rest = grown.leaves
    spans = zip(node.tolist(), bag_span.tolist(), rest_span.tolist(), strict=True)
    return {leaf: (bag[slice(*own)], rest[slice(*other)]) for leaf, own, other in spans}


def leaf_of(tree, x):
    node = 0
    while (j := tree.feature[node]) != LEAF:
        if np.isnan(x[j]):
            left = tree.missing_left[node]
        else:
            left = x[j] in tree.categories[node] if node in tree.categories else x[j] <= tree.threshold[node]
        node = tree.left[node] if left else tree.right[node]
    return node


def test_if_nodes_gain_the_same_the_first_is_split_first():
    problem = Problem(0)
    problem.X = np.repeat([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], 10, axis=0)
    problem.weight, problem.constant_hessian, problem.categorical = np.ones(40), True, np.zeros(2, dtype=bool)
    problem.limits = Limits(max_depth=None, max_leaf_nodes=3, min_samples_leaf=1.0, l2_regularization=0.0)
    gradient, rows = problem.X @ [10.0, 1.0], np.arange(40, dtype=np.uint32)
    draw = gradient, problem.weight, problem.weight, rows, rows[:0], np.arange(2)
    for grown, _ in grown_both_ways(problem, problem.grower(), draw):
        np.testing.assert_array_equal(grown.as_tree(1.0).feature, [0, 1, LEAF, LEAF, LEAF])


@pytest.mark.parametrize("codes_per_leaf", [0, 10**9])
def test_the_number_of_codes_decides_between_the_ways(codes_per_leaf, monkeypatch):
    monkeypatch.setattr(free_growth, "CODES_PER_LEAF", codes_per_leaf)
    problem = Problem(3)
    grower = problem.grower()
    grown_in_one_call = []
    grow = grower._free.grow
    monkeypatch.setattr(grower._free, "grow", lambda bag: grown_in_one_call.append(bag) or grow(bag))
    grower.grow(Bag(*problem.draw(), grower.n_words))
    assert bool(grown_in_one_call) == (codes_per_leaf > 0 or n_threads() == 1)
