"""Prediction with a forest: time relative to LightGBM, with caps, masks and early exit; time of a session step."""

import lightgbm
import numpy as np

from benchmarks.problems import YAHOO_SIZE, correlated_regression
from benchmarks.report import at_most, ratio, report, seconds
from thrifty import EarlyExitRanker, Forest
from thrifty.kernels.threads import n_threads
from thrifty.models.session import drive

N_FEATURES, N_TREES, MAX_DEPTH = 200, 200, 4
N_DOCUMENTS = 24  # per query


def main() -> None:
    X, y = correlated_regression(YAHOO_SIZE[0], N_FEATURES)
    booster = boosted(X, y)
    prices = np.random.default_rng(0).choice([1.0, 5.0, 20.0, 50.0, 150.0], N_FEATURES)
    model = Forest.from_model(booster).with_costs(prices)
    qid = np.arange(len(X)) // N_DOCUMENTS
    ranker = EarlyExitRanker(model.forest_, costs=prices, n_checkpoints=20, s=1.0).fit(X, y - y.min(), qid=qid)
    median_spend = float(np.median(model.spend(X)))
    ranker.predict(X[:100], qid=qid[:100])  # compile

    def over_lightgbm(work):
        return ratio(work, lambda: booster.predict(X), 5)

    difference = float(np.abs(model.predict(X) - booster.predict(X)).max())
    lines = [
        at_most("largest difference between the predictions", difference, 1e-12, ""),
        at_most("predict", over_lightgbm(lambda: model.predict(X)), 1.0),
        at_most("spend", over_lightgbm(lambda: model.spend(X)), 1.0),
        at_most("acquire and .acquired", over_lightgbm(lambda: model.acquire(X).acquired), 1.0),
        at_most("predict, cap = median spend / 2", over_lightgbm(lambda: model.predict(X, median_spend / 2)), 1.0),
        at_most("predict, cap = median spend", over_lightgbm(lambda: model.predict(X, median_spend)), 2.0),
        at_most("predict with early exit by query", over_lightgbm(lambda: ranker.predict(X, qid=qid)), 2.0),
        at_most("one step of a session", step_microseconds(model, X[:20]), 20, "us"),
    ]
    size = f"{X.shape[0]} x {N_FEATURES}, {N_TREES} trees of depth {MAX_DEPTH}"
    report(f"Forest, {size}; times (x) are divided by the time of LightGBM's predict", lines)


def boosted(X, y):
    parameters = {"max_depth": MAX_DEPTH, "num_leaves": 2**MAX_DEPTH, "num_threads": n_threads(), "verbose": -1}
    return lightgbm.train(parameters, lightgbm.Dataset(X, y), N_TREES)


def step_microseconds(model, X):
    """Return the mean time of a session step in microseconds: time of all sessions / number of acquired features."""
    rows = [dict(enumerate(row.tolist())) for row in X]

    def run():
        for row in rows:
            drive(model.session(), row.__getitem__)

    return 1e6 * seconds(run, 5) / model.acquire(X).acquired.sum()
