"""The engine without faults: it agrees with batch prediction, and fetches what is asked for, once, together."""

import asyncio
import logging
import threading

import numpy as np
import pandas as pd
import pytest

from runtime.heart_sources import FRESH, GROUPS, HEART, MODELS, TRAINING, Counted
from thrifty import BudgetSearchCV, Engine, SourceError, TableModel, source
from thrifty.runtime import Result, TraceFile, read_traces


def everything():
    return Counted(GROUPS)


@pytest.mark.parametrize("cap", [None, 0, 12.0, 110.0])
def test_it_agrees_with_batch_prediction(problem, cap):
    batch = problem.model.acquire(problem.X, cap)
    with Engine(problem.model, everything().sources) as engine:
        results = engine.predict_many(problem.keys, cap)
        alone = engine.predict(problem.keys[3], cap)
    assert [result.key for result in results] == problem.keys
    np.testing.assert_array_equal([result.prediction for result in results], batch.prediction)
    np.testing.assert_array_equal([result.score for result in results], batch.score)
    np.testing.assert_array_equal([result.spend for result in results], batch.spend)
    np.testing.assert_array_equal([result.exit for result in results], batch.exit)
    assert not any(result.degraded for result in results)
    assert (alone.prediction, alone.spend, alone.score) == (
        results[3].prediction,
        results[3].spend,
        results[3].score,
    )


def test_what_is_fetched_is_what_is_acquired(problem):
    acquired = problem.model.acquire(problem.X).acquired
    counted = everything()
    with Engine(problem.model, counted.sources) as engine:
        engine.predict_many(problem.keys)
    for name, features in GROUPS.items():
        keys = [key for call in counted.calls[name] for key in call]
        bought = acquired[:, [HEART.names.index(feature) for feature in features]].any(axis=1)
        assert sorted(keys) == [key for key, needed in zip(problem.keys, bought, strict=True) if needed], name


def test_calls_are_shared_by_rows(problem):
    counted = everything()
    with Engine(problem.model, counted.sources) as engine:
        results = engine.predict_many(problem.keys * 3)
    steps = max(len(result.trace.steps) for result in results)
    assert sum(map(len, counted.calls.values())) <= steps * len(GROUPS)


def test_sources_without_batches_are_called_key_by_key(astc):
    counted = Counted(GROUPS, batch=False)
    with Engine(astc, counted.sources, concurrency=3) as engine:
        results = engine.predict_many(list(FRESH))
    np.testing.assert_array_equal([result.spend for result in results], astc.spend(HEART.X[FRESH]))
    assert all(len(call) == 1 for calls in counted.calls.values() for call in calls)


def test_probabilities_are_those_of_the_model(astc):
    with Engine(astc, everything().sources) as engine:
        result = engine.predict(200)
    np.testing.assert_allclose(list(result.probability.values()), astc.predict_proba(HEART.X[200:201])[0])
    assert list(result.probability) == astc.classes_.tolist()


def test_a_regressor_has_no_probabilities():
    with Engine(MODELS["l1"], everything().sources) as engine:
        assert engine.predict(200).probability is None


def test_the_sources_of_a_step_are_called_in_parallel(astc):
    both = threading.Barrier(2, timeout=10)
    features = astc.session().next().features
    columns = {name: HEART.names.index(name) for name in HEART.names}

    def reader(names):
        def read(key):
            if set(names) & set(features):
                both.wait()
            return [HEART.X[key, columns[name]] for name in names]

        return read

    rest = [name for name in HEART.names if name not in features]
    sources = [
        source(provides=features[:1], name="one")(lambda key: reader(features[:1])(key)[0]),
        source(provides=features[1:], name="others")(reader(features[1:])),
        source(provides=rest, name="rest")(reader(rest)),
    ]
    with Engine(astc, sources) as engine:
        assert not engine.predict(200).degraded


def test_asynchronous_sources_run_on_the_loop_of_the_caller(astc):
    loops = []

    @source(provides=HEART.names)
    async def record(key):
        loops.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return HEART.X[key].tolist()

    async def main():
        async with Engine(astc, [record]) as engine:
            results = await asyncio.gather(*(engine.apredict(key) for key in FRESH))
        return asyncio.get_running_loop(), results

    loop, results = asyncio.run(main())
    np.testing.assert_array_equal([result.spend for result in results], astc.spend(HEART.X[FRESH]))
    assert set(loops) == {loop}


