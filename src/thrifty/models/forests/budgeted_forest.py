"""Fitted forests of any library as budgeted estimators, with feature costs, caps and sessions.

Nothing is learned: the trees exist already, and only their costs are added. `Forest.with_costs` is the usual way to
make such an estimator.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import Forest
from thrifty.models.forests.priced_forest import checked_evaluation_costs
from thrifty.models.forests.task import Task
from thrifty.models.parameters import is_number
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRanker, BudgetedRegressor
from thrifty.models.training_record import Training


class _BudgetedForest(ForestEstimator):
    """Base of the budgeted forests for regression, classification and ranking."""

    task_: Task

    def __init__(self, forest: Any, *, costs: Any = None, evaluation_costs: Any = 0.0):
        self.forest = forest
        self.costs = costs
        self.evaluation_costs = evaluation_costs

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Add the costs to the forest. The data are not used.

        Parameters
        ----------
        X, y, sample_weight, qid : object, optional
            Not used. They are here because scikit-learn passes them.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        forest = Forest.from_model(self.forest)
        names = forest.feature_names
        self.cost_model_ = CostModel.resolve(
            self.costs, forest.n_features, feature_names=names, owner=type(self).__name__
        )
        self.n_features_in_ = forest.n_features
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)
        self.evaluation_costs_ = checked_evaluation_costs(self.evaluation_costs, forest.n_trees)
        self.task_, self.forest_ = forest.task or Task(), forest
        if self.task_.classes is not None:
            self.classes_ = np.array(self.task_.classes)
        self.training_ = Training.of_nothing()
        return self

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        if self.task_.averaged:
            prior = self.forest_.base if self.task_.prior is None else np.array(self.task_.prior)
            sums = _averages(sums, exits + 1, self._priced().n_rounds, self.forest_.base, prior)
        return self.task_.scores(sums)

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        task = self.task_
        require(
            isinstance(task, Task) and is_number(task.scale) and isinstance(task.averaged, bool),
            "its task is not a Task",
        )
        prior_fits = task.prior is None or np.array(task.prior, dtype=float).shape == (self._n_scores(),)
        require(prior_fits, "its prior has another number of scores")


class BudgetedForestRegressor(_BudgetedForest, BudgetedRegressor):
    """A fitted forest that predicts values and charges each row for the features that its paths read.

    Parameters
    ----------
    forest : Forest or fitted model
        Any model that `Forest.from_model` reads.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    evaluation_costs : float or array-like of shape (n_trees,), default=0.0
        What evaluating each tree costs a row, in the unit of the costs.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    task_ : Task
        How the sums of the trees become predictions.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        A record without rows, because nothing is fitted here.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from thrifty.models.forests.budgeted_forest import BudgetedForestRegressor
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 0.0, 1.0, 1.0]
    >>> forest = RandomForestRegressor(n_estimators=5, random_state=0).fit(X, y)
    >>> model = BudgetedForestRegressor(forest, costs=[2.0, 3.0]).fit()
    >>> bool((model.predict(X) == forest.predict(X)).all())
    True
    >>> model.spend(X, cap=2.0).max() <= 2.0
    np.True_
    """


class BudgetedForestClassifier(_BudgetedForest, BudgetedClassifier):
    """A fitted forest that predicts classes and charges each row for the features that its paths read.

    Parameters
    ----------
    forest : Forest or fitted model
        Any model that `Forest.from_model` reads.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    evaluation_costs : float or array-like of shape (n_trees,), default=0.0
        What evaluating each tree costs a row, in the unit of the costs.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in the order of the columns of ``predict_proba``.
    forest_ : Forest
        The trees.
    task_ : Task
        How the sums of the trees become log-odds.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        A record without rows, because nothing is fitted here.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from thrifty.datasets import load_heart
    >>> from thrifty.models.forests.budgeted_forest import BudgetedForestClassifier
    >>> heart = load_heart()
    >>> forest = RandomForestClassifier(n_estimators=20, max_depth=4, random_state=0).fit(heart.X, heart.y)
    >>> model = BudgetedForestClassifier(forest, costs=heart.costs).fit()
    >>> bool((model.predict(heart.X) == forest.predict(heart.X)).all())
    True
    """


class BudgetedForestRanker(_BudgetedForest, BudgetedRanker):
    """A fitted forest that ranks documents and charges each document for the features that its paths read.

    Parameters
    ----------
    forest : Forest or fitted model
        Any model that `Forest.from_model` reads.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    evaluation_costs : float or array-like of shape (n_trees,), default=0.0
        What evaluating each tree costs a document, in the unit of the costs.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    task_ : Task
        How the sums of the trees become scores.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a document.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        A record without rows, because nothing is fitted here.

    Examples
    --------
    >>> from thrifty import GreedyMiserRanker
    >>> from thrifty.datasets import make_ltr
    >>> from thrifty.models.forests.budgeted_forest import BudgetedForestRanker
    >>> data = make_ltr(10, 20, 30, random_state=0)
    >>> fitted = GreedyMiserRanker(n_estimators=10, cost_weight=0.0).fit(data.X, data.y, qid=data.qid)
    >>> model = BudgetedForestRanker(fitted, costs=data.costs, evaluation_costs=0.1).fit()
    >>> bool((model.predict(data.X) == fitted.predict(data.X)).all())
    True
    """


ESTIMATORS: dict[str, type[_BudgetedForest]] = {
    "regression": BudgetedForestRegressor,
    "classification": BudgetedForestClassifier,
    "ranking": BudgetedForestRanker,
}


def budgeted_forest(forest: Forest, costs: Any, evaluation_costs: Any) -> _BudgetedForest:
    """Return the fitted estimator for what the forest predicts."""
    task = forest.task or Task()
    if task.kind != "classification" and len(forest.base) > 1:
        raise ValueError(f"Forest: predicts {len(forest.base)} targets; expected one. Pass one forest per target.")
    return ESTIMATORS[task.kind](forest, costs=costs, evaluation_costs=evaluation_costs).fit()


def _averages(sums: np.ndarray, n_done: np.ndarray, n_rounds: int, base: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """Return the average of the rounds that each row completed; the prior if it completed none.

    The leaves of an averaged forest are divided by the number of rounds, so the average of the first k rounds is
    base + (sum of k rounds - base) * n_rounds / k.
    """
    done = n_done[:, None]
    average = base + (sums - base) * (n_rounds / np.maximum(done, 1))
    return np.select([done == n_rounds, done > 0], [sums, average], prior)
