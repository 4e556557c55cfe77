"""What accuracy a budget buys on the heart data, measured on held-out patients.

The patients are divided into folds. Each fold is held out in turn, and a search on the other folds measures its
candidates by an inner cross-validation. For each budget the best candidate within it is fitted to the other folds and
measured on the held-out fold, which the search has not seen. Beside the search, one adaptive model is fitted to the
other folds, and measured at each budget.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from thrifty import BudgetSearchCV, TableModel, ThriftyClassifier
from thrifty.tuning import METHODS
from thrifty.tuning.choice import by_preference
from thrifty.tuning.problem import Task

BUDGETS = (5.0, 50.0, 100.0, 150.0, 200.0, 250.0)
SAME_FOR_ALL = ("l1", "static")  # methods that buy the same tests for every patient
SEARCHED = (*SAME_FOR_ALL, "astc", "attentive")
# So few patients are not enough to improve on the default order, so the demo does not spend time on it. The search
# measures a faster version, because it fits it many times.
ADAPTIVE: dict[str, Any] = {"n_rounds": 0}
FASTER: dict[str, Any] = {"n_rounds": 0, "n_folds": 3, "n_estimators": 50, "learning_rate": 0.2}
COST_WEIGHTS = np.geomspace(0.2, 3e-5, 16).tolist()
N_JOBS = 2


@dataclass(frozen=True)
class Outcome:
    """Mean spend per patient, accuracy and area under the ROC curve, on held-out patients."""

    spend: float
    accuracy: float
    auc: float


@dataclass(frozen=True)
class BudgetRow:
    """Outcomes within a budget: of one adaptive model, the search, and its methods that buy the same for everyone."""

    budget: float
    adaptive: Outcome
    search: Outcome
    same: Outcome


@dataclass(frozen=True)
class Study:
    """Outcomes as means over the held-out folds; `models` are the adaptive ones of the first fold, by budget."""

    rows: tuple[BudgetRow, ...]
    full: Outcome  # of logistic regression on all tests
    n_patients: int
    n_folds: int
    models: dict[float, TableModel] = field(default_factory=dict)
    held_out: tuple[int, ...] = ()  # the patients of the first fold

    @property
    def accuracy_error(self) -> float:
        """Standard error of an accuracy: sqrt(a (1 - a) / n) with a the accuracy of all tests, n the patients."""
        return (self.full.accuracy * (1 - self.full.accuracy) / self.n_patients) ** 0.5

    @property
    def headline(self) -> BudgetRow:
        """The cheapest row within one standard error of the accuracy of all tests, else the most accurate row."""
        close = [row for row in self.rows if row.search.accuracy >= self.full.accuracy - self.accuracy_error]
        return close[0] if close else max(self.rows, key=lambda row: row.search.accuracy)


def run_study(heart: Any, *, folds: int, seed: int, on_fold: Callable[[], None]) -> Study:
    """Search, choose and measure, fold by fold."""
    splits = list(StratifiedKFold(folds, shuffle=True, random_state=seed).split(heart.X, heart.y))
    models, outcomes = [], []
    for train, test in splits:
        chosen = choose_models(heart, train, seed)
        measured = [measure(model, heart, test) for models_within in chosen for model in models_within]
        outcomes.append([astuple(each) for each in (*measured, measure_full(heart, train, test))])
        models.append({budget: adaptive for budget, (adaptive, _, _) in zip(BUDGETS, chosen, strict=True)})
        on_fold()
    *means, full = [Outcome(*each) for each in np.mean(outcomes, axis=0).tolist()]
    rows = tuple(map(BudgetRow, BUDGETS, means[::3], means[1::3], means[2::3]))
    return Study(rows, full, len(heart.y), folds, models[0], tuple(splits[0][1].tolist()))


def choose_models(heart: Any, train: np.ndarray, seed: int) -> list[tuple[TableModel, TableModel, TableModel]]:
    """Return for each budget the adaptive model, the best of a search, and its best that buys the same for everyone."""
    X, y = heart.X.iloc[train], heart.y[train]
    faster = ThriftyClassifier(**FASTER, random_state=seed), {"cost_weight": COST_WEIGHTS}
    candidates = {"thrifty": faster, **{name: name for name in SEARCHED}}
    search = BudgetSearchCV(candidates, costs=heart.costs, refit=False, random_state=seed, n_jobs=N_JOBS)
    points = search.fit(X, y).frontier_
    adaptive = TableModel(ThriftyClassifier(**ADAPTIVE, random_state=seed), costs=heart.costs).fit(X, y)
    fitted: dict[int, TableModel] = {}

    def best(candidates: Any, budget: float) -> TableModel:
        point = int(by_preference(candidates, budget)[0])
        if point not in fitted:
            fitted[point] = unfitted(points.loc[point], heart.costs, seed).fit(X, y)
        return fitted[point]

    same = points[points["method"].isin(SAME_FOR_ALL)]
    return [(adaptive.at_budget(budget), best(points, budget), best(same, budget)) for budget in BUDGETS]


def unfitted(point: Any, costs: Any, seed: int) -> TableModel:
    """Return the method of a point of the frontier, with its settings."""
    settings = dict(point["parameters"])
    cap = settings.pop("cap", None)
    method = point["method"]
    estimator = ThriftyClassifier(**FASTER) if method == "thrifty" else METHODS[method].estimator(Task.BINARY)
    estimator.set_params(**settings)
    if "random_state" in estimator.get_params():
        estimator.set_params(random_state=seed)
    return TableModel(estimator, costs=costs, cap=cap)


def measure(model: TableModel, heart: Any, test: np.ndarray) -> Outcome:
    """Return the outcome of a model on held-out patients."""
    acquisition, y = model.acquire(heart.X.iloc[test]), heart.y[test]
    accuracy, auc = accuracy_score(y, acquisition.prediction), roc_auc_score(y, acquisition.score)
    return Outcome(float(acquisition.spend.mean()), accuracy, auc)


def measure_full(heart: Any, train: np.ndarray, test: np.ndarray) -> Outcome:
    """Return the outcome of logistic regression on all tests."""
    encoder = (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_exclude="number"))
    model = make_pipeline(make_column_transformer(encoder, remainder=StandardScaler()), LogisticRegression())
    model.fit(heart.X.iloc[train], heart.y[train])
    X, y = heart.X.iloc[test], heart.y[test]
    return Outcome(heart.costs.total, model.score(X, y), roc_auc_score(y, model.decision_function(X)))
