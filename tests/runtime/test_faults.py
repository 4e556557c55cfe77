"""The engine with sources that fail: rows are degraded, calls that were made are charged, and nothing is left."""

import asyncio
import gc
import threading
import time

import numpy as np
import pytest

from runtime.heart_sources import FRESH, GROUPS, HEART, MODELS, Counted
from thrifty import Acquire, Engine, SourceError, source

NAMES = HEART.names


def failing(group, failure):
    """Sources of the heart data; that of one group raises what `failure` raises, or returns what it returns."""
    return Counted(GROUPS, wrap=lambda name, records: failure(records) if name == group else records)


def without(model, row, features, cap=None):
    """The answer of a session for which some features are unavailable, and what it asked for."""
    session, asked = model.session(cap), []
    while isinstance(step := session.next(), Acquire):
        asked += step.features
        values = dict(zip(NAMES, HEART.X[row], strict=True))
        session.observe({name: None if name in features else values[name] for name in step.features})
    return step, session.spend, asked


def down(records):
    raise ConnectionError("no route to the laboratory")


@pytest.mark.parametrize("group", ["interview", "blood", "exercise", "thal"])
def test_a_failing_source_makes_its_features_unavailable(problem, group):
    counted = failing(group, down)
    with Engine(problem.model, counted.sources, breaker_failures=10**6) as engine:
        results = engine.predict_many(problem.keys)
    for result in results:
        stop, spend, asked = without(problem.model, result.key, GROUPS[group])
        concerned = bool(set(asked) & set(GROUPS[group]))
        assert (result.prediction, result.degraded, result.exit) == (stop.prediction, concerned, stop.exit)
        np.testing.assert_array_equal(result.score, stop.score)
        failed = [call for call in result.trace.calls if call.source == group]
        assert {call.outcome for call in failed} <= {"failed"}
        if len(failed) < 2:  # features that were asked for after the failed call are not charged
            assert result.spend == pytest.approx(spend)
        else:
            assert result.spend < spend + 1e-9


def test_a_failure_is_described(astc):
    with Engine(astc, failing("blood", down).sources) as engine:
        results = engine.predict_many(list(FRESH))
    calls = [call for result in results for call in result.trace.calls if call.source == "blood"]
    assert calls
    assert {call.error for call in calls} == {"ConnectionError: no route to the laboratory"}
    assert all(set(call.values.values()) == {None} for call in calls)


def test_failures_are_charged_or_not_as_the_user_says(astc):
    spends = {}
    for charge in (True, False):
        with Engine(astc, failing("blood", down).sources, charge_failures=charge) as engine:
            results = engine.predict_many(list(FRESH))
        spends[charge] = np.array([result.spend for result in results])
        for result in results:
            if not charge:
                paid = [name for call in result.trace.calls if call.outcome == "ok" for name in call.features]
                assert result.spend == pytest.approx(float(HEART.costs.of([name in paid for name in NAMES])))
    degraded = np.array([result.degraded for result in results])
    assert (spends[True][degraded] > spends[False][degraded]).all()
    np.testing.assert_array_equal(spends[True][~degraded], spends[False][~degraded])


def test_failures_are_raised_if_asked_for(astc):
    message = r"source 'interview' did not provide .*'age'.* for key 200 \(failed\)"
    with (
        Engine(astc, failing("interview", down).sources, on_failure="raise") as engine,
        pytest.raises(SourceError, match=message),
    ):
        engine.predict(200)


@pytest.mark.parametrize("exception", [StopIteration(), SystemExit(3), RuntimeError(), KeyError("a"), MemoryError()])
def test_no_exception_of_a_source_ends_the_process(astc, exception):
    def fail(records):
        raise exception

    async def fail_later(key):
        await asyncio.sleep(0)
        raise exception

    with Engine(astc, failing("interview", fail).sources) as engine:
        assert engine.predict(200).degraded
    rest = [each for each in Counted(GROUPS).sources if each.name != "interview"]
    with Engine(astc, [source(provides=GROUPS["interview"], name="interview")(fail_later), *rest]) as engine:
        assert engine.predict(200).degraded
        assert engine.predict(201).degraded


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (lambda records: None, "failed"),
        (lambda records: records[:-1], "failed"),
        (lambda records: "garbage", "failed"),
        (lambda records: [None for _ in records], "missing"),
        (lambda records: [{**each, "age": "old"} for each in records], "invalid"),
        (lambda records: [{**each, "age": float("inf")} for each in records], "invalid"),
        (lambda records: [{k: v for k, v in each.items() if k != "age"} for each in records], "invalid"),
        (lambda records: [{**each, "age": None} for each in records], "ok"),
        (lambda records: [{**each, "age": float("nan")} for each in records], "ok"),
    ],
)
def test_garbage_is_not_taken_for_a_value(astc, reply, outcome):
    counted = failing("interview", reply)
    with Engine(astc, counted.sources) as engine:
        result = engine.predict(200)
    call = next(result.trace.calls)
    lost = ["age"] if outcome in ("invalid", "ok") else GROUPS["interview"]
    assert (call.source, call.outcome, result.degraded) == ("interview", outcome, outcome != "ok")
    assert result.prediction == without(astc, 200, lost)[0].prediction


