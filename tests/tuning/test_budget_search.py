"""The search: its choice, its promise, candidates that fail, and input that is not valid."""

import joblib
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.metrics import accuracy_score, r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold

from thrifty import (
    Acquire,
    ASTCClassifier,
    BudgetSearchCV,
    CostModel,
    CostWeightedL1Classifier,
    EarlyExitRanker,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    TableModel,
    load,
    save,
)
from thrifty.datasets import load_heart, make_ltr
from thrifty.models.rows import Rows
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.preparation import learned_encoder
from thrifty.plots import CostCurveDisplay
from thrifty.tuning import METHODS
from thrifty.tuning.candidates import sweeps
from thrifty.tuning.cross_validation import measure
from thrifty.tuning.problem import Problem, Task
from thrifty.tuning.sweep import Sweep

HEART = load_heart()
COLUMNS = [
    "method",
    "parameters",
    "spend",
    "spend_bound",
    "score",
    "score_error",
    "fit_seconds",
    "error",
    "dominated",
    "n_folds",
    "n_rows",
    "note",
    "within_budget",
]


TREES = (ASTCClassifier(overflow="skip"), {"max_depth": [1, 2], "node_budget": [4.0, 7.0, 30.0]})


@pytest.fixture(scope="module")
def search():
    X = pd.DataFrame(HEART.X[:200], columns=HEART.names)
    return BudgetSearchCV({"l1": "l1", "tree": TREES}, budget=40, cap=150, costs=HEART.costs).fit(X, HEART.y[:200])


@pytest.fixture(scope="module")
def held():
    return pd.DataFrame(HEART.X[200:], columns=HEART.names), HEART.y[200:]


def test_the_choice_is_the_best_score_whose_bound_is_within_the_budget(search):
    table = search.frontier_
    assert list(table.columns) == COLUMNS
    within = table[table["spend_bound"] <= 40]
    assert table["within_budget"].sum() == len(within)
    assert table["score"][search.best_index_] == within["score"].max() == search.best_score_
    ties = within[within["score"] == search.best_score_]
    assert table["spend"][search.best_index_] == ties["spend"].min()
    assert search.best_params_ == table["parameters"][search.best_index_]


def test_held_out_rows_keep_to_budget_and_cap(search, held):
    X, y = held
    spend = search.spend(X)
    assert spend.mean() <= 40
    assert spend.max() <= 150
    assert search.score(X, y) == accuracy_score(y, search.predict(X)) > 0.7


def test_a_loaded_cap_binds_without_being_passed(held):
    X, _ = held
    everything = BudgetSearchCV({"tree": (ASTCClassifier(), {"max_depth": [1], "node_budget": [200.0]})}, cap=5)
    model = everything.set_params(costs=HEART.costs).fit(HEART.X[:200], HEART.y[:200]).best_estimator_
    assert isinstance(model, TableModel)
    assert model.spend(X.to_numpy()).max() <= 5


def test_the_promise_is_what_was_measured(search):
    promise, line = search.promise_, search.frontier_.loc[search.best_index_]
    assert (promise.budget, promise.cap, promise.unit, promise.confidence) == (40.0, 150.0, "CAD", 0.95)
    assert (promise.spend, promise.spend_bound, promise.score) == (line["spend"], line["spend_bound"], line["score"])
    assert promise.kept
    assert promise.n_rows == 200
    assert search.best_estimator_.promise_ == promise


def test_sessions_and_probabilities_are_the_chosen_models(search, held):
    X, _ = held
    session = search.session()
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: X[feature].iloc[0] for feature in step.features})
    assert step.prediction == search.predict(X)[0]
    assert session.spend == search.spend(X)[0]
    np.testing.assert_array_equal(search.predict_proba(X), search.best_estimator_.predict_proba(X))
    assert search.classes_.tolist() == [0, 1]
    assert search.n_features_in_ == 13


def test_points_are_what_separate_fits_would_score():
    folds = StratifiedKFold(3, shuffle=True, random_state=1)
    grid = {"cost_weight": [0.2, 0.05, 0.01]}
    search = BudgetSearchCV([(CostWeightedL1Classifier(costs=HEART.costs), grid)], cv=folds, refit=False)
    search.fit(HEART.X, HEART.y)
    for k, (train, test) in enumerate(folds.split(HEART.X, HEART.y)):
        for line, weight in enumerate(grid["cost_weight"]):
            model = CostWeightedL1Classifier(costs=HEART.costs, cost_weight=weight).fit(HEART.X[train], HEART.y[train])
            assert search.cv_results_[f"split{k}_test_score"][line] == model.score(HEART.X[test], HEART.y[test])
            assert search.cv_results_[f"split{k}_test_spend"][line] == model.spend(HEART.X[test]).mean()


