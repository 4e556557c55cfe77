"""Routing through a tree of linear nodes, one row and one node at a time; imports nothing of thrifty."""


def walk(nodes, prior, path_cost, x, cap=float("inf")):
    """Return (exit, scores, features held) of one row.

    `nodes` are dicts with buys, projection, projection_intercept, threshold, scores, score_intercept, upper, lower.
    """
    exit_, held, target = -1, [], 0
    while target != -1 and path_cost[target] <= cap:
        exit_, node = target, nodes[target]
        held = held + list(node["buys"])
        projected = node["projection_intercept"] + sum(w * x[f] for w, f in zip(node["projection"], held, strict=True))
        target = node["upper"] if projected > node["threshold"] else node["lower"]
    if exit_ == -1:
        return -1, list(prior), []
    node = nodes[exit_]
    scores = [
        b + sum(w * x[f] for w, f in zip(weights, held, strict=True))
        for weights, b in zip(node["scores"], node["score_intercept"], strict=True)
    ]
    return exit_, scores, held


def path_units(held, requirement):
    """Return the set of units behind the features held."""
    return {u for f in held for u, required in enumerate(requirement[f]) if required}
