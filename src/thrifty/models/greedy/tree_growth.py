"""Growing a tree of linear nodes greedily, top-down (Algorithm 1 of Kusner et al., 2014).

open a node      it holds the features of its path
buy              features that cost nothing more while they help, then the best gain in R² per cost, until the
                 allowance is spent
split            at the median of the scores; the children inherit what is held and what is paid
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.linear_tree import project_rows
from thrifty.kernels.threads import over_rows
from thrifty.models.least_squares.forward_fit import ForwardFit
from thrifty.models.least_squares.moments import Moments, TrainingRows
from thrifty.models.linear_nodes.tree import END, LinearNode

TIE = 1e-9  # relative difference in gain per cost below which the lower column index wins
NO_GAIN = 1e-12  # what rounding errors can pretend to add to R²

Scores = Callable[[ForwardFit], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Rules:
    """How a tree is grown; `node_budget` is one allowance, one per depth, or one per node in level order."""

    max_depth: int
    node_budget: np.ndarray
    soft: bool
    overflow: str
    min_gain: float
    min_samples_leaf: float

    def allowance(self, place: int) -> float:
        """Return what the node at a place of the full tree may spend."""
        if self.node_budget.ndim == 0:
            return float(self.node_budget)
        by_depth = len(self.node_budget) == self.max_depth
        return float(self.node_budget[depth_of(place) if by_depth else place])


@dataclass(frozen=True, eq=False)
class GrownNode:
    """A finished node and how it came about."""

    linear: LinearNode
    features: list[int]  # in the order they were selected
    bought: list[int]
    n_samples: float
    r2: float
    gamma: float


@dataclass(frozen=True, eq=False)
class _Opening:
    """A node to be fitted. `place` counts the full tree level by level: its children are 2p + 1 and 2p + 2."""

    place: int
    moments: Moments
    ledger: Ledger
    held: list[int]


def depth_of(place: int) -> int:
    """Return the depth of a place in the full tree."""
    return (place + 1).bit_length() - 1


def grow(data: TrainingRows, cost_model: CostModel, rules: Rules, scores: Scores) -> list[GrownNode]:
    """Return the nodes of the tree in level order; `scores` turns a node's fit into the weights of its answers."""
    ledger = Ledger(cost_model)
    everyone = Moments(data, np.arange(len(data.X)), data.count, ahead=_appetite(ledger, rules.allowance(0)))
    scale = np.sqrt(everyone.target_variances().sum() / everyone.weight)
    openings = [_Opening(0, everyone, ledger, [])]
    grown: dict[int, GrownNode] = {}
    while openings:  # depth first: only the moments of one path and its siblings are alive at any time
        opening = openings.pop()
        fit, buys = select_features(opening, rules)
        node = _finish(opening, fit, buys, scores(fit))
        grown[opening.place] = node
        openings += _split(opening, node, rules, scale)
    return _numbered(grown)


def select_features(opening: _Opening, rules: Rules) -> tuple[ForwardFit, list[int]]:
    """Fit the node on what it holds, then buy greedily within its allowance (eq. 7)."""
    ledger, budget = opening.ledger, rules.allowance(opening.place)
    fit, before = ForwardFit(opening.moments), ledger.spent
    for feature in opening.held:
        fit.admit(feature)
    buys: list[int] = []
    while True:
        fits = ledger.affordable(budget, since=before)
        best = _best_candidate(fit.gains(), ledger.prices, fits, rules)
        if best is None:
            return fit, buys
        ledger.buy(best)
        fit.add(best)
        buys.append(best)


def _appetite(ledger: Ledger, budget: float) -> float:
    """Guess how many features an allowance will buy."""
    prices = ledger.prices
    return budget / prices[prices > 0].mean() if prices.any() else 0.0


def _best_candidate(gains: np.ndarray, prices: np.ndarray, fits: np.ndarray, rules: Rules) -> int | None:
    """Return the feature to take next: the best free one that helps, else the best per cost if it fits."""
    free = np.where((prices == 0) & (gains > rules.min_gain), gains, 0.0)
    if free.any():
        return _first_best(free)
    per_cost = np.divide(gains, prices, out=np.zeros_like(gains), where=(prices > 0) & (gains > NO_GAIN))
    if rules.overflow == "skip":
        per_cost[~fits] = 0.0
    best = _first_best(per_cost)
    return best if per_cost[best] > 0 and fits[best] else None


def _first_best(values: np.ndarray) -> int:
    """Return the lowest index among the largest values, equal up to rounding."""
    return int(np.argmax(values >= values.max() * (1 - TIE)))


def _finish(opening: _Opening, fit: ForwardFit, buys: list[int], scores: tuple[np.ndarray, np.ndarray]) -> GrownNode:
    held = opening.held + sorted(buys)
    direction = _routing_direction(fit)
    weights, intercepts = fit.coefficients()
    linear = LinearNode(
        buys=sorted(buys),
        scores=_over_held(scores[0], fit.selected, held),
        score_intercept=scores[1],
        projection=_over_held(direction @ weights, fit.selected, held),
        projection_intercept=float(direction @ intercepts),
    )
    return GrownNode(
        linear,
        list(fit.selected),
        buys,
        float(opening.moments.weight),
        float(fit.r2),
        fit.smallest_eigenvalue(),
    )


