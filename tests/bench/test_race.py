"""The race: splits, the meter, contenders that read only what they acquire, and choices on training rows."""

from dataclasses import replace

import numpy as np
import pytest

from thrifty.bench.contenders import CONTENDERS, FULL
from thrifty.bench.contenders.boosters import boosted, by_paths
from thrifty.bench.contenders.contender import Contender, Model, Training
from thrifty.bench.problems import CATALOG, QUICK, Answers, Problem, Table, load
from thrifty.bench.problems.split import split
from thrifty.bench.race import raced, runs
from thrifty.bench.tuning import Trial, hull, tried
from thrifty.costs import CostModel
from thrifty.tuning.problem import Task

N_ROWS = 160
PACKAGES = {"catboost-penalties": "catboost", "optimal-trees": "pystreed", "greedy-network": "torch"}


def drawn(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 4))
    y = (X[:, 0] + np.where(X[:, 3] > 0, X[:, 1], X[:, 2]) > 0).astype(int)
    return Table(X, y)


@pytest.fixture(scope="module")
def problem():
    costs = CostModel([1.0, 1.0, 2.0, 0.5], bundles={"panel": ([0, 1], 3.0)})
    return Problem("drawn", 0, drawn(), drawn(80, seed=1), costs, Task.BINARY)


def fixed(*sets):
    """Return a contender that buys given sets of columns and predicts by the sign of their sum."""

    def fit(training, setting):
        columns = np.isin(np.arange(training.rows.X.shape[1]), setting["columns"])
        yield Model(
            "sum",
            lambda rows: Answers(
                np.broadcast_to(columns, rows.X.shape), (rows.X[:, columns].sum(axis=1) > 0).astype(int)
            ),
        )

    return Contender("fixed", "fixed", lambda n: [{"columns": list(each)} for each in sets[:n]], fit)  # fmt: skip


def test_training_and_test_rows_are_disjoint_and_have_the_same_classes():
    X = np.arange(200.0)[:, None]
    train, test = split(Table(X, (X[:, 0] < 60).astype(int)), 3, None, None)
    assert not set(train.X[:, 0]) & set(test.X[:, 0])
    assert (len(train), len(test)) == (160, 40)
    assert (train.y.mean(), test.y.mean()) == (0.3, 0.3)


def test_queries_are_not_divided():
    qid = np.repeat(np.arange(20), 5)
    train, test = split(Table(np.arange(100.0)[:, None], np.zeros(100), qid), 0, 33, None)
    assert not set(train.qid) & set(test.qid)
    assert len(train) == 30
    assert set(np.unique(train.qid, return_counts=True)[1]) == {5}


def test_rows_pay_their_own_prices(problem):
    acquired = np.array([[True, True, False, False], [False, False, False, True]])
    rows = problem.train.take(np.arange(2))
    assert problem.spend(rows, acquired) == np.mean([5.0, 0.5])
    prices = np.tile(problem.costs.unit_costs, (2, 1)) * [[1.0], [10.0]]
    assert problem.spend(replace(rows, prices=prices), acquired) == pytest.approx(np.mean([5.0, 5.0]))


def test_a_prediction_is_worth_what_the_row_says(problem):
    rows = replace(problem.train.take(np.arange(3)), worth=np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.25]]))
    assert problem.score(rows, np.array([0, 1, 1])) == pytest.approx(0.75)


@pytest.mark.parametrize("name", CONTENDERS)
def test_no_contender_reads_what_it_does_not_acquire(problem, name):
    if name in PACKAGES:
        pytest.importorskip(PACKAGES[name], reason=f"{name} needs {PACKAGES[name]}")
    contender = CONTENDERS[name]
    if problem.task not in contender.tasks:
        pytest.skip("does not serve two classes")
    models = list(contender.fit(Training.of(problem, problem.train), contender.trials(8)[-1]))
    assert len({model.name for model in models}) == len(models)
    for model in models:
        answers = model.answer(problem.test)
        hidden = replace(problem.test, X=np.where(answers.acquired, problem.test.X, np.nan), y=np.full(80, -1))
        again = model.answer(hidden)
        assert np.array_equal(again.prediction, answers.prediction)
        assert np.array_equal(again.acquired, answers.acquired)


