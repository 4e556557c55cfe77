"""Dynamic selection with the default parameters against Algorithm 1 and Coaching of He et al. (2012) as printed.

1600 training rows and some test rows are drawn by each seed. A sweep of cost weights is fitted, and accuracy at a
spend is interpolated between the points of the sweep. Scores need larger cost weights than probabilities.
"""

import numpy as np
from sklearn.svm import LinearSVC

from benchmarks.problems import missing
from benchmarks.report import table
from thrifty import DynamicSelectionClassifier
from thrifty.datasets import load

SEEDS = range(3)
N_TRAINING = 1600
N_TEST = {"segmentation": 700, "pendigits": 3000}
SPENDS = (0.35, 0.45)  # shares of the cost of all features
WEIGHTS_OF_PROBABILITIES = (0.1, 0.25, 0.5, 1.0, 2.0)
WEIGHTS_OF_SCORES = (1.0, 3.0, 6.0, 12.0, 25.0)
ALGORITHM_1 = {
    "margin": "score",
    "masked_training": False,
    "policy": LinearSVC(dual=False, tol=0.1),
    "weigh_stakes": False,
    "stop_biases": (0.0,),
    "coaching": 0.0,
}
SETTINGS = {
    "default": {},
    "default, stop_biases=(0.0,)": {"stop_biases": (0.0,)},
    "default, coach_stops=True": {"coach_stops": True},
    "Algorithm 1": ALGORITHM_1,
    "Coaching, eq. (4)": ALGORITHM_1 | {"coaching": 0.5, "coach_stops": True},
}


def main() -> None:
    for name, n_test in N_TEST.items():
        if not missing(name):
            rows = [(setting, *_accuracies(load(name), n_test, options)) for setting, options in SETTINGS.items()]
            table(f"{name}: mean accuracy over {len(SEEDS)} seeds, by spend", ("", *map(str, SPENDS)), rows)


def _accuracies(data, n_test, options):
    """Return the mean accuracy at each spend; NaN if a sweep has no model that is as cheap."""
    at_spends = np.mean([_at_spends(*_sweep(data, n_test, options, seed)) for seed in SEEDS], axis=0)
    return [f"{accuracy:.3f}" for accuracy in at_spends]


def _sweep(data, n_test, options, seed):
    """Return the spend and the test accuracy of each model of a sweep."""
    order = np.random.default_rng(seed).permutation(len(data.y))
    training, test = order[:N_TRAINING], order[N_TRAINING : N_TRAINING + n_test]
    X, weights = data.X.astype(float), WEIGHTS_OF_SCORES if "margin" in options else WEIGHTS_OF_PROBABILITIES
    model = DynamicSelectionClassifier(costs=data.costs, random_state=seed, **options)
    models = model.path(X[training], data.y[training], cost_weights=weights)
    spend = [each.spend(X[test]).mean() / data.costs.total for each in models]
    return np.array(spend), np.array([each.score(X[test], data.y[test]) for each in models])


def _at_spends(spend, accuracy):
    order = np.argsort(spend)
    return np.interp(SPENDS, spend[order], np.maximum.accumulate(accuracy[order]), left=np.nan)
