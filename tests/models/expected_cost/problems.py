"""Small random problems: the objective of the package, and the same problem for the reference implementation."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from reference import cstc as reference
from thrifty.costs import CostModel
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.penalties import PathPenalty, StagePenalty
from thrifty.models.expected_cost.row_blocks import TrainingRows
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.homes import Here

END = -1
SHAPES = {
    "full": Topology.full(3),
    "irregular": Topology(  # nodes 1 and 2 have one child
        np.array([1, END, 4, END, 5, END, END]), np.array([2, 3, END, END, 6, END, END])
    ),
    "cascade": Topology.cascade(4),
    "leaf": Topology.full(1),
}
PRICES = {
    "plain": CostModel([1.0, 0.0, 5.0, 0.5, 2.0, 0.0, 1.0]),
    "bundles": CostModel(
        [1.0, None, 0.5, 2.0, None, 0.0, 1.5], bundles={"panel": ([1, 2, 3], 4.0), "visit": ([3, 4, 5], 2.5)}
    ),
    "derived": CostModel([3.0, 0.0, 1.0, 5.0], bundles={"visit": ([2, 3], 2.0)}).derive(
        [[0], [0, 1], [2], [2, 3], [1], [0, 3], [1, 2]], [1.0, 0.5, 0.0, 2.0, 1.0, 0.0, 1.0]
    ),
}
WIDE = CostModel(np.linspace(0.2, 4.0, 12).round(1), bundles={"panel": ([0, 1, 2], 3.0), "visit": ([2, 5, 6], 2.0)})
KINDS = {"cstc": ("full", "irregular"), "cscc": ("cascade",), "cronus": ("cascade",)}


class Case(NamedTuple):
    """An objective, and the same problem for the reference implementation."""

    kind: str
    objective: Objective
    problem: reference.Problem


def as_tree(objective: Objective, parameters: Parameters) -> reference.Tree:
    """Return the tree with these parameters, as the reference implementation represents it."""
    return reference.Tree(
        upper=objective.topology.upper.tolist(),
        lower=objective.topology.lower.tolist(),
        weights=list(parameters.weights),
        intercepts=list(parameters.intercepts),
        thresholds=list(parameters.thresholds),
        directions=list(parameters.directions),
        sharpness=objective.sharpness,
    )


def pose(
    kind="cstc", shape="full", prices="plain", *, m=1, logistic=False, n=60, sharpness=1.7, cost_weight=0.3, seed=0
) -> Case:
    """Return a problem with row weights, class weights in cascades, and columns in random order."""
    random = np.random.default_rng(seed)
    costs = WIDE if prices == "wide" else PRICES[prices]
    d = costs.n_features
    X = random.normal(size=(n, d)) @ (np.eye(d) + 0.3 * random.normal(size=(d, d)))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    aims = X @ random.normal(size=(d, m)) + np.abs(X[:, :1]) + random.normal(size=(n, m))
    targets = _classes(aims) if logistic or kind != "cstc" else aims
    weight = random.uniform(0.2, 2.0, n)
    weight /= weight.sum()
    class_weights = np.where(targets[:, 0] > 0, 3.0, 0.7) if kind != "cstc" else np.ones(n)
    topology, columns = SHAPES[shape], random.permutation(d)
    objective = Objective(
        rows=Here(TrainingRows(X, targets, weight, weight * class_weights)),
        topology=topology,
        penalty=(StagePenalty if kind == "cronus" else PathPenalty)(costs, columns, topology),
        cost_weight=cost_weight,
        l1_weight=0.02,
        sharpness=sharpness,
        logistic=logistic,
        by_exit=kind != "cstc",
    )
    problem = reference.Problem(
        X=X,
        y=targets,
        w=weight,
        requirement=costs.requirement[columns],
        unit_costs=costs.unit_costs,
        loss="logistic" if logistic else "squared",
        rho=objective.l1_weight,
        cost_weight=cost_weight,
        class_weights=class_weights,
    )
    return Case(kind, objective, problem)


def with_rows(objective: Objective, **parts) -> Objective:
    """Return an objective in which some arrays of the rows are replaced: X, targets, weight or loss_weight."""
    return replace(objective, rows=Here(replace(objective.rows.block, **parts)))


def _classes(aims):
    if aims.shape[1] == 1:
        return np.where(aims > np.median(aims), 1.0, -1.0)
    return np.eye(aims.shape[1])[aims.argmax(axis=1)]


def draw(objective: Objective, seed=0, zeros=0.4) -> Parameters:
    """Return random parameters with a share `zeros` of zero weights, and with directions of length 1."""
    random = np.random.default_rng(seed)
    K, m, d = objective.topology.n_nodes, objective.targets.shape[1], objective.X.shape[1]
    weights = random.normal(size=(K, m, d)) * (random.random((K, 1, d)) > zeros)
    directions = random.normal(size=(K, m)) if m > 1 else np.ones((K, 1))
    return Parameters(
        weights=weights,
        intercepts=random.normal(size=(K, m)),
        thresholds=random.normal(size=K),
        directions=directions / np.linalg.norm(directions, axis=1, keepdims=True),
    )


def expected_loss(objective, answer, reach):
    """Return the expected loss of an answer plus the l1 norm of its weights."""
    losses = reference.losses(
        objective.X @ answer.weights.T + answer.intercepts,
        objective.targets,
        "logistic" if objective.logistic else "squared",
    )
    l1 = np.linalg.norm(answer.weights, axis=0).sum()
    return (objective.loss_weight * reach) @ losses + objective.l1_weight * l1


def as_cascade(weights, intercepts):
    """Return a cascade for the reference: stages with weights (K, d), whose rows continue if the score is positive."""
    n_stages = len(weights)
    upper, lower = [*range(1, n_stages), reference.END], [reference.END] * n_stages
    directions = [np.ones(1)] * n_stages
    return reference.Tree(upper, lower, list(weights[:, None]), list(intercepts[:, None]), [0.0] * n_stages, directions)
