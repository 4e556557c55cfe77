"""Prices of the Yahoo! Learning to Rank features, in evaluations of a weak learner.

Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature evaluation
cost, JMLR 15, section 6.2 and figure 8.
"""

import numpy as np

PRICES = np.array([1.0, 5.0, 20.0, 50.0, 100.0, 150.0, 200.0])
COUNTS = np.array([123, 31, 191, 125, 16, 32, 1])


def draw_yahoo_prices(n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Return prices of `n_features` columns in random order; each price has its published share."""
    return rng.permutation(np.repeat(PRICES, _class_sizes(n_features)))


def _class_sizes(n_features: int) -> np.ndarray:
    """Return how many features have each price, rounded by the largest remainder method to a sum of `n_features`."""
    quotas = n_features * COUNTS / COUNTS.sum()
    sizes = np.floor(quotas).astype(int)
    by_remainder = np.argsort(sizes - quotas, kind="stable")
    sizes[by_remainder[: n_features - sizes.sum()]] += 1
    return sizes
