"""Forests of models that were trained on categories take the same values as the originals, and predict the same."""

import copy
import pickle
from itertools import combinations

import lightgbm
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xgboost
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from threadpoolctl import threadpool_limits

from thrifty import EarlyExitRanker, Forest, SessionError, load, save
from thrifty.models.forests.converters.lightgbm import _assignments
from thrifty.models.forests.levels import CategoryLevels
from thrifty.models.session import Acquire, drive

random = np.random.default_rng(0)
N = 400
NUMBER = random.normal(size=N)
PICK = random.integers(0, 3, size=N)
MISSING = random.random(N) < 0.15


@pytest.fixture(autouse=True)
def _one_thread():
    """Waiting OpenMP threads use the processor, which takes seconds if cores are shared."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def categories(values, levels=None, ordered=False, missing=False):
    """Return a column of pandas in which row i holds one of three values, or nothing if `missing` and it is missing."""
    column = [None if missing and gone else values[k] for k, gone in zip(PICK, MISSING, strict=True)]
    return pd.Categorical(column, categories=levels or sorted(values), ordered=ordered)


KINDS = {
    "text": categories(["a", "b", "c"]),
    "not sorted": categories(["low", "mid", "high"], ["low", "mid", "high"]),
    "not observed": categories(["a", "b", "c"], ["z", "c", "x", "b", "a"]),
    "whole numbers": categories([10, 20, 30]),
    "negative": categories([-3, 7, 20], [20, -3, 7]),
    "fractions": categories([0.5, -2.25, 10.0], [10.0, 0.5, -2.25]),
    "accents": categories(["früh", "spät", "日本"], ["日本", "spät", "früh"]),
    "missing": categories(["low", "mid", "high"], ["mid", "high", "low"], missing=True),
    "missing numbers": categories([10, 20, 30], [30, 10, 20], missing=True),
    "ordered": categories(["low", "mid", "high"], ["low", "mid", "high"], ordered=True),
}
UNKNOWN_LEVELS = [("XGBoost", "fractions"), ("XGBoost", "accents")]
LIBRARIES = {
    "scikit-learn": HistGradientBoostingRegressor(max_iter=6, min_samples_leaf=5),
    "LightGBM": lightgbm.LGBMRegressor(n_estimators=6, verbose=-1, n_jobs=1, min_data_per_group=5, cat_smooth=1),
    "XGBoost": xgboost.XGBRegressor(n_estimators=6, n_jobs=1, enable_categorical=True),
}


# XGBoost refuses categories that are fractions, and does not store its levels if they have accents.
CASES = [(library, kind) for library in LIBRARIES for kind in KINDS if (library, kind) not in UNKNOWN_LEVELS]


def frame_of(kind):
    return pd.DataFrame({"level": KINDS[kind], "number": NUMBER, "other": categories(["x", "y", "z"])})


def trained(library, kind):
    frame = frame_of(kind)
    return copy.deepcopy(LIBRARIES[library]).fit(frame, NUMBER + 3.0 * (PICK == 1) - MISSING * (PICK == 2)), frame


def assert_equal(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("library", "kind"), CASES)
def test_frames_and_sessions_take_the_values_that_the_original_takes(library, kind):
    model, frame = trained(library, kind)
    forest = Forest.from_model(model)
    assert forest.arrays.categorical.any() or kind == "ordered"
    expected = model.predict(frame)
    assert_equal(forest.scores(frame)[:, 0], expected)
    served = forest.with_costs([1.0, 2.0, 4.0])
    batch = served.acquire(frame)
    assert_equal(batch.prediction, expected)
    assert_equal(served.predict(pl.from_pandas(frame.astype({"level": object}))), expected)
    for i, row in enumerate(frame.iloc[:30].to_dict("records")):
        session = served.session()
        assert drive(session, row.__getitem__).score == batch.score[i]
        assert session.spend == batch.spend[i]


@pytest.mark.parametrize("kind", ["text", "not observed", "negative", "missing"])
@pytest.mark.parametrize("library", ["scikit-learn", "LightGBM"])  # XGBoost refuses such values
def test_values_that_were_not_in_training_go_where_the_original_sends_them(library, kind):
    model, frame = trained(library, kind)
    unseen = 99 if kind == "negative" else "unheard of"
    level = frame["level"].cat.add_categories([unseen])
    level[::2] = unseen
    other = frame.assign(level=level.cat.reorder_categories(level.cat.categories[::-1]))
    served = Forest.from_model(model).with_costs()
    assert_equal(served.predict(other), model.predict(other))
    assert_equal(drive(served.session(), other.iloc[0].to_dict().__getitem__).prediction, model.predict(other[:1])[0])


def test_a_value_that_xgboost_refuses_counts_as_missing():
    model, frame = trained("XGBoost", "missing")
    served = Forest.from_model(model).with_costs()
    odd, missing = (frame.assign(level=pd.Categorical([value] * N)) for value in ("unheard of", None))
    np.testing.assert_array_equal(served.predict(odd), served.predict(missing))
    assert_equal(served.predict(missing), model.predict(missing.assign(level=pd.Categorical([None] * N, ["low"]))))


ARRAYS = {
    "codes": [0.0, 1.0, 2.0],
    "far apart": [10.0, 20.0, 250.0],
    "negative": [-5.0, -1.0, 3.0],
    "fractions": [0.5, 0.75, -2.5],
}


@pytest.mark.parametrize("with_missing", [False, True])
@pytest.mark.parametrize("kind", ARRAYS)
def test_arrays_of_scikit_learn_hold_any_number(kind, with_missing):
    level = np.where(with_missing & MISSING, np.nan, np.array(ARRAYS[kind])[PICK])
    rows = np.column_stack([NUMBER, level])
    model = HistGradientBoostingClassifier(max_iter=6, categorical_features=[False, True], min_samples_leaf=5)
    model.fit(rows, NUMBER + 3.0 * (PICK == 1) > 1)
    unseen = rows.copy()
    unseen[::3, 1], unseen[1::3, 1] = 77.0, np.nan
    served = Forest.from_model(model).with_costs()
    for each in (rows, unseen, rows.astype(np.float32)):
        np.testing.assert_allclose(served.decision_function(each), model.decision_function(each), rtol=1e-12)
        np.testing.assert_allclose(Forest.from_model(model).scores(each)[:, 0], model.decision_function(each))
    session = served.session()
    assert drive(session, unseen[0].__getitem__).score == served.decision_function(unseen[:1])[0]


@pytest.mark.parametrize("library", ["LightGBM", "XGBoost"])
def test_arrays_of_lightgbm_and_xgboost_hold_codes(library):
    model, frame = trained(library, "missing numbers")
    codes = np.column_stack([frame["level"].cat.codes, NUMBER, frame["other"].cat.codes]).astype(float)
    codes[codes[:, 0] < 0, 0] = np.nan
    forest = Forest.from_model(model)
    assert_equal(forest.scores(codes)[:, 0], model.predict(frame))
    with pytest.warns(UserWarning, match="feature names"):
        assert_equal(forest.with_costs().predict(codes), model.predict(frame))
    text_is_a_level_and_a_number_a_code = forest.with_costs().session()
    row = {"level": frame["level"].iloc[1], "number": NUMBER[1], "other": codes[1, 2]}
    assert_equal(drive(text_is_a_level_and_a_number_a_code, row.__getitem__).prediction, model.predict(frame[1:2])[0])


def test_early_exit_takes_the_frame_of_its_forest():
    frame, qid = frame_of("not sorted"), np.repeat(np.arange(10), N // 10)
    model = lightgbm.LGBMRanker(n_estimators=6, verbose=-1, n_jobs=1, min_data_per_group=5)
    model.fit(frame, PICK, group=np.full(10, N // 10))
    for estimator in (model, Forest.from_model(model)):
        ranker = EarlyExitRanker(estimator, s=1e9).fit(frame, PICK, qid=qid)
        assert_equal(ranker.predict(frame, qid=qid), model.predict(frame))
    assert_equal(drive(ranker.session(), frame.iloc[0].to_dict().__getitem__).prediction, model.predict(frame[:1])[0])


def test_lists_and_arrays_of_objects_hold_levels():
    model, frame = trained("scikit-learn", "text")
    forest = Forest.from_model(model)
    np.testing.assert_array_equal(forest.scores(frame.to_numpy()), forest.scores(frame))
    np.testing.assert_array_equal(forest.scores(frame.to_numpy().tolist()), forest.scores(frame))


def test_ordered_categories_of_lightgbm_that_cannot_be_told_apart_are_stated():
    ordered = categories(["low", "mid", "high"], ["low", "mid", "high"], ordered=True)
    frame = pd.DataFrame({"digit": (PICK + 1) % 3, "size": ordered, "letter": categories(["a", "b", "c"])})
    model = lightgbm.LGBMRegressor(n_estimators=6, verbose=-1, n_jobs=1, min_data_per_group=5)
    model.fit(frame, 1.0 * PICK + NUMBER)
    with pytest.raises(ValueError, match=r"'size' of X holds categories.*categories={'size'"):
        Forest.from_model(model).scores(frame)
    for stated in ({"size": ["low", "mid", "high"]}, {"size": ["low", "mid", "high"], 2: ["a", "b", "c"]}):
        assert_equal(Forest.from_model(model, categories=stated).scores(frame)[:, 0], model.predict(frame))


def test_lists_of_lightgbm_find_their_columns_among_many_whole_numbers():
    digits = {f"digit {j}": random.integers(0, 3, size=N) for j in range(300)}
    levels = {f"level {j}": pd.Categorical(random.choice(["a", "b", "c"], size=N)) for j in range(12)}
    frame = pd.DataFrame(digits | levels)
    model = lightgbm.LGBMRegressor(n_estimators=2, verbose=-1, n_jobs=1, min_data_per_group=5)
    model.fit(frame, (frame["level 0"] == "b") + 0.1 * NUMBER)
    assert_equal(Forest.from_model(model).scores(frame)[:, 0], model.predict(frame))


@pytest.mark.parametrize("seed", range(20))
def test_lists_of_lightgbm_get_the_first_and_the_last_of_their_possible_columns(seed):
    draw = np.random.default_rng(seed)
    n_levels = {"[0:1]": 2, "[0:2]": 3, "[-0.5:2]": np.inf, "0:1": 2, "2:0:1": 3, "none": 0}  # at least
    infos = draw.choice([*n_levels], size=7, p=[0.3, 0.2, 0.1, 0.1, 0.1, 0.2]).tolist()
    sizes = draw.integers(1, 4, size=3).tolist()

    def is_valid(columns):
        required = {j for j, info in enumerate(infos) if info[0].isdigit()}
        large_enough = [n_levels[infos[j]] <= size for j, size in zip(columns, sizes, strict=True)]
        return required <= set(columns) and all(large_enough)

    valid = np.array([columns for columns in combinations(range(7), 3) if is_valid(columns)], dtype=int)
    first, last = (valid.min(axis=0), valid.max(axis=0)) if len(valid) else ([], [])
    assert _assignments(infos, sizes) == (list(first), list(last))


def test_levels_of_a_model_that_was_trained_on_codes_are_stated():
    frame = frame_of("not sorted")[["level", "number"]]
    codes = frame.assign(level=frame["level"].cat.codes)
    model = xgboost.XGBRegressor(n_estimators=4, n_jobs=1, enable_categorical=True, feature_types=["c", "q"])
    model.fit(codes, NUMBER + PICK)
    forest = Forest.from_model(model)
    with pytest.raises(ValueError, match="'level' of X holds categories"):
        forest.with_costs().predict(frame)
    stated = Forest.from_model(model, categories={"level": ["low", "mid", "high"]}).with_costs()
    assert_equal(stated.predict(frame), model.predict(codes))
    assert_equal(stated.predict(codes), model.predict(codes))  # numbers are codes where levels are text


def test_levels_with_accents_of_xgboost_are_stated():
    model, frame = trained("XGBoost", "accents")
    with pytest.raises(ValueError, match="'level' of X holds categories"):
        Forest.from_model(model).scores(frame)
    forest = Forest.from_model(model, categories={"level": frame["level"].cat.categories})
    assert_equal(forest.scores(frame)[:, 0], model.predict(frame))


def test_a_booster_that_was_saved_keeps_its_levels(tmp_path):
    for library, kind in (("LightGBM", lightgbm.Booster), ("XGBoost", xgboost.Booster)):
        model, frame = trained(library, "not sorted")
        path = tmp_path / f"{library}.json"
        (model.booster_ if library == "LightGBM" else model.get_booster()).save_model(path)
        loaded = kind(model_file=str(path))
        assert_equal(Forest.from_model(loaded).scores(frame)[:, 0], model.predict(frame))


def test_copies_keep_the_levels():
    model, frame = trained("scikit-learn", "not sorted")
    forest = Forest.from_model(model)
    for twin in (
        pickle.loads(pickle.dumps(forest)),
        copy.deepcopy(forest),
        forest.prefix(6),
        Forest.from_model(forest),
    ):
        np.testing.assert_array_equal(twin.scores(frame), forest.scores(frame))


def test_files_keep_the_levels(tmp_path):
    model, frame = trained("LightGBM", "missing numbers")
    served = Forest.from_model(model).with_costs([1.0, 2.0, 4.0])
    loaded = load(save(served, tmp_path / "model.thrifty"))
    np.testing.assert_array_equal(loaded.predict(frame), served.predict(frame))
    assert loaded.forest_.levels.levels == served.forest_.levels.levels


def test_a_session_refuses_what_cannot_be_a_level():
    model, _ = trained("scikit-learn", "not sorted")
    served = Forest.from_model(model).with_costs([1.0, 2.0, 4.0])
    for wrong in (3.0, ["low"]):
        session = served.session()
        while isinstance(step := session.next(), Acquire) and step.features != ("level",):
            session.observe(dict.fromkeys(step.features))
        with pytest.raises(SessionError, match=r"'level' was observed as .*one of its levels \('high', 'low', 'mid'\)"):
            session.observe({"level": wrong})
        session.observe({"level": "low"})


def test_numbers_in_a_column_of_text_levels_are_refused():
    model, frame = trained("scikit-learn", "text")
    with pytest.raises(ValueError, match=r"column 'level' of X: 0.* expected one of its levels"):
        Forest.from_model(model).with_costs().predict(frame.assign(level=0))


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        ({0: ["a", "a"]}, "distinct"),
        ({0: [None]}, "text, numbers or booleans"),
        ({9: ["a"]}, "from 0 to 2"),
    ],
)
def test_bad_levels_are_refused(levels, message):
    forest = Forest.from_model(trained("LightGBM", "text")[0])
    with pytest.raises(ValueError, match=message):
        forest.replace(levels=CategoryLevels(levels))


@pytest.mark.parametrize(
    ("stated", "message"), [({"colour": ["red"]}, "not a column"), ({"level": ["c", "b", "a"]}, "other levels")]
)
def test_statements_that_contradict_the_model_are_refused(stated, message):
    with pytest.raises(ValueError, match=message):
        Forest.from_model(trained("LightGBM", "text")[0], categories=stated)
