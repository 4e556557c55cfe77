"""The flat tree compared with a plain implementation, and what it refuses."""

import numpy as np
import pytest

from reference.linear_tree import path_units, walk
from thrifty.costs import CostModel, Ledger
from thrifty.models.linear_nodes.session import TreeSession
from thrifty.models.linear_nodes.tree import LinearNode, LinearTree
from thrifty.models.session import Acquire

N_FEATURES = 12


def random_tree(seed, n_scores=1, max_nodes=25):
    """Grow a random tree with leaves, one-sided exits and pass-through nodes."""
    random = np.random.default_rng(seed)
    links, depth_first = {0: [-1, -1]}, [(0, np.arange(N_FEATURES))]
    nodes = []
    while depth_first:
        k, unbought = depth_first.pop(0)
        kind = random.choice(["split", "upper only", "lower only", "chain", "leaf"], p=[0.5, 0.12, 0.12, 0.12, 0.14])
        bought = random.permutation(unbought)[: random.integers(0, 4)]
        rest = np.setdiff1d(unbought, bought)
        n_children = {"split": 2, "leaf": 0}.get(kind, 1)
        if len(links) + n_children > max_nodes:
            n_children, kind = 0, "leaf"
        children = list(range(len(links), len(links) + n_children))
        links |= {c: [-1, -1] for c in children}
        depth_first += [(c, rest) for c in children]
        if kind == "split":
            links[k] = children
        elif kind == "chain":
            links[k] = [children[0], children[0]]
        elif kind == "upper only":
            links[k] = [children[0], -1]
        elif kind == "lower only":
            links[k] = [-1, children[0]]
        nodes.append({"buys": bought, "rest": rest})
    for k, node in enumerate(nodes):
        held = N_FEATURES - len(node.pop("rest"))
        node["upper"], node["lower"] = links[k]
        node["projection"] = random.normal(size=held)
        node["projection_intercept"] = random.normal()
        node["threshold"] = random.normal()
        node["scores"] = random.normal(size=(n_scores, held))
        node["score_intercept"] = random.normal(size=n_scores)
    costs = CostModel(
        np.round(random.uniform(0, 5, N_FEATURES), 1), bundles={"a": ([0, 3, 5], 2.3), "b": ([5, 7], 1.1)}
    )
    prior = random.normal(size=n_scores)
    return nodes, prior, costs, LinearTree([LinearNode(**node) for node in nodes], prior, costs)


def run(tree, X, cap):
    scores, exits = tree.run(X, cap)
    return scores, tree.acquired_at(exits), tree.spent_at(exits), exits


@pytest.mark.parametrize("seed", range(5))
def test_the_cost_of_a_step_is_that_of_its_unpaid_prices(seed):
    _, _, costs, tree = random_tree(seed)
    for k, parent in enumerate(tree.parent):
        ledger = Ledger(costs, [] if parent < 0 else tree.holds(parent))
        assert tree.step_cost[k] == ledger.price_of(tree.buys(k))


def test_many_nodes_times_many_prices_are_refused():
    costs = CostModel([1.0], bundles={f"b{k}": ([0], 1.0) for k in range(60_000)})
    chain = [LinearNode([], [[]], [0.0], [], 0.0, 0.0, k + 1, k + 1) for k in range(5_000)]
    with pytest.raises(ValueError, match="a tree has 5000 nodes, 1 features and 60001 prices"):
        LinearTree(chain, [0.0], costs)


@pytest.mark.parametrize("n_scores", [1, 3])
@pytest.mark.parametrize("seed", range(12))
def test_routing_equals_the_plain_implementation(seed, n_scores):
    nodes, prior, costs, tree = random_tree(seed, n_scores)
    X = np.random.default_rng(seed).normal(size=(60, N_FEATURES))
    caps = np.random.default_rng(seed).choice([0.0, 2.0, 5.0, 9.0, np.inf], 60)
    scores, acquired, spend, exits = run(tree, X, caps)
    for i, x in enumerate(X):
        exit_, expected, held = walk(nodes, prior, tree.path_cost, x, caps[i])
        assert exits[i] == exit_
        np.testing.assert_allclose(scores[i], expected, rtol=1e-12, atol=1e-12)
        assert set(np.flatnonzero(acquired[i])) == set(held)
        units = path_units(held, costs.requirement)
        assert spend[i] == pytest.approx(sum(costs.unit_costs[u] for u in units))


@pytest.mark.parametrize("seed", range(12))
def test_a_session_equals_the_batch_bit_for_bit(seed):
    *_, tree = random_tree(seed, 2)
    X = np.random.default_rng(seed).normal(size=(20, N_FEATURES))
    for cap in (0.0, 2.0, 5.0, 9.0, np.inf):
        scores, acquired, spend, exits = run(tree, X, np.full(20, cap))
        for i, x in enumerate(X):
            session = TreeSession(tree, cap, lambda scores: (None, scores[0]))
            asked, announced = [], 0.0
            while isinstance(step := session.next(), Acquire):
                asked += step.features
                announced += step.cost
                session.observe({f: x[f] for f in step.features})
                assert session.spend == pytest.approx(announced)
            np.testing.assert_array_equal(step.score, scores[i])
            assert (step.exit, session.spend) == (exits[i], spend[i])
            assert sorted(asked) == list(np.flatnonzero(acquired[i]))


def test_blocks_on_threads_give_the_same_bits_as_one_block():
    *_, tree = random_tree(3)
    X = np.random.default_rng(0).normal(size=(20_000, N_FEATURES))
    together = tree.run(X, np.full(len(X), np.inf))
    apart = [tree.run(X[i : i + 1000], np.full(1000, np.inf)) for i in range(0, len(X), 1000)]
    for k, whole in enumerate(together):
        np.testing.assert_array_equal(np.concatenate([part[k] for part in apart]), whole)


def test_a_pass_through_chain_is_asked_for_at_once():
    zeros = [np.zeros((1, k)) for k in (1, 2, 3)]
    nodes = [
        LinearNode([k], w, np.zeros(1), w[0], upper=k + 1 if k < 2 else -1, lower=k + 1 if k < 2 else -1)
        for k, w in enumerate(zeros)
    ]
    tree = LinearTree(nodes, [0.0], CostModel([0.1, 0.2, 4.0]))
    assert TreeSession(tree, np.inf, tuple).next() == Acquire((0, 1, 2), 4.3)
    assert TreeSession(tree, 0.3, tuple).next() == Acquire((0, 1), 0.3)


def test_terminal_marks_where_rows_may_end():
    nodes = [leaf(upper=1, lower=2), leaf((1,), 2, upper=-1, lower=3), leaf((1,), 2), leaf((2,), 3)]
    assert LinearTree(nodes, [0.0], CostModel([1, 1, 1])).terminal.tolist() == [False, True, True, True]


def leaf(buys=(0,), n_held=1, **links):
    return LinearNode(list(buys), np.zeros((1, n_held)), np.zeros(1), np.zeros(n_held), **links)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([leaf(upper=1, lower=7), leaf((1,), 2)], "child 7"),
        ([leaf(upper=0, lower=-1)], "child 0"),
        ([leaf(), leaf((1,))], "node 1 has no parent"),
        ([leaf((9,))], "outside 0..2"),
        ([leaf((-1,))], "outside 0..2"),
        ([leaf(upper=1, lower=-1), leaf((0,), 2)], "already holds"),
        ([leaf((0, 1))], "shapes"),
    ],
)
def test_inconsistent_nodes_are_refused(nodes, message):
    with pytest.raises(ValueError, match=message):
        LinearTree(nodes, [0.0], CostModel([1, 1, 1]))