def test_the_error_of_a_candidate_that_fails_is_recorded():
    given = {"broken": ASTCClassifier(max_depth=-1), "sound": "l1"}
    table = BudgetSearchCV(given, budget=30, costs=HEART.costs).fit(HEART.X, HEART.y).frontier_
    broken = table[table["method"] == "broken"]
    assert broken["error"].str.contains("max_depth is -1").all()
    assert broken["dominated"].all()
    assert not broken["within_budget"].any()
    assert (table[table["method"] == "sound"]["error"] == "").all()


def test_if_all_candidates_fail_the_first_error_is_raised():
    with pytest.raises(ValueError, match=r"every candidate failed. The first error is: ValueError: .*max_depth is -1"):
        BudgetSearchCV([ASTCClassifier(max_depth=-1)]).fit(HEART.X, HEART.y)


def test_a_budget_out_of_reach_gives_the_cheapest_point_and_a_warning():
    grid = {"max_depth": [1], "node_budget": [4.0, 100.0]}
    search = BudgetSearchCV([(ASTCClassifier(overflow="skip"), grid)], budget=2.5, costs=HEART.costs)
    with pytest.warns(UserWarning, match=r"no candidate stays within the budget of 2.5 CAD.*1.5 CAD too much"):
        search.fit(HEART.X, HEART.y)
    assert search.promise_.spend == 4.0
    assert not search.promise_.kept


def test_a_refit_that_exceeds_the_budget_is_not_chosen():
    """At some cost weight the models of the folds buy nothing, but the model of all rows does."""
    random = np.random.default_rng(0)
    X = random.normal(size=(40, 2))
    y = (X[:, 0] + 0.3 * random.normal(size=40) > 0).astype(int)
    search = BudgetSearchCV(["l1", "truncated"], budget=0.4, costs=[1.0, 1.0]).fit(X, y)
    assert search.spend(X).mean() <= 0.4


def test_the_promise_is_not_below_what_the_chosen_model_spends_on_all_rows():
    """The models of the folds, which are fitted on four rows each, buy nothing; the final one buys a column."""
    few = HEART.X[:6], np.array([0, 1, 0, 1, 0, 1])
    found = BudgetSearchCV(["l1", "static", "astc"], budget=40, costs=HEART.costs, cv=3).fit(*few)
    spent = found.spend(few[0]).mean()
    assert found.frontier_["spend_bound"][found.best_index_] < spent == found.promise_.spend_bound <= 40


def test_the_chosen_model_can_be_saved_with_and_without_column_names(search, tmp_path):
    unnamed = BudgetSearchCV(["l1"], costs=HEART.costs, cv=2).fit(HEART.X, HEART.y)
    for found in (search, unnamed):
        twin = load(save(found, tmp_path / "model.thrifty"))
        X = pd.DataFrame(HEART.X, columns=HEART.names) if found is search else HEART.X
        np.testing.assert_array_equal(twin.acquire(X).score, found.acquire(X).score)
        assert twin.promise_ == found.promise_


def test_without_refit_there_is_a_frontier_and_no_model():
    search = BudgetSearchCV(["l1"], costs=HEART.costs, refit=False).fit(HEART.X, HEART.y)
    assert len(search.frontier_) == 10
    with pytest.raises(AttributeError, match="refit=False"):
        search.predict(HEART.X)
    assert not hasattr(search, "predict_proba")


def test_not_fitted():
    with pytest.raises(NotFittedError):
        BudgetSearchCV().predict(HEART.X)


def test_mixed_columns_are_bought_at_the_prices_of_raw_ones():
    random = np.random.default_rng(0)
    n = 300
    raw = pd.DataFrame(
        {
            "pain": random.choice(["none", "typical", "atypical"], n),
            "smokes": random.random(n) < 0.5,
            "visit": pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, n), unit="D"),
            "chol": np.where(random.random(n) < 0.1, np.nan, random.normal(200, 30, n)),
        }
    )
    y = np.where((raw["pain"] == "typical") | (raw["chol"] > 230), "ill", "well")
    costs = CostModel({"pain": 1, "smokes": 1, "visit": 0, "chol": 7}, unit="$")
    search = BudgetSearchCV(["l1", "static"], budget=3, costs=costs, cv=3).fit(raw, y)
    assert (search.frontier_["error"] == "").all()
    outcome = search.acquire(raw)
    np.testing.assert_array_equal(outcome.spend, costs.of(outcome.acquired))
    assert outcome.acquired.shape == (n, 4)
    assert outcome.spend.mean() <= 3
    assert search.score(raw, y) > 0.7