def _over_held(weights: np.ndarray, features: list[int], held: list[int]) -> np.ndarray:
    """Spread weights of some features over everything held; what is collinear at this node gets zero."""
    place = {feature: i for i, feature in enumerate(held)}
    spread = np.zeros((*weights.shape[:-1], len(held)))
    spread[..., [place[f] for f in features]] = weights
    return spread


def _routing_direction(fit: ForwardFit) -> np.ndarray:
    """Return the combination of the scores that varies most among the node's rows; of one score, itself."""
    covariance = fit.score_covariance()
    if len(covariance) == 1:
        return np.ones(1)
    direction = np.linalg.eigh(covariance)[1][:, -1]
    sizes = np.abs(direction)
    return direction * np.sign(direction[np.argmax(sizes >= sizes.max() * (1 - 1e-6))])  # rounding must not decide


def _split(opening: _Opening, node: GrownNode, rules: Rules, scale: float) -> list[_Opening]:
    """Set the node's threshold and return its children, lower first; none if it is to be a leaf."""
    moments, linear = opening.moments, node.linear
    upper_place, lower_place = 2 * opening.place + 1, 2 * opening.place + 2
    if depth_of(upper_place) == rules.max_depth or node.r2 >= 1 - NO_GAIN:
        return []
    held = opening.held + list(linear.buys)
    projections = _project(moments, held, linear)
    threshold = median_split(projections, moments.row_weight, rules.min_samples_leaf)
    if threshold is None:
        return []
    linear.threshold = threshold
    above = expit((projections - threshold) / scale) if rules.soft else (projections > threshold).astype(float)
    upper, lower = _children(moments, above, held, _appetite(opening.ledger, rules.allowance(upper_place)))
    return [
        _Opening(lower_place, lower, opening.ledger.copy(), held),
        _Opening(upper_place, upper, opening.ledger.copy(), held),
    ]


def _project(moments: Moments, held: list[int], linear: LinearNode) -> np.ndarray:
    """Project the node's rows exactly as prediction will, so that ties route alike."""
    out = np.empty(len(moments.rows))
    features = np.array(held, dtype=np.uint64)

    X, rows, weights, intercept = moments.data.X, moments.rows, linear.projection, linear.projection_intercept
    over_rows(lambda first, last: project_rows(X, rows, first, last, features, weights, intercept, out), len(out))
    return out


def median_split(values: np.ndarray, weight: np.ndarray, min_side: float) -> float | None:
    """Return the weighted median, or the threshold nearest to it in rows that leaves `min_side` on either side.

    Rows above the threshold go up. Returns None if no threshold splits.
    """
    order = np.argsort(values)
    ordered, below = values[order], np.cumsum(weight[order])
    total = below[-1]
    edges = np.flatnonzero(ordered[:-1] < ordered[1:])  # a threshold can stand behind these positions
    edges = edges[(below[edges] >= min_side) & (total - below[edges] >= min_side)]
    if not edges.size:
        return None
    median = _weighted_median(ordered, below)
    at_median = np.searchsorted(ordered, median, side="right") - 1
    if at_median in edges:
        return median
    edge = edges[np.abs(below[edges] - total / 2).argmin()]
    middle = (ordered[edge] + ordered[edge + 1]) / 2
    return float(min(middle, np.nextafter(ordered[edge + 1], -np.inf)))  # neighbours may have nothing between them


def _weighted_median(ordered: np.ndarray, cumulative: np.ndarray) -> float:
    """Return what np.median would, had each row been repeated `weight` times."""
    half = cumulative[-1] / 2
    left = np.searchsorted(cumulative, half * (1 - TIE))
    right = np.searchsorted(cumulative, half * (1 + TIE))
    return float((ordered[left] + ordered[min(right, len(ordered) - 1)]) / 2)


def _children(moments: Moments, above: np.ndarray, held: list[int], appetite: float) -> tuple[Moments, Moments]:
    """Return the moments of the upper and the lower child: the lighter one by a pass, the other by subtraction."""
    shares = (above, 1.0 - above)
    lighter = int(shares[1] @ moments.row_weight < shares[0] @ moments.row_weight)
    (rows, weight), (other_rows, other_weight) = (_share(moments, shares[k]) for k in (lighter, 1 - lighter))
    small = Moments(moments.data, rows, weight, held, appetite, moments.origin)
    large = moments.without(small, other_rows, other_weight)
    small, large = (child.trusted(held, appetite) for child in (small, large))
    return (small, large) if lighter == 0 else (large, small)


def _share(moments: Moments, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    here = share > 0
    return moments.rows[here], (moments.row_weight * share)[here]


def _numbered(grown: dict[int, GrownNode]) -> list[GrownNode]:
    """Close the gaps in the numbering of the full tree and link children accordingly."""
    number = {place: k for k, place in enumerate(sorted(grown))}
    for place, node in grown.items():
        node.linear.upper = number.get(2 * place + 1, END)
        node.linear.lower = number.get(2 * place + 2, END)
    return [grown[place] for place in number]
