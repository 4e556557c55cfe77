"""ThriftyClassifier on data that is hardly enough, or odd in other ways."""

import numpy as np
import pytest

from thrifty import CostModel, ThriftyClassifier
from thrifty.models.session import drive

TINY = {"n_estimators": 10, "learning_rate": 0.3, "n_rounds": 1, "random_state": 0}
X = np.random.default_rng(0).normal(size=(120, 4))
Y = (X[:, 0] + X[:, 1] > 0).astype(int)
ALL_NAN = np.where(np.arange(4) == 2, np.nan, X)
NESTED = CostModel(
    {"a": 1, "b": 2, "c": 0.5, "d": 0},
    bundles={"p": (["c", "d"], 5), "q": (["b", "c"], 2)},
    requires={"d": ["a"], "b": ["d"]},
)
PROBLEMS = {
    "one row of each class": (X[:2], [0, 1], {}, None),
    "a class of one row": (X, np.append(2, Y[1:]), {}, None),
    "a column without values": (ALL_NAN, Y, {}, None),
    "constant columns": (np.ones((50, 3)), np.arange(50) % 2, {}, None),
    "one column": (X[:, :1], Y, {}, None),
    "each column three times": (np.hstack([X, X, X]), Y, {}, None),
    "rows of weight 0": (X, Y, {}, np.arange(120) % 2),
    "weights from 1e-6 to 1e6": (X, Y, {}, 10.0 ** np.random.default_rng(1).uniform(-6, 6, 120)),
    "prices from 1e-6 to 1e6": (X, Y, {"costs": [1e-6, 1e6, 1.0, 3.0]}, None),
    "bundles inside prerequisites": (X, Y, {"costs": NESTED}, None),
    "labels of several words": (X, np.where(Y, "yes, it is", "nö"), {}, None),
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_batches_and_sessions_agree_and_do_not_peek(name):
    values, y, parameters, weight = PROBLEMS[name]
    model = ThriftyClassifier(**parameters, **TINY).fit(values, y, weight)
    ids = model.cost_model_.names or range(values.shape[1])
    for cap in (None, 4.0):
        bought = model.acquire(values, cap)
        assert (bought.spend <= (np.inf if cap is None else cap)).all()
        np.testing.assert_allclose(bought.spend, model.cost_model_.of(bought.acquired))
        assert np.isin(bought.prediction, np.unique(y)).all()
        masked = model.acquire(np.where(bought.acquired, values, np.nan), cap)
        np.testing.assert_array_equal(masked.score, bought.score)
        for i in range(2):
            session = model.session(cap)
            end = drive(session, dict(zip(ids, values[i], strict=True)).__getitem__)
            assert (session.spend, end.prediction) == (bought.spend[i], bought.prediction[i])
