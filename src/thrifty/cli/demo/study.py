"""What accuracy a budget buys on the heart data, by nested cross-validation.

Among the candidates an inner cross-validation of the training part chooses; the held-out fold only measures. The
candidates themselves, whom a tree may test and with what allowances, were designed with this data in view, which
flatters the trees somewhat.

    family      trees that differ in whom they test how much, or static models that differ in their cost weight
    choose      of a family, for every budget, the model of least log loss whose mean spend is within it
    measure     its mean spend, accuracy and AUC on the held-out fold
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from thrifty import ASTCClassifier, CostModel, CostWeightedL1Classifier
from thrifty.metrics import CostCurve, cost_curve

BUDGETS = (5.0, 40.0, 70.0, 100.0, 130.0, 170.0, 200.0)
SHOWN_BUDGET = 100.0  # of the tree that is drawn and replayed
INNER_FOLDS = 5

# Allowances in Canadian dollars. Everybody answers the questions that cost 1 each; a large test costs about 100, and
# all the small ones together 26.
QUESTIONS = 4.0
FURTHER = (0.0, 131.0, 232.0, 324.0)  # nothing, one large test, two, everything

Rows = tuple[np.ndarray, np.ndarray]
Family = Callable[[Any, Any], list[Any]]
OnStep = Callable[[], None]


@dataclass(frozen=True)
class Outcome:
    """What a model spends on a patient on average, and how good its answers are, on patients it has not seen."""

    spend: float
    accuracy: float
    auc: float


@dataclass(frozen=True)
class BudgetRow:
    """The tree and the static model that were chosen for a budget."""

    budget: float
    tree: Outcome
    static: Outcome


@dataclass(frozen=True)
class Study:
    """Means over the held-out folds: one row per budget, and the model that buys every test for everyone."""

    folds: int
    rows: tuple[BudgetRow, ...]
    full: Outcome
    chance: float  # standard error of an accuracy

    @property
    def headline(self) -> BudgetRow:
        """The cheapest row within a standard error of the full model's accuracy, else the most accurate."""
        close = [row for row in self.rows if row.tree.accuracy >= self.full.accuracy - self.chance]
        return close[0] if close else max(self.rows, key=lambda row: row.tree.accuracy)


def n_steps(folds: int) -> int:
    """How often `run_study` and `shown_tree` report progress."""
    return (2 * folds + 1) * (INNER_FOLDS + 1)


def run_study(heart: Any, *, folds: int, seed: int, on_step: OnStep) -> Study:
    """Measure trees, static models and the full model on every held-out fold."""
    trees: list[list[Outcome]] = []
    static: list[list[Outcome]] = []
    full: list[list[Outcome]] = []
    for train, test in StratifiedKFold(folds, shuffle=True, random_state=seed).split(heart.X, heart.y):
        seen, unseen = (heart.X[train], heart.y[train]), (heart.X[test], heart.y[test])
        for family, found in ((tree_family(heart.costs), trees), (static_family(heart.costs, seen), static)):
            chosen = choose(family, seen, BUDGETS, seed=seed, on_step=on_step)
            found.append([_measure(model, unseen) for model in chosen])
        full.append([_measure_full(heart.costs, seen, unseen)])
    rows = tuple(map(BudgetRow, BUDGETS, _mean(trees), _mean(static)))
    accuracy = _mean(full)[0].accuracy
    return Study(folds, rows, _mean(full)[0], chance=(accuracy * (1 - accuracy) / len(heart.y)) ** 0.5)


def shown_tree(heart: Any, *, seed: int, on_step: OnStep) -> ASTCClassifier:
    """Choose a tree for the middle budget by all patients."""
    return choose(tree_family(heart.costs), (heart.X, heart.y), [SHOWN_BUDGET], seed=seed, on_step=on_step)[0]


def tree_family(costs: CostModel) -> Family:
    """Trees by what they allow the half more at risk, and then the patients in the middle, who are hard to tell."""
    allowances: list[list[float]] = [[1], [2]]
    for riskier_half, middle in product(FURTHER, FURTHER):
        allowances.append([QUESTIONS, riskier_half, 0, 0, middle, middle, 0])  # level order, upper child first

    def fit(X: Any, y: Any) -> list[Any]:
        return [_tree(costs, nodes).fit(X, y) for nodes in allowances]

    return fit


def _tree(costs: CostModel, nodes: Sequence[float]) -> ASTCClassifier:
    depth = len(nodes).bit_length()
    return ASTCClassifier(costs=costs, max_depth=depth, node_budget=nodes, overflow="skip", soft=True)


def static_family(costs: CostModel, seen: Rows) -> Family:
    """One cost-weighted l1 model for all patients, by its cost weight."""
    model = CostWeightedL1Classifier(costs=costs)
    cost_weights = [each.cost_weight for each in model.path(*seen)]

    def fit(X: Any, y: Any) -> list[Any]:
        return model.path(X, y, cost_weights=cost_weights)

    return fit


def choose(family: Family, seen: Rows, budgets: Iterable[float], *, seed: int, on_step: OnStep) -> list[Any]:
    """Return for every budget the best model that an inner cross-validation finds within it, fitted to all rows."""
    X, y = seen
    curves = []
    for train, test in StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=seed).split(X, y):
        curves.append(cost_curve(family(X[train], y[train]), X[test], y[test], scoring="neg_log_loss"))
        on_step()
    curve = CostCurve(
        spend=np.mean([each.spend for each in curves], axis=0), score=np.mean([each.score for each in curves], axis=0)
    )
    models = family(X, y)
    on_step()
    return [models[curve.best(budget)] for budget in budgets]


def _measure(model: Any, unseen: Rows) -> Outcome:
    X, y = unseen
    acquisition = model.acquire(X)
    accuracy = accuracy_score(y, acquisition.prediction)
    return Outcome(float(acquisition.spend.mean()), float(accuracy), float(roc_auc_score(y, acquisition.score)))


def _measure_full(costs: CostModel, seen: Rows, unseen: Rows) -> Outcome:
    X, y = unseen
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*seen)
    auc = roc_auc_score(y, model.decision_function(X))
    return Outcome(costs.total, float(accuracy_score(y, model.predict(X))), float(auc))


def _mean(by_fold: list[list[Outcome]]) -> list[Outcome]:
    """Average over the folds, budget by budget."""
    return [
        Outcome(*np.mean([astuple(each) for each in folds], axis=0).tolist()) for folds in zip(*by_fold, strict=True)
    ]
