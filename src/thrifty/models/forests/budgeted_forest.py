"""Fitted forests of any library as budgeted estimators, with feature costs, caps and sessions.

The trees exist already, and only their costs are added. `Forest.with_costs` is the usual way to make such an estimator.
With rows, `fit` also calibrates the predictions of rows that cannot pay for all trees.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import _check_sample_weight

from thrifty.costs import CostModel
from thrifty.models.base import forget_fit
from thrifty.models.forests.calibration import best_multiplier, matching_intercepts
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import Forest
from thrifty.models.forests.priced_forest import checked_evaluation_costs
from thrifty.models.forests.task import Task
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRanker, BudgetedRegressor
from thrifty.models.training_record import Training
from thrifty.stored import Array, Structure, stored


@stored(
    task_=Structure(Task),
    intercepts_=Array("float64", "n_prefixes", "n_scores", finite=True),
    multipliers_=Array("float64", "n_prefixes", low=0, finite=True),
)
class _BudgetedForest(ForestEstimator):
    """Base of the budgeted forests for regression, classification and ranking."""

    task_: Task

    def __init__(self, forest: Any, *, costs: Any = None, evaluation_costs: Any = 0.0):
        self.forest = forest
        self.costs = costs
        self.evaluation_costs = evaluation_costs

    def fit(self, X: Any = None, y: Any = None, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Add the costs to the forest, and calibrate the predictions under a cap if rows are given.

        Rows change nothing of what is predicted without a cap, which is what the original model predicts. With rows,
        the mean prediction after each number of rounds is the mean target: in classification, the mean probability of
        a class is its share of the rows. If the forest is an average, the weight of its first trees against the prior
        is fitted too; if it averages probabilities, only this weight is fitted, and the shares of the classes are the
        prior. Rows that the forest was not trained on are best.

        All rows count after each number of rounds, because the caps are not known here. A cap stops some rows earlier
        than others, and the rows that it stops can have another mean target. So accuracy can fall at some caps. Compare
        predictions with and without these rows on held-out rows under your own cap. Rows change neither ranks nor
        votes (AdaBoost, ``binary:hinge`` of XGBoost), which are not probabilities.

        Parameters
        ----------
        X : array-like of shape (n, n_features), optional
            Rows to calibrate with. By default, the trees that a row could not pay for are expected to add the mean of
            their leaves over the training rows of the original.
        y : array-like of shape (n,), optional
            The targets of these rows.
        sample_weight : array-like of shape (n,), optional
            How often each row counts.
        qid : object, optional
            Not used. It is here because rankers take it.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        forget_fit(self)
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
        self._expect_the_prior()
        self.training_ = Training.of_nothing()
        try:
            return self if X is None else self._calibrated(X, y, sample_weight)
        except Exception:
            forget_fit(self)  # some prefixes may be calibrated already
            raise

    def _expect_the_prior(self) -> None:
        """Set intercepts and multipliers without rows. In an average, the prior counts as one more tree."""
        remainders, n_rounds = self._priced().remainders, self._priced().n_rounds
        self.intercepts_, self.multipliers_ = remainders.copy(), np.ones(n_rounds + 1)
        if self.task_.averaged:
            n_averaged = np.arange(1.0, n_rounds + 1.0)
            self.multipliers_[:-1] = n_rounds / n_averaged
            self.intercepts_[:-1] = remainders[0] / n_averaged[:, None]

    def _calibrated(self, X: Any, y: Any, sample_weight: Any) -> Self:
        """Fit intercepts and multipliers to rows, unless the sums are ranks or votes."""
        rows = self._checked(X)
        target = self._checked_targets(rows, y)
        weight = _check_sample_weight(sample_weight, rows, dtype=np.float64, ensure_non_negative=True)
        self.training_ = Training.on(rows, np.asarray(y))
        if not self.task_.can_be_calibrated:
            return self
        share, mean = weight / weight.sum(), weight @ target / weight.sum()
        if self.task_.classes is not None:  # one more row, divided equally: no share is 0
            mean = (weight @ target + 1.0 / len(self.classes_)) / (weight.sum() + 1.0)
        for done, sums in enumerate(self._prefix_sums(rows)):
            if self.task_.averaged and self.task_.is_linear and done:
                above, largest = sums - self.forest_.base, self._largest_multiplier(done)
                self.multipliers_[done] = best_multiplier(above, target / self.task_.scale, share, largest)
            self.intercepts_[done] = self._fitted_intercepts(sums, done, mean, share)
        return self

    def _largest_multiplier(self, done: int) -> float:
        """Return the multiplier of a plain average, or of an average in which the prior of classes is one more tree."""
        return self._priced().n_rounds / (done + (self.task_.link == "probability"))

    def _fitted_intercepts(self, sums: np.ndarray, done: int, mean: np.ndarray, share: np.ndarray) -> np.ndarray:
        if self.task_.link == "probability":  # the weights of the trees and of the shares of the classes add up to 1
            return mean * (1.0 - self.multipliers_[done] * done / self._priced().n_rounds)
        multiplied = self._multiplied(sums, np.full(len(sums), done))
        return matching_intercepts(multiplied, self.task_, mean, share, self.intercepts_[done])

    def _checked_targets(self, X: np.ndarray, y: Any) -> np.ndarray:
        """Return the targets of rows as numbers (n, n_scores): values, or 0 and 1 for the classes."""
        owner = type(self).__name__
        if y is None:
            raise ValueError(f"{owner} requires y to be passed with X, but the target y is None.")
        y = column_or_1d(y)
        check_consistent_length(X, y)
        if self.task_.classes is None:
            return check_array(y[:, None], dtype=np.float64)
        if (unknown := np.setdiff1d(y, self.classes_)).size:
            raise ValueError(f"{owner}: y has class {unknown.tolist()[0]!r}; expected {self.classes_.tolist()}.")
        one_hot = (y[:, None] == self.classes_).astype(float)
        return one_hot if len(self.forest_.base) > 1 else one_hot[:, 1:]

    def _prefix_sums(self, X: np.ndarray) -> Iterator[np.ndarray]:
        """Yield the sums of rows after 0, 1, ... rounds; not after the last round."""
        forest, priced = self.forest_, self._priced()
        sums = np.tile(forest.base, (len(X), 1))
        for begin, end in pairwise((priced.round_at * forest.value.shape[1]).tolist()):
            yield sums
            for j, output in zip(range(begin, end), forest.outputs_of_codes(X, np.arange(begin, end)).T, strict=True):
                sums[:, forest.score_of[j]] += output

    def _multiplied(self, sums: np.ndarray, n_done: np.ndarray) -> np.ndarray:
        if not self.task_.averaged:
            return sums
        base, multiplier = self.forest_.base, self.multipliers_[n_done][:, None]
        return np.where(multiplier == 1.0, sums, base + (sums - base) * multiplier)

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        n_done = exits + 1
        return self.task_.scores(self._multiplied(sums, n_done) + self.intercepts_.take(n_done, axis=0))

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        shape = (self._priced().n_rounds + 1, len(self.forest_.base))
        require(self.intercepts_.shape == shape, "its intercepts are not one number per score and number of rounds")
        whole = not self.intercepts_[-1].any() and self.multipliers_[-1] == 1
        require(whole, "its complete forest has an intercept or a multiplier")

    def _state_to_store(self) -> dict[str, Any]:
        return super()._state_to_store() | {"forest": Forest.from_model(self.forest)}


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
    intercepts_ : ndarray of shape (n_rounds + 1, 1)
        What is added to the sum of a row after 0, 1, ... rounds; 0 after the last.
    multipliers_ : ndarray of shape (n_rounds + 1,)
        What the outputs of trees are multiplied by after 0, 1, ... rounds; 1 unless the forest averages.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        A record of the rows that predictions under a cap are calibrated with; without rows by default.

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
    intercepts_ : ndarray of shape (n_rounds + 1, n_scores)
        What is added to the sums of a row after 0, 1, ... rounds; 0 after the last.
    multipliers_ : ndarray of shape (n_rounds + 1,)
        What the outputs of trees are multiplied by after 0, 1, ... rounds; 1 unless the forest averages.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        A record of the rows that predictions under a cap are calibrated with; without rows by default.

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

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        own = self.task_.probabilities(score)
        return super()._probabilities(score) if own is None else own

    def _n_scores(self) -> int:
        return len(self.forest_.base)  # a booster of two classes may have a score for each

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        valid = (len(self.classes_),) if len(self.classes_) > 2 else (1, 2)
        require(self._n_scores() in valid, "its forest has scores of other classes")


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
    intercepts_ : ndarray of shape (n_rounds + 1, 1)
        What is added to the sum of a document after 0, 1, ... rounds; 0 after the last.
    multipliers_ : ndarray of shape (n_rounds + 1,)
        What the outputs of trees are multiplied by after 0, 1, ... rounds; 1 unless the forest averages.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a document.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        A record of the rows that predictions under a cap are calibrated with; without rows by default.

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
