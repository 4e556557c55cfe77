"""Base classes of estimators for each task: classification, regression and ranking."""

from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import accuracy_score, r2_score

from thrifty.metrics.scoring import scorer_of
from thrifty.models.base import BudgetedEstimator
from thrifty.models.homes import Home, collections, is_collection
from thrifty.models.rows import ClassEncoder, Encoder, Rows, distinct_classes
from thrifty.models.soundness import require
from thrifty.stored import Labels, stored

SIGNS = np.array([-1, 1], dtype=np.int8)  # of the score of two classes


class BudgetedRegressor(RegressorMixin, BudgetedEstimator):
    """Base of regressors: the score is the prediction."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """Return R², or the mean NDCG@5 of the queries if queries are given.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Targets, or the relevance of each document.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in R².
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        float
        """
        if qid is not None:
            return mean_ndcg(self, X, y, qid)
        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))


@stored(classes_=Labels("n_classes"))
class BudgetedClassifier(ClassifierMixin, BudgetedEstimator):
    """Base of classifiers: scores are log-odds, one for two classes, otherwise one per class.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in the order of the columns of ``predict_proba``.
    """

    classes_: np.ndarray

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """Return the accuracy, or the mean NDCG@5 of the queries if queries are given.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Classes. With queries there must be two: rows of the second class are relevant, and rows are ranked by
            ``decision_function``.
        sample_weight : array-like of shape (n,), optional
            Weight of each row in the accuracy.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        float
        """
        if qid is not None:
            return mean_ndcg(self, X, self._relevance(y), qid)
        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))

    def _relevance(self, y: Any) -> np.ndarray:
        """Return 1 for rows of the second of two classes and 0 for the others, to score a ranking."""
        if len(self.classes_) > 2:
            raise ValueError(
                f"{type(self).__name__}: score with qid ranks two classes, but there are {len(self.classes_)}. "
                "Leave qid out, or use a regressor of the relevance."
            )
        return (np.asarray(y) == self.classes_[1]).astype(int)

    def decision_function(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return the log-odds of the second class, or one unnormalised log-probability per class.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,) for two classes, otherwise (n, n_classes)
        """
        return self.acquire(X, cap, qid=qid).score

    def predict_proba(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return class probabilities, columns in the order of ``classes_``.

        With the scores s of ``decision_function``, the probability of the second of two classes is
        1 / (1 + exp(-s)). With more classes, that of class k is exp(s_k) / sum over classes j of exp(s_j).

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        if is_collection(X):
            return collections().probabilities(self, X, cap, qid)
        return self._probabilities(self.decision_function(X, cap, qid=qid))

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(len(self.classes_) > 1, "it has fewer than two classes")

    def _probabilities(self, score: np.ndarray) -> np.ndarray:
        """Return the probabilities (n, n_classes) that scores stand for."""
        log_odds = self._log_odds(score)
        if log_odds.ndim == 1:
            return expit(log_odds[:, None] * SIGNS)
        return softmax(log_odds, axis=1)

    def _log_odds(self, score: np.ndarray) -> np.ndarray:
        """Return scores as log-odds; those of most models are log-odds already."""
        return score

    def _answer(self, score: np.ndarray) -> np.ndarray:
        winner = (score > 0).astype(int) if score.ndim == 1 else score.argmax(axis=1)
        return self.classes_[winner]

    def _n_scores(self) -> int:
        return 1 if len(self.classes_) == 2 else len(self.classes_)

    def _encoder(self, rows: Home[Rows]) -> Encoder:
        """Set `classes_` and return the encoder: one column of +-1 for two classes, otherwise one-hot columns."""
        classes = np.unique(np.concatenate(rows.collect(distinct_classes)))
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in y, "
                f"got one class: {classes.tolist()[0]!r}."
            )
        self.classes_ = classes
        return ClassEncoder(classes)

    def _encoded(self, y: np.ndarray) -> np.ndarray:
        return ClassEncoder(self.classes_)(y)


class BudgetedRanker(BudgetedEstimator):
    """Base of rankers: the documents of a query are ordered by their score, the largest first."""

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """Return the mean NDCG@5 of the queries.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Relevance of each document, 0 if it is irrelevant.
        sample_weight : None
            Not used. It is here because scikit-learn passes it.
        qid : array-like of shape (n,), optional
            The query of each document. By default all documents belong to one query.

        Returns
        -------
        float
        """
        return mean_ndcg(self, X, y, np.zeros(len(y), dtype=int) if qid is None else qid)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        tags.target_tags.required = True
        return tags


def mean_ndcg(model: Any, X: Any, y: Any, qid: Any) -> float:
    """Return the mean NDCG@5 of the queries, documents ranked by the model's scores."""
    return scorer_of("ndcg@5")(model, X, y, qid)
