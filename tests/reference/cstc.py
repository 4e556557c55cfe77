"""CSTC, CSCC, Cronus and AND-OR straight from Xu et al. (2014), JMLR 15: the numbers in brackets are its equations.

Loops and NumPy, importing nothing of thrifty. In three places it says more than the paper:

- Prices are units: `requirement[t, u]` tells that feature t requires unit u. The identity gives (8) and (12);
  `[F', I]` priced `[c, e]` gives (20)-(22), boosted features and their evaluation.
- A node has m scores with an intercept each; its unit vector `direction` makes them one number to route by. A feature's
  m weights stand and fall together. The paper has m = 1, direction [1.0].
- `sharpness` multiplies the argument of (4); row weights w_i, summing to one, replace 1/n.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp

END = -1  # a terminal element in place of a child


class Tree(NamedTuple):
    """Lists over nodes, the root first and parents before children; a leaf has END on both sides."""

    upper: list
    lower: list
    weights: list  # (m, d) each
    intercepts: list  # (m,) each
    thresholds: list
    directions: list  # (m,) each
    sharpness: float = 1.0


class Problem(NamedTuple):
    """Rows, prices and trade-offs; class weights (19) scale the loss of a row, not its share of the cost."""

    X: np.ndarray
    y: np.ndarray  # (n,) or (n, m) targets; -1 and +1 for two classes; one-hot (n, m) for more
    w: np.ndarray
    requirement: np.ndarray  # (d, units) bool
    unit_costs: np.ndarray
    loss: str = "squared"  # or "logistic"
    rho: float = 0.0
    cost_weight: float = 1.0
    class_weights: np.ndarray | float = 1.0  # w_{y_i} of every row

    @property
    def loss_weights(self):
        return self.w * self.class_weights


def scores(tree, X, k):
    """Return the scores (n, m) of node k."""
    return X @ tree.weights[k].T + tree.intercepts[k]


def transition(tree, X, k):
    """Return p(upper child | x_i, v^k) for every row: (4)."""
    return expit(tree.sharpness * (scores(tree, X, k) @ tree.directions[k] - tree.thresholds[k]))


def reach_probabilities(tree, X):
    """Return p_i^k (n, nodes), the recursion below (4)."""
    p = np.ones((len(X), len(tree.upper)))
    for k, (upper, lower) in enumerate(zip(tree.upper, tree.lower, strict=True)):
        if upper != END:
            p[:, upper] = p[:, k] * transition(tree, X, k)
        if lower != END:
            p[:, lower] = p[:, k] * (1 - transition(tree, X, k))
    return p


def terminals(tree):
    """Return the terminal elements L as (node, side), in order of nodes, which have one each or none."""
    sides = {(True, True): "leaf", (True, False): "upper", (False, True): "lower"}
    ends = [(upper == END, lower == END) for upper, lower in zip(tree.upper, tree.lower, strict=True)]
    return [(k, sides[end]) for k, end in enumerate(ends) if any(end)]


def exit_probabilities(tree, X):
    """Return p_i^l (n, terminals); each row sums to one, as (5) has it."""
    reach, exits = reach_probabilities(tree, X), []
    for k, side in terminals(tree):
        up = transition(tree, X, k)
        exits.append(reach[:, k] * {"upper": up, "lower": 1 - up, "leaf": 1.0}[side])
    return np.column_stack(exits)


def path(tree, node):
    """Return pi^l of the node's terminal element: the nodes from the root to it."""
    nodes = [node]
    for k in range(node - 1, -1, -1):
        if nodes[0] in (tree.upper[k], tree.lower[k]):
            nodes.insert(0, k)
    return nodes


def losses(scores, y, loss):
    """Return the loss (n,) of scores (n, m): squared without a half, logistic, or cross-entropy of the softmax."""
    Y = np.reshape(y, (len(scores), -1))
    if loss == "squared":
        return ((scores - Y) ** 2).sum(axis=1)
    if scores.shape[1] == 1:
        return np.logaddexp(0, -Y * scores)[:, 0]
    return logsumexp(scores, axis=1) - (Y * scores).sum(axis=1)