def test_a_thousand_rows_at_once(astc):
    @source(provides=HEART.names)
    async def record(key):
        await asyncio.sleep(0.001)
        return HEART.X[key % 270].tolist()

    async def main():
        async with Engine(astc, [record], concurrency=1000) as engine:
            return await asyncio.gather(*(engine.apredict(key) for key in range(1000)))

    results = asyncio.run(main())
    expected = astc.spend(HEART.X[np.arange(1000) % 270])
    np.testing.assert_array_equal([result.spend for result in results], expected)


def test_predict_from_many_threads(astc):
    with Engine(astc, everything().sources) as engine:
        results = {}
        threads = [threading.Thread(target=lambda k=key: results.update({k: engine.predict(k)})) for key in FRESH]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    np.testing.assert_array_equal([results[key].spend for key in FRESH], astc.spend(HEART.X[FRESH]))


def test_a_table_of_mixed_columns():
    frame = pd.DataFrame(HEART.X, columns=HEART.names)
    frame["sex"] = np.where(frame["sex"] > 0, "male", "female")
    frame.loc[frame["age"] > 60, "chol"] = np.nan
    model = TableModel(MODELS["astc"].__class__(max_depth=3), costs=HEART.costs)
    model.fit(frame.iloc[TRAINING], HEART.y[TRAINING])

    @source(provides=HEART.names, batch=True)
    def record(keys):
        return frame.loc[list(keys)].to_dict("records")

    with Engine(model, [record]) as engine:
        results = engine.predict_many(list(FRESH))
    batch = model.acquire(frame.iloc[FRESH])
    np.testing.assert_array_equal([result.prediction for result in results], batch.prediction)
    np.testing.assert_array_equal([result.spend for result in results], batch.spend)
    assert not any(result.degraded for result in results)


def test_columns_without_names_are_called_x0_x1():
    model = MODELS["l1"].__class__(cost_weight=1e-3).fit(HEART.X[TRAINING], HEART.y[TRAINING])

    @source(provides=[f"x{j}" for j in range(13)])
    def record(key):
        return HEART.X[key].tolist()

    with Engine(model, [record]) as engine:
        assert engine.predict(205).prediction == model.predict(HEART.X[205:206])[0]


def test_a_search_is_served_by_its_best_model():
    search = BudgetSearchCV(["l1"], budget=40, costs=HEART.costs).fit(HEART.X[TRAINING], HEART.y[TRAINING])
    with Engine(search, everything().sources) as engine:
        results = engine.predict_many(list(FRESH))
    np.testing.assert_array_equal([result.spend for result in results], search.spend(HEART.X[FRESH]))


def test_the_trace_tells_what_was_paid_for(problem):
    with Engine(problem.model, everything().sources) as engine:
        results = engine.predict_many(problem.keys)
    for result in results:
        announced = sum(step.cost for step in result.trace.steps)
        assert announced == pytest.approx(result.spend)
        evaluation = announced - sum(call.cost for call in result.trace.calls)
        assert evaluation >= -1e-9
        for step in result.trace.steps:
            assert sorted(step.features) == sorted(f for call in step.calls for f in call.features)
        for call in result.trace.calls:
            assert (call.outcome, call.error) == ("ok", "")
            values = dict(zip(HEART.names, HEART.X[result.key], strict=True))
            assert call.values == {name: values[name] for name in call.features}


def test_a_source_is_called_once_per_row_and_its_values_are_kept():
    model = MODELS["miser"]
    counted = Counted({"all": HEART.names})
    with Engine(model, counted.sources) as engine:
        results = engine.predict_many(list(FRESH))
    assert sorted(key for call in counted.calls["all"] for key in call) == list(FRESH)
    result = max(results, key=lambda each: len(each.trace.steps))
    calls = list(result.trace.calls)
    assert len(calls) > 1
    assert [call.attempts for call in calls] == [1] + [0] * (len(calls) - 1)


def test_what_the_cache_holds_is_neither_fetched_nor_charged(astc):
    cache, counted = {}, everything()
    with Engine(astc, counted.sources, cache=cache) as engine:
        first, second = engine.predict(200), engine.predict(200)
    assert sum(map(len, counted.calls.values())) == sum(call.attempts for call in first.trace.calls)
    assert {call.outcome for call in second.trace.calls} == {"cached"}
    assert (second.prediction, second.spend, second.degraded) == (first.prediction, 0.0, False)
    assert first.spend == astc.spend(HEART.X[200:201])[0]


