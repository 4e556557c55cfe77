"""How good the greedy selection of features at a node is guaranteed to be.

M. J. Kusner et al. Feature-Cost Sensitive Learning with Submodular Trees of Classifiers. AAAI 2014, theorem 2.2, after
A. Grubb, J. A. Bagnell (2012) and A. Das, D. Kempe (2011).

Let f(S) be R² of the least-squares model of features S, P the features that the path of a node has bought, G the
features that the node adds, and T what the node spends. For every set S of features that cost at most T together,

    f(P + G) - f(P)  >=  (1 - exp(-gamma)) * (f(P + S) - f(P))

Proof. Let A be the features that the node has at some time. Let c be the price of the feature that it buys next, and g
its gain. Then

    f(P + S) - f(A)  <=  sum over s in S of (f(A + s) - f(A)) / gamma  <=  T / gamma * g / c

The first inequality is lemma 2.4 of Das and Kempe: gamma is the smallest eigenvalue of the correlation matrix of the
features that S can contain, after what P explains is taken away. The second one holds if no feature of S has a larger
gain per price than the one that is bought. So each purchase multiplies the distance f(P + S) - f(A) by at most
1 - gamma * c / T, and all of them together by at most exp(-gamma).

The second inequality needs that

- a node stops at the first feature that exceeds its budget (``overflow="stop"``),
- prices add up: no unit is shared by several features, and
- free features are added as long as they increase R² at all (``min_gain=0``), or there are none.
"""

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.models.least_squares.forward_fit import ForwardFit


def is_guaranteed(cost_model: CostModel, overflow: str, min_gain: float) -> bool:
    """Tell whether the theorem applies to the nodes of a tree."""
    some_free = not Ledger(cost_model).prices.all()
    return overflow == "stop" and _prices_add_up(cost_model) and (min_gain == 0 or not some_free)


def _prices_add_up(cost_model: CostModel) -> bool:
    """Tell whether no unit that costs something is required by several features."""
    n_features_of = np.bincount(cost_model.sparse_requirement.indices, minlength=len(cost_model.unit_costs))
    return bool((n_features_of[cost_model.unit_costs > 0] <= 1).all())


def submodularity_ratio(path: ForwardFit, prices: np.ndarray, spend: float) -> float:
    """Return gamma, a lower bound on the submodularity ratio of R².

    Parameters
    ----------
    path : ForwardFit
        The model of the node before it adds features.
    prices : ndarray of shape (n_features,)
        What each feature costs a row that has bought the features of the path.
    spend : float
        What the node spends.

    Returns
    -------
    float
        1 if there are no candidates.
    """
    candidates = np.flatnonzero(path.usable() & (prices <= spend))
    if not candidates.size:
        return 1.0
    unexplained = path.unexplained_covariances(candidates)
    deviation = np.sqrt(unexplained.diagonal())
    return float(np.linalg.eigvalsh(unexplained / np.outer(deviation, deviation))[0].clip(0.0, 1.0))
