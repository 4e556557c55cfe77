"""The structure of the tree, learned on validation rows before the weights are (section 3.6).

`pruned` starts from a full tree and cuts away, from the bottom up, what does not help; `grown` starts from the root
and adds, one at a time, the node that helps most.
"""

from collections.abc import Callable

import numpy as np

from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.start import start, start_nodes
from thrifty.models.expected_cost.topology import LOWER, UPPER, Topology
from thrifty.models.linear_nodes.tree import END

Score = Callable[[Objective, Parameters], float]  # of a tree on the validation rows, larger is better


def pruned(objective: Objective, score: Score) -> tuple[Topology, Parameters]:
    """Remove nodes, the deepest first, as long as the validation score does not fall (section 3.6.1)."""
    topology, parameters = objective.topology, start(objective)
    best = score(objective, parameters)
    alive = np.ones(topology.n_nodes, dtype=bool)
    for k in np.argsort(-topology.depth, kind="stable")[:-1]:  # the root comes last, and stays
        children = [c for c in (topology.upper[k], topology.lower[k]) if c != END]
        if any(alive[c] for c in children):
            continue
        without = alive.copy()
        without[k] = False
        reached = score(objective.along(topology.keep(without)), parameters.of(without))
        if reached >= best:
            alive, best = without, reached
    return topology.keep(alive), parameters.of(alive)


def grown(objective: Objective, max_depth: int, score: Score) -> tuple[Topology, Parameters]:
    """Add the node that raises the validation score most, until none does (section 3.6.2)."""
    tree = objective.along(Topology.full(1))
    parameters = start(tree)
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
    """Return the tree with one more node on a side of a node, fitted with all others as they are."""
    topology = objective.topology
    new = topology.n_nodes
    upper, lower = np.append(topology.upper, END), np.append(topology.lower, END)
    (upper if side == UPPER else lower)[node] = new
    larger = objective.along(Topology(upper, lower))
    extended = Parameters(*(np.concatenate([values, values[:1]]) for values in vars(parameters).values()))
    return larger, start_nodes(larger, extended, np.array([new]))