def test_redacted_values_are_not_in_traces(astc):
    with Engine(astc, everything().sources, redact=["age", "sex"]) as engine:
        call = next(engine.predict(200).trace.calls)
    assert {"age", "sex"} <= set(call.features)
    assert not {"age", "sex"} & set(call.values)
    with Engine(astc, everything().sources, redact=True) as engine:
        assert all(call.values is None for call in engine.predict(200).trace.calls)


def test_traces_are_written_as_lines_and_read_again(astc, tmp_path):
    path = tmp_path / "traces.jsonl"
    with TraceFile(path) as traces, Engine(astc, everything().sources, on_result=traces) as engine:
        results = engine.predict_many(list(FRESH))
    read = list(read_traces(path))
    assert [each.as_dict() for each in read] == [each.as_dict() for each in results]
    path.write_text(path.read_text() + "{}\n")
    with pytest.raises(SourceError, match="line 71 is not a trace"):
        list(read_traces(path))


def test_an_observer_that_fails_does_not_harm_the_prediction(astc, caplog):
    seen = []

    def fails(result):
        seen.append(result)
        raise ZeroDivisionError

    with Engine(astc, everything().sources, on_result=[fails, seen.append]) as engine, caplog.at_level(logging.ERROR):
        result = engine.predict(200)
    assert seen == [result, result]
    assert "failed on the result of key 200" in caplog.text


def test_many_rows_leave_turns_to_other_tasks(astc):
    async def main():
        async with Engine(astc, everything().sources) as engine:
            work, turns = asyncio.create_task(engine.apredict_many(list(FRESH) * 10)), 0
            while not work.done():
                await asyncio.sleep(0)
                turns += 1
            return turns, await work

    turns, results = asyncio.run(main())
    assert turns > 5
    assert isinstance(results[0], Result)


def test_observers_see_rows_in_the_order_of_keys():
    seen = []
    with Engine(MODELS["miser"], everything().sources, on_result=seen.append) as engine:
        results = engine.predict_many(list(FRESH))
    assert len({len(result.trace.steps) for result in results}) > 1
    assert seen == results


def test_no_keys():
    with Engine(MODELS["astc"], everything().sources) as engine:
        assert engine.predict_many([]) == []


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"deadline": 0}, "deadline is 0; expected seconds above 0, or None"),
        ({"timeout": -1}, "timeout is -1; expected seconds above 0"),
        ({"retries": 1.5}, "retries is 1.5; expected a whole number"),
        ({"on_failure": "ignore"}, "on_failure is 'ignore'; expected 'degrade' or 'raise'"),
        ({"concurrency": 0}, "concurrency is 0; expected a whole number above 0"),
        ({"redact": ["weight"]}, r"redact is \['weight'\]; expected names of features"),
        ({"on_result": [3]}, "on_result is 3; expected a callable"),
        ({"deadline": "1"}, "deadline is '1'; expected seconds above 0"),
        ({"cache": 5}, "cache is 5; expected a dict-like object"),
        ({"charge_failures": "no"}, "charge_failures is 'no'; expected True or False"),
    ],
)
def test_bad_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        Engine(MODELS["astc"], everything().sources, **parameters)


def test_bad_keys_and_caps_are_refused(astc):
    with Engine(astc, everything().sources) as engine:
        with pytest.raises(ValueError, match="key is"):
            engine.predict({"id": 3})
        with pytest.raises(ValueError, match="keys is 'abc'; expected a list of keys"):
            engine.predict_many("abc")
        with pytest.raises(ValueError, match="cap has 2 entries, but there are 3 keys"):
            engine.predict_many([200, 201, 202], cap=[1, 2])
        with pytest.raises(ValueError, match="cap is -1"):
            engine.predict(200, cap=-1)
    with pytest.raises(SourceError, match="the engine is closed"):
        engine.predict(200)


def test_missing_sources_are_named_before_anything_is_fetched(astc):
    counted = Counted({"interview": GROUPS["interview"]})
    with pytest.raises(SourceError, match="chol"):
        Engine(astc, counted.sources)
    assert counted.calls == {"interview": []}
