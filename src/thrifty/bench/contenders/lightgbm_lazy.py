"""LightGBM's cost-effective boosting with the lazy penalty: each row pays for the columns on its own paths.

LightGBM knows no bundles: each column has the price it has alone.
"""

from collections.abc import Iterator

import numpy as np

from thrifty.bench.contenders.boosters import boosted, by_paths, rounds
from thrifty.bench.contenders.contender import Contender, Model, Setting, Training, column_prices

LARGEST, SMALLEST = 30.0, 0.03  # penalties of all columns together, for each row


def trials(n: int) -> list[Setting]:
    """Return penalties from one that allows few columns to one that allows most."""
    return [{"penalty": penalty} for penalty in np.geomspace(LARGEST, SMALLEST, n).tolist()]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield prefixes of one fit."""
    penalty = setting["penalty"] * column_prices(training.costs)
    booster = boosted(training, max(rounds(training)), cegb_penalty_feature_lazy=penalty.tolist())
    for n in rounds(training):
        yield by_paths(training, booster, n, f"{n} rounds")


CONTENDER = Contender("lightgbm-lazy", "LightGBM CEGB, lazy", trials, fit)