@pytest.mark.parametrize("task", [Task.MULTICLASS, Task.RANKING])
def test_contenders_serve_the_tasks_that_they_name(task):
    rows = drawn(120)
    y = rows.y + (rows.X[:, 2] > 0)
    ranks = task is Task.RANKING
    rows = replace(rows, y=y.astype(float) if ranks else y, qid=np.arange(120) // 8 if ranks else None)
    small = Problem("drawn", 0, rows, rows, CostModel([1.0, 1.0, 2.0, 0.5]), task)
    for name, contender in CONTENDERS.items():
        if task in contender.tasks and name not in PACKAGES:
            for model in contender.fit(Training.of(small, rows), contender.trials(8)[0]):
                answers = model.answer(rows)
                assert answers.acquired.shape == rows.X.shape, name
                assert 0 <= small.score(rows, answers.prediction) <= 1, name


def test_paths_are_those_of_each_row(problem):
    training = Training.of(problem, problem.train)
    booster = boosted(training, 1, num_leaves=3, min_data_in_leaf=5)
    acquired = by_paths(training, booster, 1, "").answer(problem.test).acquired
    root = booster.dump_model()["tree_info"][0]["tree_structure"]
    assert acquired[:, root["split_feature"]].all()
    below = root["left_child"] if "split_feature" in root["left_child"] else root["right_child"]
    went_left = problem.test.X[:, root["split_feature"]] <= root["threshold"]
    there = went_left if below is root["left_child"] else ~went_left
    expected = there | (below["split_feature"] == root["split_feature"])
    assert np.array_equal(acquired[:, below["split_feature"]], expected)


def test_trials_are_at_most_as_many_as_given():
    for contender in CONTENDERS.values():
        for n in (1, 2, 8):
            assert 1 <= len(contender.trials(n)) <= n


def test_choices_use_no_test_rows(problem):
    contender = fixed([0], [0, 1, 2])
    with_test = tried(problem, contender, 2)
    assert tried(replace(problem, test=problem.train.take(np.arange(2))), contender, 2) == with_test
    assert len(with_test) == 2


def test_a_run_tests_what_was_chosen_on_training_rows(problem):
    contender = fixed([0], [3], [1], [0, 1, 2])
    values = raced(problem, contender, 4)
    chosen = hull(tried(problem, contender, 4), problem.floor(problem.train))
    assert [point["setting"] for point in values["points"]] == [trial.setting for trial in chosen]
    last = values["points"][-1]
    assert (last["setting"], last["spend"]) == ({"columns": [0, 1, 2]}, 7.0)
    best = problem.test.X[:, :3].sum(axis=1) > 0
    assert last["score"] == pytest.approx(np.mean(best == problem.test.y), abs=1e-6)
    assert values["total"] == problem.costs.total


def test_the_hull_rises_and_bends_down():
    points = [(1.0, 0.5), (2.0, 0.9), (3.0, 0.91), (4.0, 0.95), (5.0, 0.93)]
    corners = hull([Trial({}, "", *point) for point in points], 0.4)
    assert [(each.spend, each.score) for each in corners] == [(2.0, 0.9), (4.0, 0.95)]
    assert hull([Trial({}, "", 1.0, 0.3)], 0.4) == []


def test_quick_problems_are_in_the_catalog_and_have_all_contenders_of_their_task():
    assert set(QUICK) <= set(CATALOG)
    names = {run.key.setting for run in runs("quadrants", full=False)}
    assert names == {name for name, each in CONTENDERS.items() if Task.BINARY in each.tasks}
    assert FULL in {run.key.setting for run in runs("mq2008", full=True)}


def test_problems_that_are_drawn_differ_by_seed():
    one, other = load("quadrants", 0), load("quadrants", 1)
    assert one.train.X.shape == (1_000, 6)
    assert not np.array_equal(one.train.X, other.train.X)