def node_losses(tree, problem):
    """Return the loss (n, nodes) of each row at each node."""
    nodes = range(len(tree.upper))
    return np.column_stack([losses(scores(tree, problem.X, k), problem.y, problem.loss) for k in nodes])


def tree_loss(tree, problem):
    """Return (6): each node's loss counts as much as rows reach it."""
    return problem.loss_weights @ (reach_probabilities(tree, problem.X) * node_losses(tree, problem)).sum(axis=1)


def cascade_loss(tree, problem):
    """Return the loss of (19): each node's loss counts as much as rows exit there."""
    at_exits = node_losses(tree, problem)[:, [k for k, _ in terminals(tree)]]
    return problem.loss_weights @ (exit_probabilities(tree, problem.X) * at_exits).sum(axis=1)


def and_or_loss(tree, problem):
    """Return the loss of 6.3 (Dundar and Bi, 2007): all stages must accept a positive, one may reject a negative."""
    of_stages = node_losses(tree, problem)
    return problem.loss_weights @ np.where(np.ravel(problem.y) > 0, of_stages.max(axis=1), of_stages.min(axis=1))


def unit_squares(tree, requirement):
    """Return (nodes, units): the squared weights of a node, summed over scores and over features requiring the unit."""
    squares = np.zeros((len(tree.upper), requirement.shape[1]))
    for k, weights in enumerate(tree.weights):
        for t, u in zip(*np.nonzero(requirement), strict=True):
            squares[k, u] += (weights[:, t] ** 2).sum()
    return squares


def path_groups(tree, problem):
    """Return p^l (9) and the sums under the roots of (12), (19), (22): (terminals,) and (terminals, units)."""
    squares = unit_squares(tree, problem.requirement)
    under_roots = [squares[path(tree, k)].sum(axis=0) for k, _ in terminals(tree)]
    return problem.w @ exit_probabilities(tree, problem.X), np.array(under_roots)


def cronus_groups(tree, problem):
    """Return the sums under the roots of 4.1 as one group (1, units) of share 1; p^k weighs inside the root."""
    p = problem.w @ reach_probabilities(tree, problem.X)
    return np.ones(1), (p**2 @ unit_squares(tree, problem.requirement))[None]


def and_or_groups(tree, problem):
    """Return the same with every stage on one path and counted in full."""
    return np.ones(1), unit_squares(tree, problem.requirement).sum(axis=0)[None]


LOSSES = {"cstc": tree_loss, "cscc": cascade_loss, "cronus": cascade_loss, "and_or": and_or_loss}
GROUPS = {"cstc": path_groups, "cscc": path_groups, "cronus": cronus_groups, "and_or": and_or_groups}


def penalty(kind, tree, problem, eta=None):
    """Return the cost penalty: each group's roots (11) at their prices, by the group's share."""
    shares, under_roots = GROUPS[kind](tree, problem)
    return shares @ root(under_roots, eta) @ problem.unit_costs


def feature_squares(tree):
    """Return (nodes, d): a feature's squared weights, summed over scores."""
    return np.array([(weights**2).sum(axis=0) for weights in tree.weights])


def l1(tree, gamma=None):
    """Return sum_k |beta^k|, in which a feature's m weights count by their Euclidean norm."""
    return root(feature_squares(tree), gamma).sum()


def objective(kind, tree, problem):
    """Return (12), with units (22), of "cstc"; (19) of "cscc"; that of 4.1 for "cronus"; that of 6.3 for "and_or"."""
    return relaxed_majorant(kind, tree, problem, gamma=None, eta=None)