@pytest.mark.parametrize("task", ["binary", "multiclass", "regression", "ranking"])
def test_every_method_serves_what_it_says_it_does(task):
    """The first and last setting of every default sweep, on a small set of each task."""
    random = np.random.default_rng(0)
    X = random.normal(size=(90, 4))
    signal = X[:, 0] + X[:, 1] * (X[:, 2] > 0)
    cuts = {"binary": [0], "multiclass": [-0.5, 0.5], "ranking": [0, 1]}
    y = np.digitize(signal, cuts[task]) if task in cuts else signal
    raw = Rows(X, y, qid=np.repeat(np.arange(9), 10) if task == "ranking" else None)
    costs = CostModel([1.0, 2.0, 3.0, 4.0])
    problem = Problem.of(raw, learned_encoder(raw, costs), costs, Task(task), cap=8.0)
    _, made = sweeps(None, problem, random_state=0)
    assert [sweep.name for sweep in made] == [name for name, method in METHODS.items() if task in method.classes]
    for sweep in made:
        ends = Sweep(sweep.name, sweep.estimator, (sweep.settings[0], sweep.settings[-1]))
        scoring = problem.task.default_scoring
        measured = [each for batch in ends.batches() for each in measure(batch, problem, problem.rows, scoring)[0]]
        assert [each.error for each in measured] == ["", ""], sweep.name
        assert max(each.largest for each in measured) <= 8.0


def test_multiclass_and_regression_have_a_default_scoring():
    wine, diabetes = load_wine(), load_diabetes()
    classes = BudgetSearchCV(["static"], budget=4, cv=3).fit(wine.data, wine.target_names[wine.target])
    assert classes.scoring_ == "accuracy"
    assert set(classes.predict(wine.data)) == set(wine.target_names)
    amounts = BudgetSearchCV(["l1"], budget=4, cv=3).fit(diabetes.data, diabetes.target)
    assert amounts.scoring_ == "r2"
    assert amounts.spend(diabetes.data).mean() <= 4


def test_queries_are_kept_together_and_scored_by_query():
    data = make_ltr(40, 12, 20, random_state=0)
    weights = (data.y.var() / data.costs.total * np.array([0.1, 0.01])).tolist()
    miser = GreedyMiserRanker(n_estimators=10), {"cost_weight": weights}
    search = BudgetSearchCV([miser, "l1"], budget=data.costs.total / 4, costs=data.costs, cv=3)
    search.fit(data.X, data.y, qid=data.qid)
    assert search.scoring_ == "ndcg@5"
    assert search.spend(data.X, qid=data.qid).mean() <= data.costs.total / 4
    assert search.score(data.X, data.y, qid=data.qid) > 0.5


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_any_backend_finds_the_same(search, backend):
    X = pd.DataFrame(HEART.X[:200], columns=HEART.names)
    with joblib.parallel_backend(backend, n_jobs=2):
        other = clone(search).fit(X, HEART.y[:200])
    same = [name for name in COLUMNS if name != "fit_seconds"]
    pd.testing.assert_frame_equal(search.frontier_[same], other.frontier_[same])


def test_the_search_measures_a_sample_and_the_model_is_fitted_on_all_rows(search):
    few = BudgetSearchCV(["l1"], costs=HEART.costs, max_rows=100).fit(HEART.X, HEART.y)
    assert few.promise_.n_rows == 100
    assert few.best_estimator_.training_.n_rows == 270


def test_rows_are_taken_and_encoded_once(monkeypatch):
    taken, encoded = [], []
    take, transform = Rows.take, TableEncoder.transform
    monkeypatch.setattr(Rows, "take", lambda rows, index: taken.append(len(index)) or take(rows, index))
    monkeypatch.setattr(TableEncoder, "transform", lambda self, X: encoded.append(len(X)) or transform(self, X))
    grid = CostWeightedL1Classifier(), {"cost_weight": [0.1, 0.01]}
    BudgetSearchCV([grid], cv=3).fit(HEART.X, HEART.y)
    assert taken == [180, 90] * 3
    assert sorted(encoded) == [90] * 3 + [180] * 3 + [270]


