"""Initial parameters (section 3.4.2): level by level, each node is fitted as if the tree ended there.

The threshold of a node is then set so that a share of the rows that reach it, usually half, goes to the upper side.
"""

from dataclasses import replace

import numpy as np

from thrifty.arrays import like, to_host
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.tree_parameters import Parameters

MAX_ROWS = 20_000  # a sample is enough for initial parameters
ROUNDING = 1e-9  # scores that differ by less, relative to their range, count as equal


def initial_parameters(objective: Objective) -> Parameters:
    """Return the parameters from which a solver starts."""
    sample = objective.sample(MAX_ROWS)
    topology = objective.topology
    n_nodes, n_scores, n_columns = topology.n_nodes, sample.targets.shape[1], objective.n_columns
    parameters = Parameters(
        weights=np.zeros((n_nodes, n_scores, n_columns)),
        intercepts=np.zeros((n_nodes, n_scores)),
        thresholds=np.zeros(n_nodes),
        directions=np.full((n_nodes, n_scores), n_scores**-0.5),
    ).placed(objective.place)
    for level in range(topology.depth.max() + 1):
        parameters = fit_as_leaves(sample, parameters, np.flatnonzero(topology.depth == level))
    return parameters.on_grid() if objective.rounded else parameters


def fit_as_leaves(objective: Objective, parameters: Parameters, nodes: np.ndarray) -> Parameters:
    """Fit some nodes as if the tree ended there, and set their directions and thresholds."""
    topology = objective.topology
    below = np.asarray(topology.lineage[:, nodes].any(axis=1))
    below[nodes] = False
    kept = np.flatnonzero(~below)
    cut = objective.with_topology(topology.keep(~below))
    leaves = np.searchsorted(kept, nodes)
    fitted = fit_leaves(cut, parameters.take(kept), leaves)
    soft = cut.traverse(fitted)
    directions, thresholds = 1.0 * fitted.directions, 1.0 * fitted.thresholds
    n_scores = directions.shape[1]
    for k in leaves.tolist():
        scores = to_host(soft.scores[:, k * n_scores : (k + 1) * n_scores])
        weight = to_host(objective.weight * soft.reach[:, k])
        direction = _direction(scores, weight, objective.upper_sign)
        directions[k, ...] = like(direction, directions)
        thresholds[k, ...] = split(scores @ direction, weight, objective.keep_ratio)
    return parameters.with_nodes(kept, replace(fitted, directions=directions, thresholds=thresholds))


def _direction(scores: np.ndarray, weight: np.ndarray, upper_sign: float) -> np.ndarray:
    """Return the first principal component of the scores (n, m), its largest entry positive; for m = 1 the sign."""
    if scores.shape[1] == 1:
        return np.array([upper_sign])
    centred = scores - weight @ scores / max(weight.sum(), np.finfo(float).tiny)
    direction = np.linalg.eigh(centred.T @ (weight[:, None] * centred))[1][:, -1]
    return direction * np.sign(direction[np.abs(direction).argmax()])


def split(values: np.ndarray, weight: np.ndarray, share_above: float = 0.5) -> float:
    """Return the midpoint between two different values above which there is about this share of the weight."""
    order = np.argsort(values, kind="stable")
    ordered, below = values[order], np.cumsum(weight[order])
    edges = np.flatnonzero(np.diff(ordered) > ROUNDING * (ordered[-1] - ordered[0]))
    if not edges.size:
        return float(ordered[0])
    edge = edges[np.abs(below[edges] - (1.0 - share_above) * below[-1]).argmin()]
    return float(0.5 * (ordered[edge] + ordered[edge + 1]))
