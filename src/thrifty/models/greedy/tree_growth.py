"""Greedy top-down growth of a tree of linear nodes (Algorithm 1 of Kusner et al., 2014).

For each node:

1. Fit the node on the features that its path has bought.
2. Add features that cost nothing more while they increase R². Then buy the feature with the largest gain in R² per
   cost. Repeat until the node budget is spent.
3. Split the rows at the median of their scores. The children inherit the features and what is paid for.
"""

from dataclasses import dataclass

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.models.greedy.guarantee import submodularity_ratio
from thrifty.models.greedy.order_statistics import OrderStatistics, ordered
from thrifty.models.greedy.score_weights import score_weights
from thrifty.models.greedy.splits import divide, median_split, project
from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import FilledRows, Moments
from thrifty.models.linear_nodes.tree import END, LinearNode

TIE = 1e-9  # relative difference in gain per cost below which the lower column index wins
NO_GAIN = 1e-12  # gains in R² up to this may be rounding errors
ROUNDING = 1e-12  # share of a sum's terms up to which the sum may be rounding errors


@dataclass(frozen=True)
class Rules:
    """How a tree is grown: the parameters of `ASTCRegressor` and `ASTCClassifier`, checked.

    `node_budget` is one number, one per depth, or one per node of the full tree in level order.
    """

    max_depth: int
    node_budget: np.ndarray
    soft: bool
    overflow: str
    min_gain: float
    min_samples_leaf: float
    compute_guarantee: bool

    def node_budget_at(self, place: int) -> float:
        """Return what the node at a place of the full tree may spend."""
        if self.node_budget.ndim == 0:
            return float(self.node_budget)
        by_depth = len(self.node_budget) == self.max_depth
        return float(self.node_budget[depth_of(place) if by_depth else place])


@dataclass(frozen=True, eq=False)
class GrownNode:
    """A finished node, with facts about its selection of features."""

    linear: LinearNode
    features: list[int]  # in the order in which they were selected
    bought: list[int]
    n_samples: float
    r2: float
    gamma: float | None  # see `guarantee`; None if it is not computed


@dataclass(frozen=True, eq=False)
class PendingNode:
    """A node that is not fitted yet."""

    place: int  # position in the full tree, level by level: the children of p are 2p + 1 and 2p + 2
    moments: Moments
    ledger: Ledger
    held: list[int]  # features that its path has bought


def depth_of(place: int) -> int:
    """Return the depth of a place in the full tree."""
    return (place + 1).bit_length() - 1


def grow(data: FilledRows, cost_model: CostModel, rules: Rules, classification: bool) -> list[GrownNode]:
    """Grow a tree.

    Parameters
    ----------
    data : FilledRows
        The training rows.
    cost_model : CostModel
        What the features cost.
    rules : Rules
        How to grow the tree.
    classification : bool
        Whether the scores of the nodes are log-odds. Otherwise they are predictions of the targets.

    Returns
    -------
    list of GrownNode
        The nodes in level order.
    """
    ledger = Ledger(cost_model)
    ahead = _expected_purchases(ledger, rules.node_budget_at(0))
    root = Moments(data, ahead=ahead)
    scale = np.sqrt(root.target_variances().sum() / root.weight)
    pending = [PendingNode(0, root, ledger, [])]
    grown: dict[int, GrownNode] = {}
    while pending:  # depth first, so that only the moments of one path and its siblings are in memory
        current = pending.pop()
        fit, bought, gamma = select_features(current, rules)
        node = _finish(current, fit, bought, gamma, classification)
        grown[current.place] = node
        pending += _split(current, node, rules, scale)
    return _in_level_order(grown)


def select_features(node: PendingNode, rules: Rules) -> tuple[ForwardFit, list[int], float | None]:
    """Fit a node on the features it holds, then buy features greedily within its budget (eq. 7).

    Returns
    -------
    fit : ForwardFit
        The model of the node.
    bought : list of int
        The features that the node buys.
    gamma : float or None
        The submodularity ratio, if it is wanted.
    """
    before = node.ledger.copy()
    fit = _path_model(node)
    bought = _buy_greedily(fit, node.ledger, rules.node_budget_at(node.place), rules)
    if not rules.compute_guarantee:
        return fit, bought, None
    return fit, bought, submodularity_ratio(_path_model(node), before.prices, before.price_of(bought))


def _path_model(node: PendingNode) -> ForwardFit:
    """Return the model of a node on the features that its path has bought."""
    fit = ForwardFit(node.moments)
    for feature in node.held:
        fit.add_if_usable(feature)
    return fit


def _buy_greedily(fit: ForwardFit, ledger: Ledger, budget: float, rules: Rules) -> list[int]:
    """Add features to a model as long as the budget allows, and return them."""
    bought: list[int] = []
    before = ledger.spent
    while True:
        affordable = ledger.affordable(budget, since=before)
        best = _best_candidate(fit.gains(), ledger.prices, affordable, rules)
        if best is None:
            return bought
        ledger.buy(best)
        fit.add(best)
        bought.append(best)


