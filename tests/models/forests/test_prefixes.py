"""Every prefix of a converted forest is a sensible model: the prior without any tree, calibrated after some of them."""

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_digits
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import NotFittedError
from sklearn.metrics import r2_score
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from thrifty import EarlyExitRanker, Forest, load, save
from thrifty.models.forests.forest import Tree
from thrifty.testing.constant_answer import N_TRAINING, PRICES, imbalanced_problems, refuse_worse_than_constant

quiet = {"verbose": -1, "n_jobs": 1, "n_estimators": 20}
brief = {"n_jobs": 1, "n_estimators": 20, "max_depth": 3}


@pytest.fixture(autouse=True)
def _one_thread():
    """Waiting OpenMP threads use the processor, which takes seconds if cores are shared."""
    with threadpool_limits(1, user_api="openmp"):
        yield


def problems(model):
    """Yield the problems of the check for estimators; labels are numbers, the rare class first and last."""
    for X, y in imbalanced_problems(model):
        if not is_classifier(model):
            yield X, y
            continue
        codes = np.unique(y, return_inverse=True)[1]
        yield X, codes
        yield X, codes.max() - codes


STARTING_FROM_THE_PRIOR = [
    lightgbm.LGBMClassifier(**quiet),
    lightgbm.LGBMRegressor(**quiet),
    lightgbm.LGBMClassifier(boosting_type="rf", subsample=0.8, subsample_freq=1, **quiet),
    lightgbm.LGBMRegressor(boosting_type="rf", subsample=0.8, subsample_freq=1, **quiet),
    xgboost.XGBClassifier(**brief),
    xgboost.XGBRegressor(**brief),
    xgboost.XGBRFClassifier(**brief),
    xgboost.XGBRFRegressor(**brief),
    GradientBoostingClassifier(n_estimators=20, random_state=0),
    GradientBoostingRegressor(n_estimators=20, random_state=0),
    HistGradientBoostingClassifier(max_iter=20),
    HistGradientBoostingRegressor(max_iter=20),
    RandomForestClassifier(n_estimators=20, random_state=0),
    RandomForestRegressor(n_estimators=20, random_state=0),
    ExtraTreesClassifier(n_estimators=20, random_state=0),
]
STARTING_ELSEWHERE = [
    lightgbm.LGBMClassifier(boost_from_average=False, **quiet),
    lightgbm.LGBMRegressor(boost_from_average=False, learning_rate=0.4, **quiet),
    lightgbm.LGBMClassifier(boosting_type="dart", drop_rate=0.5, **quiet),
    xgboost.XGBClassifier(base_score=0.5, **brief),
    xgboost.XGBRegressor(base_score=0.0, **brief),
    xgboost.XGBClassifier(booster="dart", rate_drop=0.5, **brief),
    GradientBoostingClassifier(n_estimators=20, init="zero", random_state=0),
    GradientBoostingRegressor(n_estimators=20, init="zero", learning_rate=0.4, random_state=0),
    AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=20, random_state=0),
]


@pytest.mark.parametrize("model", STARTING_FROM_THE_PRIOR + STARTING_ELSEWHERE, ids=lambda model: str(model)[:70])
def test_no_cap_is_worse_than_a_constant(model):
    for X, y in problems(model):
        served = Forest.from_model(clone(model).fit(X[:N_TRAINING], y[:N_TRAINING])).with_costs(PRICES)
        refuse_worse_than_constant(served, X[N_TRAINING:], y[N_TRAINING:], y[:N_TRAINING])


@pytest.mark.parametrize("model", STARTING_FROM_THE_PRIOR, ids=lambda model: str(model)[:70])
def test_a_row_that_affords_nothing_gets_the_prior(model):
    drawn = any(word in str(model) for word in ("rf", "RF", "Random"))  # a bag has a prior of its own
    for X, y in problems(model):
        served = Forest.from_model(clone(model).fit(X[:N_TRAINING], y[:N_TRAINING])).with_costs(np.ones(9))
        if is_classifier(model):
            shares = np.bincount(y[:N_TRAINING]) / N_TRAINING
            np.testing.assert_allclose(served.predict_proba(X[:1], cap=0)[0], shares, atol=0.03 if drawn else 1e-3)
            assert served.predict(X[:1], cap=0) == shares.argmax()
        else:
            mean = y[:N_TRAINING].mean()
            np.testing.assert_allclose(served.predict(X[:1], cap=0), mean, rtol=1e-2 if drawn else 1e-5)


