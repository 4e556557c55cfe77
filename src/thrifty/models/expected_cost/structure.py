"""The structure of the tree, chosen on validation rows before the weights are optimised (section 3.6).

`pruned` starts with the full tree and removes nodes that do not help, from the bottom up. `grown` starts with the root
and adds nodes one at a time, always the one that helps most.
"""

from collections.abc import Callable

import numpy as np

from thrifty.models.expected_cost.initial_parameters import MAX_ROWS, fit_as_leaves, initial_parameters
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.topology import LOWER, UPPER, Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.linear_nodes.tree import END

Score = Callable[[Objective, Parameters], float]  # score of a tree on the validation rows, larger is better


def pruned(objective: Objective, score: Score) -> tuple[Topology, Parameters]:
    """Remove nodes, the deepest first, as long as the validation score does not fall (section 3.6.1)."""
    topology, parameters = objective.topology, initial_parameters(objective)
    best = score(objective, parameters)
    alive = np.ones(topology.n_nodes, dtype=bool)
    for k in np.argsort(-topology.depth, kind="stable")[:-1]:  # the root comes last, and is never removed
        children = [c for c in (topology.upper[k], topology.lower[k]) if c != END]
        if any(alive[c] for c in children):
            continue
        without = alive.copy()
        without[k] = False
        reached = score(objective.with_topology(topology.keep(without)), parameters.take(np.flatnonzero(without)))
        if reached >= best:
            alive, best = without, reached
    return topology.keep(alive), parameters.take(np.flatnonzero(alive))


def grown(objective: Objective, max_depth: int, score: Score) -> tuple[Topology, Parameters]:
    """Add the node that raises the validation score most, until no node raises it (section 3.6.2).

    New nodes get their initial parameters from a sample of the rows, as those of a full tree do.
    """
    tree = objective.with_topology(Topology.full(1))
    sample = tree.sample(MAX_ROWS)
    parameters = initial_parameters(tree)
    best = score(tree, parameters)
    potential = {(0, side): _with_child(sample, parameters, 0, side) for side in (UPPER, LOWER) if max_depth > 1}
    while potential:
        scores = {
            place: score(objective.with_topology(topology), candidate)
            for place, (topology, candidate) in potential.items()
        }
        place = max(scores, key=scores.__getitem__)
        if scores[place] <= best:
            break
        best = scores[place]
        topology, parameters = potential[place]
        sample = sample.with_topology(topology)
        potential = {other: _with_child(sample, parameters, *other) for other in potential if other != place}
        new = topology.n_nodes - 1
        if topology.depth[new] + 1 < max_depth:
            potential |= {(new, side): _with_child(sample, parameters, new, side) for side in (UPPER, LOWER)}
    return sample.topology, parameters


def _with_child(sample: Objective, parameters: Parameters, node: int, side: int) -> tuple[Topology, Parameters]:
    """Return the tree with a new child on one side of a node. The child is fitted with all other nodes fixed."""
    topology = sample.topology
    new = topology.n_nodes
    upper, lower = np.append(topology.upper, END), np.append(topology.lower, END)
    (upper if side == UPPER else lower)[node] = new
    larger = Topology(upper, lower)
    extended = parameters.take(np.append(np.arange(new), 0))
    fitted = fit_as_leaves(sample.with_topology(larger), extended, np.array([new]))
    return larger, fitted.on_grid() if sample.rounded else fitted
