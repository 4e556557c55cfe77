"""A mixture of models behind the service: single rows and sessions get the share, and a session keeps its model."""

import numpy as np
import pytest

from thrifty import Acquire, CostWeightedL1Regressor, MixtureRegressor, save
from thrifty.serving.rows import predict_rows
from thrifty.serving.served_model import ServedModel
from thrifty.serving.sessions.live import LiveSession

SHARE, COST = 0.3, 6.0


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    X = np.random.default_rng(0).normal(size=(200, 3))
    parts = (CostWeightedL1Regressor(cost_weight=weight) for weight in (100.0, 1e-3))
    model = MixtureRegressor(*parts, share=SHARE, costs=[1, 2, 3], random_state=0).fit(X, X @ [1.0, 2.0, 3.0])
    return ServedModel.open(str(save(model, tmp_path_factory.mktemp("mixture") / "model.thrifty")))


def test_rows_that_come_one_by_one_get_the_share(served):
    row = {"x0": 0.1, "x1": 0.2, "x2": 0.3}
    spends = [predict_rows(served, [row], None, None)["mean_spend"] for _ in range(600)]
    assert abs(np.mean(spends) / COST - SHARE) < 5 * np.sqrt(SHARE * (1 - SHARE) / 600)
    assert abs(predict_rows(served, [row] * 1000, None, None)["mean_spend"] / COST - SHARE) < 0.005


def test_a_session_that_is_replayed_elsewhere_gets_the_same_model(served):
    first = [[isinstance(LiveSession(served, None, None, f"{k}")._step, Acquire) for k in range(300)] for _ in "ab"]
    assert first[0] == first[1]
    assert abs(np.mean(first[0]) - SHARE) < 5 * np.sqrt(SHARE * (1 - SHARE) / 300)
