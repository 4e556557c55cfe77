"""Data for the benchmarks: a synthetic regression problem, and a check for real data sets."""

import numpy as np

from thrifty.datasets import list_datasets

YAHOO_SIZE = (141_397, 519)  # rows and features of the training set in Table 1 of Kusner et al. (2014)


def correlated_regression(n_rows: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return columns that are correlated through 40 common factors, and a target with different weights in two regions.

    The sign of the first column decides the region.
    """
    random = np.random.default_rng(seed)
    X = random.standard_normal((n_rows, n_features))
    X += 0.5 * random.standard_normal((n_rows, 40)) @ random.standard_normal((40, n_features))
    sparse = random.standard_normal(n_features) * (random.random(n_features) < 0.3)
    local = X @ random.standard_normal(n_features)
    return X, X @ sparse + 0.3 * np.sign(X[:, 0]) * local + 3.0 * random.standard_normal(n_rows)


def missing(name: str) -> bool:
    """Return whether a data set is missing from the folder THRIFTY_DATA, and print a message if it is."""
    absent = not list_datasets()[name]
    if absent:
        print(f"{name} is not in the folder that THRIFTY_DATA names; benchmarks that need it are skipped.")
    return absent