def slow(seconds):
    def wait(records):
        time.sleep(seconds)
        return records

    return wait


def waiting_for(event):
    def wait(records):
        event.wait(60)
        return records

    return wait


def test_a_call_that_takes_too_long_is_given_up(astc):
    over = threading.Event()
    with Engine(astc, failing("interview", waiting_for(over)).sources, timeout=0.5) as engine:
        result = engine.predict(200)
        over.set()
    assert [call.outcome for call in result.trace.calls if call.source == "interview"] == ["timeout"]
    assert result.degraded


def test_the_timeout_of_a_source_replaces_that_of_the_engine(astc):
    sources = failing("interview", slow(0.15)).sources
    for each in sources:
        each.timeout = 60.0
    with Engine(astc, sources, timeout=0.05) as engine:
        assert not engine.predict(200).degraded


def test_a_deadline_gives_the_best_answer_at_that_time(astc):
    everything, over = list(GROUPS), threading.Event()
    wait = waiting_for(over)
    counted = Counted(GROUPS, wrap=lambda name, records: records if name == "interview" else wait(records))
    with Engine(astc, counted.sources, deadline=2.0) as engine:
        results = engine.predict_many(list(FRESH)[:20])
        over.set()
    late = [result for result in results if result.reason == "deadline"]
    assert late
    for result in late:
        stop, spend, _ = without(astc, result.key, [n for name in everything[1:] for n in GROUPS[name]])
        assert (result.prediction, result.degraded) == (stop.prediction, True)
        assert result.spend <= spend


def test_calls_that_were_never_made_are_not_charged(astc):
    over = threading.Event()
    counted = Counted(GROUPS, wrap=lambda name, records: waiting_for(over)(records))
    with Engine(astc, counted.sources, deadline=0.5) as engine:
        result = engine.predict(200)
        over.set()
    for call in result.trace.calls:
        assert call.outcome == "deadline"
        assert (call.cost > 0) == (call.attempts > 0)
    first = next(result.trace.calls)
    assert result.spend == pytest.approx(first.cost)
    assert sum(map(len, counted.calls.values())) == 1


def test_failed_calls_are_tried_again(astc):
    failures = iter([True, True, False])

    def unsteady(records):
        if next(failures, False):
            raise ConnectionError
        return records

    counted = failing("interview", unsteady)
    with Engine(astc, counted.sources, retries=2) as engine:
        result = engine.predict(200)
    call = next(result.trace.calls)
    assert (call.outcome, call.attempts, result.degraded) == ("ok", 3, False)
    assert len(counted.calls["interview"]) == 3
    assert result.spend == astc.spend(HEART.X[200:201])[0]


def test_the_breaker_opens_and_closes(astc):
    broken = [True]

    def laboratory(records):
        if broken:
            raise ConnectionError
        return records

    counted = failing("interview", laboratory)
    with Engine(astc, counted.sources, breaker_failures=3, breaker_pause=2.0) as engine:
        results = [engine.predict(200 + i) for i in range(10)]
        outcomes = [next(result.trace.calls).outcome for result in results]
        assert outcomes == ["failed"] * 3 + ["refused"] * 7
        assert engine.health().sources["interview"] == "open"
        assert len(counted.calls["interview"]) == 3
        refused = next(results[-1].trace.calls)
        assert (refused.cost, refused.attempts) == (0.0, 0)
        broken.clear()
        time.sleep(2.1)
        assert not engine.predict(220).degraded
        assert engine.health().sources["interview"] == "closed"


def test_one_row_of_a_batch_may_fail_alone(astc):
    @source(provides=NAMES)
    def record(key):
        if key % 2:
            raise LookupError(key)
        return HEART.X[key].tolist()

    with Engine(astc, [record], breaker_failures=10**6) as engine:
        results = engine.predict_many(list(FRESH))
    assert [result.degraded for result in results] == [key % 2 == 1 for key in FRESH]
    spend = astc.spend(HEART.X[FRESH])
    assert all(result.spend == spend[i] for i, result in enumerate(results) if not result.degraded)


