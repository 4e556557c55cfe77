"""Random sources (slow, failing, partial, wrong about types) under random models: the engine keeps its promises."""

import asyncio
import random

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.heart_sources import HEART, MODELS, NAMES
from thrifty import Engine, source
from thrifty.runtime.trace import FAILED

BEHAVIOURS = ("good", "slow", "fails", "no record", "wrong type", "partial", "unavailable", "sometimes")
FAULTLESS = {"good", "slow"}


class Laboratory:
    """Splits the columns into random sources, each with its behaviour, and writes down what is fetched."""

    def __init__(self, behaviours, seed):
        generator = random.Random(seed)
        columns = list(HEART.names)
        generator.shuffle(columns)
        self.fetched = set()
        self.sources = [
            self._made(f"source {i}", columns[i :: len(behaviours)], behaviour, generator)
            for i, behaviour in enumerate(behaviours)
        ]

    def _made(self, name, features, behaviour, generator):
        batch, later = generator.random() < 0.5, generator.random() < 0.5
        types = dict.fromkeys(features, float)

        def record(key):
            self.fetched |= {(key, feature) for feature in features}
            values = dict(zip(HEART.names, HEART.X[key].tolist(), strict=True))
            known = {feature: values[feature] for feature in features}
            if behaviour == "fails" or (behaviour == "sometimes" and key % 3 == 0):
                raise OSError("down")
            if behaviour == "no record":
                return None
            if behaviour == "wrong type":
                return known | {features[0]: [1, 2]}
            if behaviour == "partial":
                known.pop(features[0])
            if behaviour == "unavailable":
                known[features[0]] = None
            return known

        def read(keys):
            return [record(key) for key in keys] if batch else record(keys)

        async def fetch(keys):
            await asyncio.sleep(0.001 if behaviour == "slow" else 0)
            return read(keys)

        return source(provides=types, name=name, batch=batch)(fetch if later else read)


@settings(max_examples=60, deadline=None)
@given(
    model=st.sampled_from(NAMES),
    behaviours=st.lists(st.sampled_from(BEHAVIOURS), min_size=1, max_size=6),
    seed=st.integers(0, 1000),
    keys=st.lists(st.integers(200, 269), max_size=12),
    cap=st.none() | st.sampled_from([0.0, 3.0, 20.0, 110.0, 250.0]),
    retries=st.integers(0, 1),
    charge=st.booleans(),
)
def test_random_sources(model, behaviours, seed, keys, cap, retries, charge):
    fitted, laboratory = MODELS[model], Laboratory(behaviours, seed)
    engine = Engine(fitted, laboratory.sources, retries=retries, charge_failures=charge, breaker_failures=3)
    with engine:
        results = engine.predict_many(keys, cap)
    batch = fitted.acquire(HEART.X[keys], cap) if keys else None
    asked = {(result.key, feature) for result in results for step in result.trace.steps for feature in step.features}
    sources = {each.name: set(each.features) for each in laboratory.sources}
    for i, result in enumerate(results):
        calls = list(result.trace.calls)
        assert result.degraded == any(call.outcome in FAILED for call in calls)
        assert result.spend <= (np.inf if cap is None else cap)
        if not result.degraded and all(None not in call.values.values() for call in calls):
            assert result.prediction == batch.prediction[i]
            assert result.spend == batch.spend[i]
        charged = [call for call in calls if call.cost > 0]
        assert all(call.outcome != "refused" for call in charged)
        assert charge or all(call.outcome in ("ok", "missing", "invalid") for call in charged)
    for key, feature in laboratory.fetched:  # a call fetches all features of its source, so one of them was asked for
        (provided,) = [features for features in sources.values() if feature in features]
        assert any((key, other) in asked for other in provided)
    if set(behaviours) <= FAULTLESS:
        assert not any(result.degraded for result in results)
