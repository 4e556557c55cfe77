"""Thousands of damaged files: each is refused, or predicts what the original predicts, and nothing crashes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier

from persistence.test_round_trips import COSTS, dynamic, problem
from thrifty import (
    AdaBoostRSClassifier,
    ASTCRegressor,
    AttentiveClassifier,
    CSTCClassifier,
    DynamicSelectionRegressor,
    EarlyExitRanker,
    Forest,
    GreedyMiserRanker,
    StaticSelectionClassifier,
    TableModel,
    TruncatedClassifier,
)
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, save

N_FLIPS, N_CUTS = 600, 150  # of each model
N_MUTANTS = 200  # of each model


@pytest.mark.parametrize("name", ["tree", "forest", "chain", "policy"])
def test_flipped_and_missing_bytes(models, heart, tmp_path, name):
    model, random, n_refused = models[name], np.random.default_rng(0), 0
    path = save(model, tmp_path / "m")
    content, expected = path.read_bytes(), model.acquire(heart.X[:20])
    cuts = [content[:end] for end in random.integers(len(content), size=N_CUTS)]
    for damaged in (*cuts, *flipped(content, random)):
        path.write_bytes(damaged)
        try:
            twin = load(path)
        except ModelFileError:
            n_refused += 1
            continue
        np.testing.assert_array_equal(twin.acquire(heart.X[:20]).score, expected.score)
    assert n_refused > 0.9 * (N_FLIPS + N_CUTS)


def flipped(content, random):
    """Yield copies with one flipped bit; every fifth one is in the directory of the zip file, at its end."""
    for k in range(N_FLIPS):
        copy = bytearray(content)
        at = random.integers(len(content) - 200, len(content)) if k % 5 == 0 else random.integers(len(content))
        copy[at] ^= 1 << random.integers(8)
        yield copy


@pytest.fixture(scope="module")
def small_models():
    """Small models of every family, some with parts inside parts, some converted from other libraries."""
    X, y = problem(2)
    grades, queries = problem(4)[1], np.arange(len(X)) // 12
    boosted = GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0)
    forest = RandomForestClassifier(3, max_depth=2, random_state=0).fit(X, grades)
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    ranker = GreedyMiserRanker(n_estimators=4)
    return {
        "tree": ASTCRegressor(costs=COSTS, max_depth=2).fit(X, X[:, 0]),
        "mapped tree": CSTCClassifier(costs=COSTS, max_depth=1, feature_map=boosted).fit(X, y),
        "votes": AdaBoostRSClassifier(costs=COSTS, n_estimators=5, n_samples=4, random_state=0).fit(X, y),
        "linear chain": TruncatedClassifier(scaled, costs=COSTS).fit(X, y),
        "fitted chain": AttentiveClassifier(clone(scaled).fit(X, y), costs=COSTS).fit(X, y),
        "kernel chain": AttentiveClassifier(SVC(), costs=COSTS, evaluation_cost=0.1).fit(X[:60], y[:60]),
        "tree chain": AttentiveClassifier(GradientBoostingClassifier(n_estimators=3), costs=COSTS).fit(X, y),
        "policy": dynamic(factors=[["a", "b"], ["c", "d"]]).fit(X, y),
        "queue": StaticSelectionClassifier(costs=COSTS, n_folds=2, random_state=0).fit(X, grades),
        "kernel policy": dynamic(classifier=SVC()).fit(X[:60], grades[:60]),
        "tree policy": dynamic(classifier=GaussianNB(), policy=DecisionTreeClassifier(max_depth=2)).fit(X, y),
        "forest policy": dynamic(classifier=RandomForestClassifier(2, max_depth=2)).fit(X, y),
        "regression policy": DynamicSelectionRegressor(
            costs=COSTS, regressor=SVR(), n_iterations=2, n_folds=2, random_state=0
        ).fit(X[:60], X[:60, 0]),
        "exits": EarlyExitRanker(ranker.fit(X, grades), costs=COSTS).fit(X, grades, qid=queries),
        "converted": Forest.from_model(forest).with_costs(COSTS, 0.1),
        "table": TableModel(EarlyExitRanker(ranker), costs=COSTS, cap=4.0).fit(X, grades),
    }


def mutants(models, folder, count, seed):
    """Load and use `count` mutants of each model in another process; return what happened to them.

    Kernels check all their indices there, so that reading outside of an array is an error.
    """
    paths = [save(model, folder / name) for name, model in models.items()]
    program = [sys.executable, "-X", "faulthandler", Path(__file__).with_name("mutants.py"), str(count), str(seed)]
    tests = Path(__file__).parent.parent
    environment = os.environ | {
        "NUMBA_BOUNDSCHECK": "1",
        "NUMBA_CACHE_DIR": str(folder / "kernels"),
        "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src"), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run([*program, *paths], capture_output=True, text=True, timeout=3000, env=environment)
    assert done.returncode == 0, f"seed {seed}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def test_mutants(small_models, tmp_path):
    found = mutants(small_models, tmp_path, N_MUTANTS, seed=1)
    assert sum(sum(each.values()) for each in found) >= 3000
    for each in found:
        assert each["refused"] > 0.2 * N_MUTANTS
        assert each["used"] > 0.1 * N_MUTANTS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_mutants(small_models, tmp_path, seed):
    """With ten seeds, more than 100,000 mutants."""
    mutants(small_models, tmp_path, 660, seed)