def _expected_purchases(ledger: Ledger, budget: float) -> float:
    """Estimate how many features a node budget will buy: the budget divided by the mean price."""
    prices = ledger.prices
    return budget / prices[prices > 0].mean() if prices.any() else 0.0


def _best_candidate(gains: np.ndarray, prices: np.ndarray, affordable: np.ndarray, rules: Rules) -> int | None:
    """Return the feature to add next, or None if the node is complete.

    This is the free feature of largest gain, otherwise the feature of largest gain per cost. If that feature is
    not affordable, the node is complete; with ``overflow="skip"`` only affordable features are compared.
    """
    free = np.where((prices == 0) & (gains > rules.min_gain), gains, 0.0)
    if free.any():
        return _first_best(free)
    per_cost = np.divide(gains, prices, out=np.zeros_like(gains), where=(prices > 0) & (gains > NO_GAIN))
    if rules.overflow == "skip":
        per_cost[~affordable] = 0.0
    best = _first_best(per_cost)
    return best if per_cost[best] > 0 and affordable[best] else None


def _first_best(values: np.ndarray) -> int:
    """Return the lowest index among the largest values, which may differ by rounding."""
    return int(np.argmax(values >= values.max() * (1 - TIE)))


def _finish(
    pending: PendingNode, fit: ForwardFit, bought: list[int], gamma: float | None, classification: bool
) -> GrownNode:
    held = pending.held + sorted(bought)
    direction = _routing_direction(fit)
    weights, intercepts = fit.coefficients()
    scores, score_intercept = score_weights(fit, (weights, intercepts), classification)
    linear = LinearNode(
        buys=sorted(bought),
        scores=_over_held(scores, fit.selected, held),
        score_intercept=score_intercept,
        projection=_over_held(_combined(direction, weights), fit.selected, held),
        projection_intercept=float(direction @ intercepts),
    )
    return GrownNode(linear, list(fit.selected), bought, float(pending.moments.weight), float(fit.r2), gamma)


def _over_held(weights: np.ndarray, features: list[int], held: list[int]) -> np.ndarray:
    """Return weights of all features held, given those of the features in the model; the others get weight 0."""
    place = {feature: i for i, feature in enumerate(held)}
    spread = np.zeros((*weights.shape[:-1], len(held)))
    spread[..., [place[f] for f in features]] = weights
    return spread


def _combined(direction: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weights of a combination of the scores; those that cancel out up to rounding are 0.

    Otherwise rounding would divide rows whose projections are equal.
    """
    combined, sizes = direction @ weights, np.abs(direction) @ np.abs(weights)
    return np.where(np.abs(combined) > ROUNDING * sizes, combined, 0.0)


def _routing_direction(fit: ForwardFit) -> np.ndarray:
    """Return the linear combination of the scores with the largest variance among the rows of the node."""
    covariance = fit.score_covariance()
    if len(covariance) == 1:
        return np.ones(1)
    direction = np.linalg.eigh(covariance)[1][:, -1]
    sizes = np.abs(direction)
    # The sign is that of the first largest entry; entries that differ by rounding count as equal.
    return direction * np.sign(direction[np.argmax(sizes >= sizes.max() * (1 - 1e-6))])


def _split(pending: PendingNode, node: GrownNode, rules: Rules, scale: float) -> list[PendingNode]:
    """Set the threshold of a node and return its children, the lower one first; none if the node is a leaf."""
    moments, linear = pending.moments, node.linear
    upper_place, lower_place = 2 * pending.place + 1, 2 * pending.place + 2
    if depth_of(upper_place) == rules.max_depth or node.r2 >= 1 - NO_GAIN:
        return []
    held = pending.held + list(linear.buys)
    projections = project(moments, held, linear)
    statistics = OrderStatistics(moments.members.beside(projections).map(ordered))
    threshold = median_split(statistics, rules.min_samples_leaf)
    if threshold is None:
        return []
    linear.threshold = threshold
    ahead = _expected_purchases(pending.ledger, rules.node_budget_at(upper_place))
    upper, lower = divide(moments, projections, threshold, scale if rules.soft else 0.0, held, ahead)
    return [
        PendingNode(lower_place, lower, pending.ledger.copy(), held),
        PendingNode(upper_place, upper, pending.ledger.copy(), held),
    ]


def _in_level_order(grown: dict[int, GrownNode]) -> list[GrownNode]:
    """Number the nodes consecutively in level order, and link them to their children by these numbers."""
    number = {place: k for k, place in enumerate(sorted(grown))}
    for place, node in grown.items():
        node.linear.upper = number.get(2 * place + 1, END)
        node.linear.lower = number.get(2 * place + 2, END)
    return [grown[place] for place in number]
