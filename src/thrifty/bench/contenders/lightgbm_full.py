"""LightGBM on all columns: what everything buys. The score of this contender is 1 on the normalised scale."""

from collections.abc import Iterator
from itertools import product

from thrifty.bench.contenders.boosters import boosted, by_ensemble, rounds
from thrifty.bench.contenders.contender import Contender, Model, Setting, Training

LEAVES, RATES, FRACTIONS = (7, 31, 15, 63), (0.1, 0.05), (0.5, 1.0)


def trials(n: int) -> list[Setting]:
    """Return sizes of trees, learning rates and shares of columns."""
    grid = product(RATES, FRACTIONS, LEAVES)
    settings = [{"num_leaves": leaves, "learning_rate": rate, "feature_fraction": part} for rate, part, leaves in grid]
    return settings[:n]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield prefixes of one fit."""
    booster = boosted(training, max(rounds(training)), **setting)
    for n in rounds(training):
        yield by_ensemble(training, booster, n, f"{n} rounds")


CONTENDER = Contender("lightgbm-full", "LightGBM on all columns", trials, fit)
