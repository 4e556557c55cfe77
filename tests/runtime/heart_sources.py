"""Fitted models, and sources of the heart data, for tests and benchmarks of the engine."""

from typing import NamedTuple

import numpy as np

from thrifty import (
    ASTCClassifier,
    AttentiveClassifier,
    CostWeightedL1Regressor,
    DynamicSelectionClassifier,
    GreedyMiserClassifier,
    source,
)
from thrifty.datasets import load_heart

HEART = load_heart()
TRAINING, FRESH = slice(0, 200), range(200, 270)


class Problem(NamedTuple):
    """A fitted model and the rows that it has not seen."""

    model: object
    X: np.ndarray
    keys: list


def fitted(name):
    models = {
        "astc": ASTCClassifier(costs=HEART.costs, max_depth=3, node_budget=[4, 10, 100], overflow="skip"),
        "miser": GreedyMiserClassifier(costs=HEART.costs, cost_weight=1e-3, n_estimators=20, evaluation_cost=0.25),
        "dynamic": DynamicSelectionClassifier(costs=HEART.costs, cost_weight=1e-3, random_state=0),
        "attentive": AttentiveClassifier(costs=HEART.costs, delta=0.2, random_state=0),
        "l1": CostWeightedL1Regressor(costs=HEART.costs, cost_weight=1e-4),
    }
    return models[name].fit(HEART.X[TRAINING], HEART.y[TRAINING])


NAMES = ("astc", "miser", "dynamic", "attentive", "l1")
MODELS = {name: fitted(name) for name in NAMES}


class Counted:
    """Sources that read the heart data and write down for which keys they are called."""

    def __init__(self, groups, *, batch=True, wrap=None):
        self.calls = {name: [] for name in groups}
        self.sources = [self._made(name, features, batch, wrap) for name, features in groups.items()]

    def _made(self, name, features, batch, wrap):
        columns = [HEART.names.index(feature) for feature in features]

        def read(keys):
            self.calls[name].append(list(keys))
            records = [dict(zip(features, HEART.X[key, columns].tolist(), strict=True)) for key in keys]
            return records if wrap is None else wrap(name, records)

        if batch:
            return source(provides=features, name=name, batch=True)(read)
        return source(provides=features, name=name)(lambda key: read([key])[0])


BLOOD, EXERCISE = ("chol", "fbs"), ("thalach", "exang", "oldpeak", "slope")
GROUPS = {
    "interview": tuple(name for name in HEART.names if name not in (*BLOOD, *EXERCISE, "ca", "thal", "restecg")),
    "blood": BLOOD,
    "exercise": EXERCISE,
    "ca": ("ca",),
    "thal": ("thal",),
    "restecg": ("restecg",),
}
