"""LightGBM's cost-effective boosting with the coupled penalty: the ensemble pays once for each column.

Every row pays for all columns of the ensemble. LightGBM knows no bundles: each column has the price it has alone.
"""

from collections.abc import Iterator

import numpy as np

from thrifty.bench.contenders.boosters import boosted, by_ensemble, rounds
from thrifty.bench.contenders.contender import Contender, Model, Setting, Training, column_prices

LARGEST, SMALLEST = 20.0, 0.02  # penalties of all columns together, in shares of the number of rows


def trials(n: int) -> list[Setting]:
    """Return penalties from one that allows few columns to one that allows most."""
    return [{"penalty": penalty} for penalty in np.geomspace(LARGEST, SMALLEST, n).tolist()]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield prefixes of one fit."""
    penalty = setting["penalty"] * len(training.rows) * column_prices(training.costs)
    booster = boosted(training, max(rounds(training)), cegb_penalty_feature_coupled=penalty.tolist())
    for n in rounds(training):
        yield by_ensemble(training, booster, n, f"{n} rounds")


CONTENDER = Contender("lightgbm-coupled", "LightGBM CEGB, coupled", trials, fit)
