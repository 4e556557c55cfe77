"""Top-down start (section 3.4.2): level by level, each node fitted as if the tree ended there.

A node's threshold then stands where half of the rows that reach it go either way.
"""

import numpy as np

from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective, Parameters

MOST_ROWS = 20_000  # a start need not be exact
ROUNDING = 1e-9  # scores closer than this share of their range are the same


def start(objective: Objective) -> Parameters:
    """Return parameters to begin with."""
    sample = objective.sample(MOST_ROWS)
    topology = objective.topology
    n_nodes, n_scores, n_features = topology.n_nodes, objective.targets.shape[1], objective.X.shape[1]
    parameters = Parameters(
        np.zeros((n_nodes, n_scores, n_features)), np.zeros((n_nodes, n_scores)), np.zeros(n_nodes),
        np.full((n_nodes, n_scores), n_scores**-0.5),
    )  # fmt: skip
    for level in range(topology.depth.max() + 1):
        parameters = start_nodes(sample, parameters, np.flatnonzero(topology.depth == level))
    return parameters


def start_nodes(objective: Objective, parameters: Parameters, nodes: np.ndarray) -> Parameters:
    """Fit some nodes as if the tree ended there, and let each send half of its rows either way."""
    topology = objective.topology
    below = np.asarray(topology.lineage[:, nodes].any(axis=1))
    below[nodes] = False
    kept = np.flatnonzero(~below)
    ended = objective.along(topology.keep(~below))
    leaves = np.searchsorted(kept, nodes)
    fitted = fit_leaves(ended, parameters.of(kept), leaves)
    soft = ended.traverse(fitted)
    scores = soft.scores.reshape(len(soft.scores), *fitted.intercepts.shape)
    for k in leaves:
        weight = objective.weight * soft.reach[:, k]
        fitted.directions[k] = _widest_direction(scores[:, k], weight, objective.facing)
        fitted.thresholds[k] = even_split(scores[:, k] @ fitted.directions[k], weight)
    return parameters.with_nodes(kept, fitted)


def _widest_direction(scores: np.ndarray, weight: np.ndarray, facing: float) -> np.ndarray:
    """Return the unit vector along which the scores (n, m) vary most, its largest entry positive."""
    if scores.shape[1] == 1:
        return np.array([facing])
    centred = scores - weight @ scores / max(weight.sum(), np.finfo(float).tiny)
    direction = np.linalg.eigh(centred.T @ (weight[:, None] * centred))[1][:, -1]
    return direction * np.sign(direction[np.abs(direction).argmax()])


def even_split(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the cut between two different values that splits the weight most evenly."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(weight[order])
    edges = np.flatnonzero(np.diff(ordered) > ROUNDING * (ordered[-1] - ordered[0]))
    if not edges.size:
        return float(ordered[0])
    edge = edges[np.abs(below[edges] - 0.5 * below[-1]).argmin()]
    return float(0.5 * (ordered[edge] + ordered[edge + 1]))