def test_scoring_by_name_and_by_function():
    def spare(model, X, y):
        return float(roc_auc_score(y, model.predict_proba(X)[:, 1]))

    named = BudgetSearchCV(["l1"], costs=HEART.costs, scoring="roc_auc", refit=False).fit(HEART.X, HEART.y)
    called = BudgetSearchCV(["l1"], costs=HEART.costs, scoring=spare, refit=False).fit(HEART.X, HEART.y)
    np.testing.assert_allclose(named.frontier_["score"], called.frontier_["score"])


def test_a_larger_confidence_gives_a_larger_bound():
    bounds = [
        BudgetSearchCV(["l1"], costs=HEART.costs, confidence=sure, refit=False).fit(HEART.X, HEART.y).frontier_
        for sure in (0.5, 0.99)
    ]
    assert (bounds[0]["spend_bound"] <= bounds[1]["spend_bound"]).all()
    np.testing.assert_allclose(bounds[0]["spend_bound"], np.minimum(bounds[0]["spend"], HEART.costs.total))


def test_costs_of_the_estimators_are_taken_where_the_search_has_none():
    search = BudgetSearchCV([CostWeightedL1Classifier(costs=HEART.costs)]).fit(HEART.X, HEART.y)
    assert search.cost_model_.total == HEART.costs.total
    two = [ASTCClassifier(costs=np.ones(13)), CostWeightedL1Classifier(costs=HEART.costs)]
    with pytest.raises(ValueError, match=r"different costs. Pass costs= to the search"):
        BudgetSearchCV(two).fit(HEART.X, HEART.y)


def test_the_progress_bar_goes_to_stderr(capsys):
    BudgetSearchCV(["l1"], costs=HEART.costs, verbose=1e-3, refit=False).fit(HEART.X, HEART.y)
    shown = capsys.readouterr()
    assert "Searching" in shown.err
    assert shown.out == ""