CALIBRATED = [
    lightgbm.LGBMClassifier(**quiet),
    lightgbm.LGBMClassifier(boosting_type="rf", subsample=0.5, subsample_freq=1, **quiet),
    lightgbm.LGBMRegressor(objective="gamma", **quiet),
    lightgbm.LGBMRegressor(reg_sqrt=True, **quiet),
    lightgbm.LGBMRegressor(objective="quantile", alpha=0.9, **quiet),
    xgboost.XGBClassifier(base_score=0.5, **brief),
    HistGradientBoostingClassifier(max_iter=20),
    RandomForestRegressor(n_estimators=20, max_depth=3, random_state=0),
]


@pytest.mark.parametrize("model", CALIBRATED, ids=lambda model: str(model)[:70])
def test_rows_calibrate_every_prefix_and_leave_the_complete_forest_as_it_is(model):
    for X, y in problems(model):
        forest = Forest.from_model(clone(model).fit(X[:N_TRAINING], y[:N_TRAINING]))
        rows, targets = X[N_TRAINING:], y[N_TRAINING:]
        plain, served = (forest.with_costs(np.zeros(9), evaluation_costs=1.0) for _ in range(2))
        served.fit(rows, targets)  # a cap is a number of trees, because features are free
        np.testing.assert_array_equal(served.acquire(rows).score, plain.acquire(rows).score)
        n_rounds = served._priced().n_rounds
        for n_done in (0, 1, 5, n_rounds - 1):
            cap = float(n_done * forest.n_trees // n_rounds)
            assert (served.acquire(rows, cap).exit == n_done - 1).all()
            if is_classifier(model):
                counts = np.bincount(targets)
                expected = (counts + 1 / len(counts)) / (len(targets) + 1)
                found = served.predict_proba(rows, cap).mean(axis=0)
                np.testing.assert_allclose(found, expected, atol=2e-3)
            else:
                np.testing.assert_allclose(served.predict(rows, cap).mean(), targets.mean(), rtol=1e-6)
        assert served.training_.n_rows == len(rows)


def test_negative_weights_are_refused():
    X, y = next(problems(model := RandomForestClassifier(n_estimators=2, random_state=0)))
    served = Forest.from_model(model.fit(X, y)).with_costs(PRICES)
    with pytest.raises(ValueError, match="Negative values"):
        served.fit(X, y, sample_weight=-np.ones(len(X)))


def test_a_failed_calibration_leaves_no_parts():
    X, y = next(problems(model := lightgbm.LGBMRegressor(objective="poisson", **quiet)))
    served = Forest.from_model(model.fit(X, np.abs(y))).with_costs(PRICES)
    with pytest.raises(ValueError, match="Forest: the mean of y is not a number that the model can predict"):
        served.fit(X, -np.abs(y))
    with pytest.raises(NotFittedError):
        served.predict(X)


def test_rows_do_not_change_votes():
    X, y = load_digits(return_X_y=True)
    votes = AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=10, random_state=0).fit(
        X[:600], y[:600]
    )
    plain = Forest.from_model(votes).with_costs()
    with_rows = Forest.from_model(votes).with_costs().fit(X[600:900], y[600:900])
    for cap in (0, 15, 30, None):
        np.testing.assert_array_equal(with_rows.acquire(X[900:], cap).score, plain.acquire(X[900:], cap).score)


def test_a_prefix_of_averaged_probabilities_is_a_mixture_with_the_shares_of_the_classes():
    X, y = load_digits(return_X_y=True)
    forest = RandomForestClassifier(n_estimators=10, random_state=0).fit(X[:600], y[:600])
    served = Forest.from_model(forest).with_costs(np.zeros(64), evaluation_costs=1.0).fit(X[600:900], y[600:900])
    shares = (np.bincount(y[600:900]) + 0.1) / 301
    for k in (1, 2, 4):
        average = np.mean([tree.predict_proba(X[900:]) for tree in forest.estimators_[:k]], axis=0)
        weight = served.multipliers_[k] * k / 10
        assert 0 < weight < k / (k + 1) + 1e-12  # every class has a probability above 0
        mixture = weight * average + (1 - weight) * shares
        np.testing.assert_allclose(served.predict_proba(X[900:], float(k)), mixture, atol=1e-12)
    untouched = Forest.from_model(forest).with_costs(np.zeros(64), evaluation_costs=1.0)
    np.testing.assert_array_equal(served.predict_proba(X[900:]), untouched.predict_proba(X[900:]))