def relaxed_majorant(kind, tree, problem, gamma, eta):
    """Return the objective with Lemma 1 in place of its roots, at gamma (nodes, d) and eta (groups, units).

    The terms gamma / 2 and eta / 2 are kept: shares depend on the parameters, so eta's are no constants.
    """
    regularized_loss = LOSSES[kind](tree, problem) + problem.rho * l1(tree, gamma)
    return regularized_loss + problem.cost_weight * penalty(kind, tree, problem, eta)


def auxiliaries(kind, tree, problem):
    """Return the gamma and eta at which the majorant touches the objective: the roots, left of the arrows in (15)."""
    return root(feature_squares(tree)), root(GROUPS[kind](tree, problem)[1])


def root(g, z=None):
    """Return the square root of g, or its bound at auxiliaries z."""
    return np.sqrt(g) if z is None else lemma_1(g, z)


def lemma_1(g, z):
    """Return the right side of (13), (g / z + z) / 2 >= sqrt(g)."""
    return (ratio(g, z) + z) / 2


def ratio(a, z):
    """Return a / z with 0 / 0 = 0, which keeps what is clamped at zero (3.4) out of every sum."""
    a, z = np.broadcast_arrays(np.asarray(a, float), np.asarray(z, float))
    return np.divide(a, z, out=np.where(a > 0, np.inf, 0.0), where=z > 0)


def closed_form_leaf(problem, reach, ancestor_squares, gamma, eta):
    """Return a leaf's weights (1, d) and intercept (1,) by (16), then its gamma (d,) and eta (units,) by (15).

    For m = 1 and squared loss. `reach` is p_i^k of the leaf, `ancestor_squares` (units,) the constants of (15).

        sum_i omega_i (x_i b + a - y_i)^2 + sum_t Gamma_t b_t^2 / 2

    is least where X' Omega (X b + a - y) + Gamma b / 2 = 0: Gamma is halved, since (16) is printed for half the squared
    loss. The intercept a is not penalised. Where an auxiliary is zero Gamma is infinite and the weight stays zero.
    """
    omega = problem.loss_weights * reach
    unit_prices = ratio(problem.cost_weight * (problem.w @ reach) * problem.unit_costs, eta)
    Gamma = ratio(problem.rho, gamma) + [unit_prices[needed].sum() for needed in problem.requirement]
    free = np.isfinite(Gamma)
    design = np.column_stack([problem.X[:, free], np.ones(len(problem.X))])
    curvature = np.diag(np.append(Gamma[free] / 2, 0.0))
    solution = np.linalg.solve(design.T * omega @ design + curvature, design.T * omega @ np.ravel(problem.y))
    weights = np.zeros(len(free))
    weights[free] = solution[:-1]
    return weights[None], solution[-1:], np.abs(weights), root(weights**2 @ problem.requirement + ancestor_squares)


def fine_tuned_leaf(problem, reach, support, rounds=300):
    """Return the weights (1, d) and intercept (1,) of a leaf by 3.5: the loss with rho, without cost, on its support.

    Weights outside the `support` are clamped at zero; the others alternate between (16) and (15).
    """
    free = problem._replace(cost_weight=0.0)
    gamma, nothing = np.where(support, 1.0, 0.0), np.zeros(len(problem.unit_costs))
    for _ in range(rounds):
        weights, intercept, gamma, _ = closed_form_leaf(free, reach, nothing, gamma, nothing)
        gamma = np.where(gamma < 1e-4, 0.0, gamma)
    return weights, intercept


def hard_route(row, tree, requirement, unit_costs):
    """Return (exit node, acquired (d,) bool, cost) of a row, up where x beta > theta; it pays (8), or (20) and (21)."""
    target, acquired = 0, np.zeros(len(row), dtype=bool)
    while target != END:
        node = target
        acquired |= tree.weights[node].any(axis=0)
        routed = scores(tree, row[None], node)[0] @ tree.directions[node]
        target = tree.upper[node] if routed > tree.thresholds[node] else tree.lower[node]
    return node, acquired, requirement[acquired].any(axis=0) @ unit_costs
