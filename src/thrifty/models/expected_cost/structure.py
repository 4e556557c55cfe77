"""The structure of the tree, chosen on validation rows before the weights are optimised (section 3.6).

`pruned` starts with the full tree and removes nodes that do not help, from the bottom up. `grown` starts with the root
and adds nodes one at a time, always the one that helps most.
"""

from collections.abc import Callable

import numpy as np

from thrifty.models.expected_cost.initial_parameters import fit_as_leaves, initial_parameters
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
    """Add the node that raises the validation score most, until no node raises it (section 3.6.2)."""
    tree = objective.with_topology(Topology.full(1))
    parameters = initial_parameters(tree)
    best = score(tree, parameters)
    potential = {(0, side): _with_child(tree, parameters, 0, side) for side in (UPPER, LOWER) if max_depth > 1}
    while potential:
        scores = {place: score(*candidate) for place, candidate in potential.items()}
        place = max(scores, key=scores.__getitem__)
        if scores[place] <= best:
            break
        best = scores[place]
        tree, parameters = potential[place]
        potential = {other: _with_child(tree, parameters, *other) for other in potential if other != place}
        new = tree.topology.n_nodes - 1
        if tree.topology.depth[new] + 1 < max_depth:
            potential |= {(new, side): _with_child(tree, parameters, new, side) for side in (UPPER, LOWER)}
    return tree.topology, parameters


def _with_child(objective: Objective, parameters: Parameters, node: int, side: int) -> tuple[Objective, Parameters]:
    """Return the tree with a new child on one side of a node. The child is fitted with all other nodes fixed."""
    topology = objective.topology
    new = topology.n_nodes
    upper, lower = np.append(topology.upper, END), np.append(topology.lower, END)
    (upper if side == UPPER else lower)[node] = new
    larger = objective.with_topology(Topology(upper, lower))
    extended = parameters.take(np.append(np.arange(new), 0))
    return larger, fit_as_leaves(larger, extended, np.array([new]))