def test_files_keep_the_calibration(tmp_path):
    X, y = next(problems(model := RandomForestClassifier(n_estimators=5, random_state=0)))
    served = Forest.from_model(model.fit(X[:300], y[:300])).with_costs(PRICES).fit(X[300:], y[300:])
    loaded = load(save(served, tmp_path / "model.thrifty"))
    for cap in (0, 5, None):
        np.testing.assert_array_equal(loaded.acquire(X, cap).score, served.acquire(X, cap).score)


def test_weights_count_rows():
    X, y = next(problems(LGBM := lightgbm.LGBMClassifier(**quiet)))
    forest = Forest.from_model(LGBM.fit(X[:300], y[:300]))
    count = np.random.default_rng(0).integers(0, 4, size=len(X))
    weighted = forest.with_costs().fit(X, y, sample_weight=count)
    repeated = forest.with_costs().fit(X.repeat(count, axis=0), y.repeat(count))
    np.testing.assert_allclose(weighted.intercepts_, repeated.intercepts_, atol=1e-6)


def test_a_class_without_rows_stays_possible():
    X, y = next(problems(model := HistGradientBoostingClassifier(max_iter=5)))
    served = Forest.from_model(model.fit(X, y)).with_costs().fit(X[y == 1], y[y == 1])
    assert 0 < served.predict_proba(X[:1], cap=0)[0, 0] < 0.01


def test_bad_rows_are_refused():
    X, y = next(problems(model := lightgbm.LGBMClassifier(**quiet)))
    served = Forest.from_model(model.fit(X, y)).with_costs()
    with pytest.raises(ValueError, match="requires y"):
        served.fit(X)
    with pytest.raises(ValueError, match="y has class 7; expected"):
        served.fit(X, np.full(len(X), 7))
    positive = Forest.from_model(lightgbm.LGBMRegressor(objective="gamma", **quiet).fit(X, 1.0 + y)).with_costs()
    with pytest.raises(ValueError, match="the mean of y is not a number that the model can predict"):
        positive.fit(X, -1.0 - y)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_tree_of_adaboost_is_expected_to_vote_by_the_shares_of_the_classes(n_classes):
    X, codes = list(problems(model := AdaBoostClassifier(n_estimators=5)))[2 * n_classes - 4]
    forest = Forest.from_model(model.fit(X, codes))
    shares = np.bincount(codes) / len(codes)
    votes = shares - (1 - shares) / (n_classes - 1)
    weights = model.estimator_weights_ / model.estimator_weights_.sum()
    expected = np.outer(weights, votes if n_classes > 2 else votes[1:] - votes[:1])
    np.testing.assert_allclose(forest.expected, expected.ravel(), rtol=1e-12)


def test_rows_show_how_much_the_first_trees_of_an_average_are_worth():
    random = np.random.default_rng(3)
    X = random.normal(size=(1200, 9))
    noise = random.normal(scale=6.0, size=1200)  # a tree that fits the noise is worse than the mean
    model = RandomForestRegressor(n_estimators=20, random_state=0).fit(X[:400], (X[:, 0] + noise)[:400])
    plain = Forest.from_model(model).with_costs(np.zeros(9), evaluation_costs=1.0)
    served = clone(plain).fit(X[400:800], (X[:, 0] + noise)[400:800])
    rows, y = X[800:], (X[:, 0] + noise)[800:]
    assert r2_score(y, plain.predict(rows, cap=1)) < -0.1
    assert all(r2_score(y, served.predict(rows, cap)) > -0.02 for cap in range(20))
    np.testing.assert_array_equal(served.predict(rows), plain.predict(rows))


def test_early_exit_adds_what_is_expected_of_the_other_trees():
    X, y = next(problems(model := lightgbm.LGBMRegressor(**quiet)))
    ranker = EarlyExitRanker(model.fit(X, y), costs=PRICES).fit(X, np.arange(len(X)) % 3)
    np.testing.assert_allclose(ranker.predict(X, cap=0), y.mean(), rtol=1e-5)


def test_what_is_expected_of_a_tree_is_added_until_it_is_evaluated():
    stump = Tree([0, -1, -1], [0.0] * 3, [1, 0, 0], [2, 0, 0], [0.0, 1.0, 2.0], expected=[1.25])
    forest = Forest.from_trees([stump, stump], n_features=1, base=10.0)
    served = forest.with_costs([0.0], evaluation_costs=1.0)
    assert [served.predict([[1.0]], cap)[0] for cap in (0, 1, 2)] == [12.5, 13.25, 14.0]
    assert forest.prefix(1).expected.tolist() == [1.25]
    with pytest.raises(ValueError, match="expected has to hold 2 finite numbers"):
        forest.replace(expected=[np.nan, 0.0])
