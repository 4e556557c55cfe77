"""The heart data, and a model that was fitted to a part of it."""

from copy import copy

import numpy as np
import pytest

from thrifty import ASTCClassifier, Promise, TableModel
from thrifty.datasets import load_heart

N_FITTED = 150


@pytest.fixture(scope="package")
def heart():
    data = load_heart(as_frame=True)
    data.y = np.where(data.y == 1, "present", "absent")
    return data


@pytest.fixture(scope="package")
def tree(heart):
    """Return a tree whose rows spend different amounts, under a cap that stops some of them."""
    tree = ASTCClassifier(max_depth=3, node_budget=[3, 8, 100], overflow="skip")
    return TableModel(tree, costs=heart.costs, cap=100).fit(heart.X[:N_FITTED], heart.y[:N_FITTED])


@pytest.fixture(scope="package")
def held_out(heart):
    return heart.X[N_FITTED:].reset_index(drop=True), heart.y[N_FITTED:]


@pytest.fixture
def promising(tree):
    """Return a function that makes a copy of the tree with a promise."""

    def promise(budget, confidence=0.95, scoring="accuracy"):
        model = copy(tree)
        model.promise_ = Promise(
            budget=budget, cap=None, unit="CAD", spend=1.0, spend_bound=2.0, confidence=confidence, scoring=scoring,
            score=0.8, score_error=0.02, method="astc", parameters={}, n_rows=N_FITTED,
        )  # fmt: skip
        return model

    return promise