def test_plot_of_a_search(search):
    display = CostCurveDisplay.from_search(search, name="frontier", ax=Figure().subplots())
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend[0] == "frontier"
    assert set(search.frontier_["method"]) | {"budget", f"chosen: {search.promise_.method}"} <= set(legend)
    assert display.ax_.get_xlabel() == "mean spend per row (CAD)"
    assert len(display.curve) == (search.frontier_["error"] == "").sum()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": -1}, "budget is -1; expected a finite number of at least 0"),
        ({"cap": "much"}, "cap is 'much'"),
        ({"confidence": 1}, "confidence is 1; expected a share between 0 and 1"),
        ({"cv": 1}, "cv is 1; expected a whole number of at least 2"),
        ({"max_rows": 0}, "max_rows is 0"),
        ({"task": "guessing"}, "task is 'guessing'"),
        ({"estimators": ["magic"]}, "there is no method 'magic'. There are thrifty, l1, astc"),
        ({"estimators": ["early-exit"]}, "'early-exit' does not serve binary. These do: thrifty, l1"),
        ({"estimators": [object()]}, "expected names of methods, estimators of thrifty"),
        ({"estimators": [(GreedyMiserClassifier(), {"depth": [1]})]}, "has no parameter 'depth'"),
        ({"estimators": [("astc", {"depth": [1]})]}, "has no parameter 'depth'"),
        ({"estimators": [("astc", 3)]}, "the grid of 'astc' is 3; expected a dict"),
        ({"scoring": "beauty"}, "beauty"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        BudgetSearchCV(**options).fit(HEART.X, HEART.y)


def test_a_name_can_have_a_grid():
    grid = {"max_depth": [1], "node_budget": [[5.0], [50.0]]}
    found = BudgetSearchCV([("astc", grid), "l1"], budget=40, costs=HEART.costs, cv=3).fit(HEART.X, HEART.y)
    points = found.frontier_[found.frontier_["method"] == "astc"]
    assert [each["node_budget"] for each in points["parameters"]] == [[5.0], [50.0]]
    assert points["note"].tolist() == ["", ""]  # what the user lists is not dropped


def test_bad_tables_are_refused():
    X = HEART.X[:, :2]
    twice = pd.DataFrame(X, columns=["a", "a"])
    for table, message in (
        (twice, "X has several columns named 'a'"),
        (X[:, 0], "Expected 2D array"),
        (pd.DataFrame(index=range(270)), r"X has shape \(270, 0\)"),
        (X[:0], "0 sample"),
    ):
        with pytest.raises(ValueError, match=message):
            BudgetSearchCV(["l1"]).fit(table, HEART.y[: len(table)])


def test_bad_rows_are_refused():
    with pytest.raises(ValueError, match="y is missing in 1 of 270 rows"):
        BudgetSearchCV(["l1"]).fit(HEART.X, np.append(np.nan, HEART.y[1:]))
    with pytest.raises(ValueError, match=r"y has shape \(269,\) for 270 rows"):
        BudgetSearchCV(["l1"]).fit(HEART.X, HEART.y[1:])
    with pytest.raises(ValueError, match=r"qid has shape \(3,\)"):
        BudgetSearchCV(["l1"]).fit(HEART.X, HEART.y, qid=[1, 2, 3])
    with pytest.raises(ValueError, match="sample_weight is -2 in row 1; expected numbers of at least 0"):
        BudgetSearchCV(["l1"]).fit(HEART.X[:3], HEART.y[:3], [1.0, -2.0, 1.0])
    with pytest.raises(ValueError, match="all rows are of class 'ill'; expected at least 2 classes"):
        BudgetSearchCV(["l1"]).fit(HEART.X, ["ill"] * 270)
    with pytest.raises(ValueError, match=r"cv is 5 for 3 rows. Pass more rows, or fewer folds"):
        BudgetSearchCV(["l1"]).fit(HEART.X[:3], [0, 1, 0])


# Queries, outlines and notebooks


def test_queries_reach_the_chosen_model_in_every_call():
    data = make_ltr(30, 12, 10, random_state=0)
    early = EarlyExitRanker(GreedyMiserRanker(n_estimators=10), s=0.1)
    search = BudgetSearchCV([early], costs=data.costs, cv=2, scoring="r2", task="ranking")
    search.fit(data.X, data.y, qid=data.qid)
    model, queries = search.best_estimator_, {"qid": data.qid}
    assert search.spend(data.X, **queries).sum() < search.spend(data.X).sum()
    np.testing.assert_array_equal(search.spend(data.X, 3.0, **queries), model.spend(data.X, 3.0, **queries))
    np.testing.assert_array_equal(search.predict(data.X, **queries), model.predict(data.X, **queries))
    np.testing.assert_array_equal(search.acquire(data.X, **queries).exit, model.acquire(data.X, **queries).exit)
    expected = r2_score(data.y, search.predict(data.X, **queries))
    assert search.score(data.X, data.y, **queries) == expected != r2_score(data.y, search.predict(data.X))


def test_the_outline_is_that_of_the_chosen_model(search, held):
    X, _ = held
    assert str(search.outline()) == str(search.best_estimator_.outline())
    exits = search.acquire(X).exit
    assert search.outline(exits).structure() == search.best_estimator_.outline(exits).structure()
    with pytest.raises(NotFittedError):
        BudgetSearchCV().outline()


def test_a_notebook_shows_the_outline_of_the_chosen_model(search):
    shown = search.outline()._repr_html_()
    assert shown in search._repr_mimebundle_()["text/html"]
    assert shown in search._repr_html_()
    assert "<strong>" not in BudgetSearchCV(["l1"])._repr_html_()


def test_queries_score_a_ranking_and_the_search_has_a_training_record():
    random = np.random.default_rng(0)
    X, qid = random.normal(size=(120, 4)), np.arange(120) // 12
    grades = np.digitize(X[:, 0], [0.0, 1.0])
    search = BudgetSearchCV(["l1"], cv=3).fit(X, X[:, 0] + 0.1 * X[:, 1])
    assert search.score(X, grades, qid=qid) == search.best_estimator_.score(X, grades, qid=qid) > 0.9
    assert search.training_.n_rows == 120


def test_a_sweep_reaches_an_expensive_column_beside_a_cheap_one():
    random = np.random.default_rng(0)
    X = random.normal(size=(600, 3))
    y = X @ [0.1, 1.0, 0.02] + 0.03 * random.normal(size=600)
    search = BudgetSearchCV(["cstc"], costs=[0.01, 20.0, 1.0], budget=25).fit(X[:300], y[:300])
    assert search.score(X[300:], y[300:]) > 0.99