def test_a_bad_key_in_a_batch_fails_alone(astc):
    calls = []

    @source(provides=NAMES, batch=True)
    def record(keys):
        calls.append(len(keys))
        if 237 in keys:
            raise LookupError(237)
        return HEART.X[list(keys)].tolist()

    with Engine(astc, [record]) as engine:
        results = engine.predict_many(list(FRESH))
        assert engine.health().sources == {"record": "closed"}
    assert [result.key for result in results if result.degraded] == [237]
    assert len(calls) <= 1 + 2 * np.ceil(np.log2(len(FRESH)))
    spend = astc.spend(HEART.X[FRESH])
    assert all(result.spend == spend[i] for i, result in enumerate(results) if not result.degraded)


def test_a_batch_of_a_source_that_is_down_ends_with_the_breaker(astc):
    calls = []

    @source(provides=NAMES, batch=True)
    def record(keys):
        calls.append(len(keys))
        raise ConnectionError

    with Engine(astc, [record], breaker_failures=5) as engine:
        results = engine.predict_many(list(FRESH) * 20)
        again = engine.predict_many(list(FRESH))
    assert len(calls) < 25
    assert {next(result.trace.calls).outcome for result in results} == {"failed"}
    assert all(next(result.trace.calls).attempts > 0 for result in results)
    assert {(next(result.trace.calls).outcome, result.spend) for result in again} == {("refused", 0.0)}


def test_cancelled_work_leaves_no_task_and_no_call(astc):
    called, cancelled = [], []

    @source(provides=NAMES)
    async def record(key):
        called.append(key)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(key)
            raise

    async def main():
        async with Engine(astc, [record]) as engine:
            work = [asyncio.create_task(engine.apredict(key)) for key in range(20)]
            while len(called) < len(work):
                await asyncio.sleep(0.01)
            for each in work:
                each.cancel()
            await asyncio.gather(*work, return_exceptions=True)
            assert all(each.cancelled() for each in work)
            return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(main()) == set()
    assert sorted(cancelled) == list(range(20))


def test_closing_ends_what_is_under_way(astc):
    started = threading.Event()

    @source(provides=NAMES)
    async def record(key):
        started.set()
        await asyncio.sleep(60)

    engine, errors = Engine(astc, [record]), []

    def predict():
        try:
            engine.predict(200)
        except BaseException as error:
            errors.append(type(error).__name__)

    thread = threading.Thread(target=predict)
    thread.start()
    assert started.wait(5)
    engine.close()
    thread.join(5)
    assert errors == ["SourceError"]


def test_an_observer_cannot_wait_for_its_own_engine(astc, caplog):
    engine = Engine(astc, Counted(GROUPS).sources, on_result=lambda result: engine.predict(201))
    with engine:
        assert engine.predict(200).key == 200
    assert "called a method of the same engine that waits" in caplog.text


def test_closing_while_threads_predict_leaves_none_waiting(astc):
    def predict_until_closed(engine):
        try:
            while True:
                engine.predict(200)
        except SourceError:
            return

    for _ in range(20):
        engine = Engine(astc, Counted(GROUPS).sources)
        threads = [threading.Thread(target=predict_until_closed, args=(engine,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        time.sleep(0.003)
        engine.close()
        for thread in threads:
            thread.join(5)
        assert not any(thread.is_alive() for thread in threads)


def test_no_thread_is_left(astc):
    before = set(threading.enumerate())
    for _ in range(3):
        with Engine(astc, Counted(GROUPS, batch=False).sources) as engine:
            engine.predict_many(list(FRESH))
    gc.collect()
    assert {each for each in threading.enumerate() if each.is_alive()} <= before


def test_caps_hold_when_sources_fail(problem):
    counted = failing("exercise", down)
    for cap in (0.0, 5.0, 60.0, 150.0):
        with Engine(problem.model, counted.sources) as engine:
            assert all(result.spend <= cap for result in engine.predict_many(problem.keys, cap))


def test_the_model_of_the_tests_asks_for_all_groups():
    acquired = MODELS["astc"].acquire(HEART.X[FRESH]).acquired
    for name in ("interview", "blood", "exercise"):
        assert acquired[:, [NAMES.index(feature) for feature in GROUPS[name]]].any(), name
