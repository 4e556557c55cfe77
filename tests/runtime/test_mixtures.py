"""A mixture of models behind an engine: the same key always gets the same model, and replays agree."""

import numpy as np
import pandas as pd

from thrifty import CostWeightedL1Regressor, Engine, MixtureRegressor
from thrifty.runtime import FrameSource
from thrifty.runtime.replay import replay

SHARE, COST, N = 0.3, 6.0, 300
FRAME = pd.DataFrame(np.random.default_rng(0).normal(size=(N, 3)), columns=["a", "b", "c"])


def test_a_key_always_gets_the_same_model():
    parts = (CostWeightedL1Regressor(cost_weight=weight) for weight in (100.0, 1e-3))
    costs = {"a": 1.0, "b": 2.0, "c": 3.0}
    model = MixtureRegressor(*parts, share=SHARE, costs=costs, random_state=0).fit(FRAME, FRAME @ [1.0, 2.0, 3.0])
    with Engine(model, [FrameSource(FRAME)]) as engine:
        first, again = (engine.predict_many(list(range(N))) for _ in "ab")
    spends = [result.spend for result in first]
    assert spends == [result.spend for result in again]
    assert abs(np.mean(spends) / COST - SHARE) < 5 * np.sqrt(SHARE * (1 - SHARE) / N)
    replayed = list(replay(model, first))
    assert [row.spend for row in replayed] == spends
    assert not any(row.changed for row in replayed)
