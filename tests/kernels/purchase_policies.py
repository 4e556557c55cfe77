"""Random purchase policies with random costs, for the kernels and for the reference."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np

from reference import adaptive as reference
from thrifty import CostModel
from thrifty.models.adaptive.policy import MaskedPredictor, PurchasePolicy, StoppingRule
from thrifty.models.factors import Factors
from thrifty.models.forests.forest import LEAF, Forest, Tree

N_COLUMNS = 8
CATEGORICAL = (6, 7)  # columns of X
CODES = [0, 1, 2, 3, 63, 64, 70]
COST_WEIGHTS = np.array([1.0, 0.25, 0.0])


def random_tree(random, depth, n_features, n_values, categorical=()):
    """Return a random tree as the reference reads it. Its values are multiples of 1/64, so that all sums are exact."""
    if depth == 0 or random.random() < 0.1:
        return {"values": (random.integers(-64, 65, n_values) / 64).tolist()}
    feature = int(random.integers(n_features))
    split = {"feature": feature, "missing_left": bool(random.random() < 0.5)}
    if feature in categorical:
        split["categories"] = set(random.choice(CODES, random.integers(1, 5), replace=False).tolist())
    else:
        split["threshold"] = float(random.choice([random.normal(), random.uniform(0, 5)]))
    for side in ("left", "right"):
        split[side] = random_tree(random, depth - 1, n_features, n_values, categorical)
    return split


def flat(tree):
    """Return a tree of the reference as a Tree."""
    nodes, categories, n_values = [], {}, len(_any_leaf(tree))

    def add(node):
        at = len(nodes)
        nodes.append(None)
        if "values" in node:
            nodes[at] = (LEAF, 0.0, 0, 0, node["values"], True)
            return at
        if "categories" in node:
            categories[at] = sorted(node["categories"])
        children = add(node["left"]), add(node["right"])
        nodes[at] = (node["feature"], node.get("threshold", 0.0), *children, [0.0] * n_values, node["missing_left"])
        return at

    add(tree)
    return Tree(*(np.array(column) for column in zip(*nodes, strict=True)), categories)


def _any_leaf(tree):
    while "values" not in tree:
        tree = tree["left"]
    return tree["values"]


def random_trees(random, n_trees, n_features, base, n_values, categorical=()):
    """Return random trees for the reference, and the same as a forest."""
    trees = [random_tree(random, 3, n_features, n_values, categorical) for _ in range(n_trees)]
    n_sums = len(base)
    score_of = [[(tree * n_values + k) % n_sums for k in range(n_values)] for tree in range(n_trees)]
    forest = Forest.from_trees(map(flat, trees), n_features=n_features, base=np.array(base, dtype=float))
    return reference.Trees(trees, list(base), score_of), forest


def random_costs(random):
    """Return whole prices of which some are 0, two bundles that overlap, and prerequisites."""
    prices = random.integers(1, 7, N_COLUMNS).astype(float)
    prices[random.choice(N_COLUMNS, 3, replace=False)] = 0.0
    members = [random.choice(N_COLUMNS, 3, replace=False).tolist() for _ in range(2)]
    bundles = {"panel": (members[0], float(random.integers(1, 9))), "scan": (members[1], float(random.integers(1, 9)))}
    before, after = random.choice(N_COLUMNS, 2, replace=False).tolist()
    return CostModel(prices, bundles=bundles, requires={after: [before]})


def random_policy(seed, n_scores, is_regression=False):
    """Return a policy of 1 + seed // 3 phases and a stopping rule, as models and as the reference reads them."""
    random = np.random.default_rng(seed)
    costs = random_costs(random)
    together = random.choice(N_COLUMNS, 2, replace=False).tolist()
    factors = Factors.of(costs, [together], "here", random.permutation(N_COLUMNS).tolist())
    categorical = [column for column, source in enumerate(factors.columns) if source in CATEGORICAL]
    n_belief = 1 if is_regression else 2 if n_scores == 1 else n_scores + 1
    groups = [list(range(first, last)) for first, last in pairwise(factors.starts.tolist())]
    units = [set(np.flatnonzero(line).tolist()) for line in factors.requirement.toarray()]
    n_groups = len(groups)
    n_priced = n_groups - len(factors.free)
    order = random.permutation(n_groups)
    priced = [group for group in range(n_groups) if group not in factors.free]
    n_candidates = 0 if seed % 4 == 2 else 3
    candidates = np.array(random.choice(priced, n_candidates, replace=False), dtype=np.int64)
    n_single = int(random.integers(2, n_priced))
    n_at_stage = np.array([1] * n_single + [n_priced - n_single])
    fill = np.where(random.random(N_COLUMNS) < 0.5, np.nan, np.inf)
    fill[categorical] = 70.0
    first = random.choice(priced, seed % 3, replace=False)
    phases = [
        random_trees(random, n_trees, N_COLUMNS, random.integers(-64, 65, n_scores) / 64, n_scores, categorical)
        for n_trees in ([12], [8, 12], [4, 12, 8])[seed // 3]
    ]
    last_count = len(factors.free) + 2 * np.arange(1, len(phases) + 1)
    centre, width = random.integers(-32, 33, N_COLUMNS) / 64, 2.0 ** random.integers(-1, 2, N_COLUMNS)
    slope, offset = random.integers(-64, 65, (2, len(phases), N_COLUMNS, n_scores)) / 64
    slope[0] = offset[0] = 0.0  # the first phase starts from a constant
    n_state = N_COLUMNS + n_belief + 2
    gains = random_trees(
        random, 5, n_state, [0.5, 0.25, 0.75, 0.25][-n_candidates - 1 :], n_candidates + 1, categorical
    )
    stages = [random_trees(random, 3, n_state + 2, [1.0, 1.5, 2.0], 3, categorical) for _ in n_at_stage]
    all_trees = [flat(tree) for stage, _ in stages for tree in stage.trees]
    rule = StoppingRule(
        Forest.from_trees(all_trees, n_features=n_state + 2, base=np.zeros(3)),
        3 * np.arange(len(stages) + 1),
        np.array([stage.base for stage, _ in stages]),
        COST_WEIGHTS,
    )
    predictor = MaskedPredictor(
        Forest.from_trees(
            [flat(tree) for trees, _ in phases for tree in trees.trees], n_features=N_COLUMNS, base=np.zeros(n_scores)
        ),
        np.cumsum([0, *(len(trees.trees) for trees, _ in phases)]),
        np.array([trees.base for trees, _ in phases]),
        last_count,
        centre,
        width,
        slope,
        offset,
    )
    policy = PurchasePolicy(factors, predictor, gains[1], candidates, first, order, n_at_stage, fill, is_regression)
    plain = reference.Policy(
        phases=[
            (last_count[k], trees, reference.Linear(centre, width, slope[k], offset[k]) if k else None)
            for k, (trees, _) in enumerate(phases)
        ],
        gains=gains[0],
        groups=groups,
        units=units,
        prices=costs.unit_costs.tolist(),
        fill=fill.tolist(),
        first=first.tolist(),
        order=order.tolist(),
        candidates=candidates.tolist(),
        n_at_stage=n_at_stage.tolist(),
        is_regression=is_regression,
    )
    X = np.round(64 * random.normal(size=(40, N_COLUMNS))) / 64  # so that linear terms are exact
    X[:, CATEGORICAL] = random.choice([*CODES, 5, 200, -1], size=(len(X), len(CATEGORICAL)))
    X[random.random(X.shape) < 0.15] = np.nan
    return SimpleNamespace(
        random=random,
        costs=costs,
        factors=factors,
        policy=policy,
        rule=rule,
        plain=plain,
        plain_stops=reference.Stops([stage for stage, _ in stages]),
        X=X,
        sorted_X=factors.sorted_columns(X),
    )
