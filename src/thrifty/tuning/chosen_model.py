"""Predictions of a search: it passes all calls on to the model that it has chosen."""

from typing import Any

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from thrifty.metrics.scoring import query_metric, scorer_of
from thrifty.models.acquisition import Acquisition
from thrifty.models.outline import Outline
from thrifty.models.session import Session
from thrifty.models.tables.table_model import TableModel
from thrifty.models.training_record import Training
from thrifty.tuning.recorded_predictions import RecordedPredictions


def _chosen_has(name: str) -> Any:
    return lambda search: hasattr(getattr(search, "best_estimator_", None), name)


class ChosenModelMixin:
    """Passes predictions on to ``best_estimator_``."""

    best_estimator_: TableModel
    scoring: Any
    scoring_: Any
    error_costs_: Any

    def _chosen(self) -> TableModel:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("BudgetSearchCV was fitted with refit=False, so it has no model. Pass refit=True.")
        return self.best_estimator_

    def acquire(self, X: Any, cap: Any = None, *, qid: Any = None) -> Acquisition:
        """Acquire what each row needs, and predict.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
            Values that a row does not acquire are never read.
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend. If the search has a cap too, the smaller one holds.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        Acquisition
            With prediction, score, acquired, spend and exit of each row.
        """
        return self._chosen().acquire(X, cap, qid=qid)

    def predict(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Predict each row from the features that it acquires.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._chosen().predict(X, cap, qid=qid)

    def spend(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return what each row is charged, in the unit of the cost model.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._chosen().spend(X, cap, qid=qid)

    @available_if(_chosen_has("decision_function"))
    def decision_function(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return the log-odds of the second class, or one unnormalised log-probability per class.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n,) for two classes, otherwise (n, n_classes)
        """
        return self._chosen().decision_function(X, cap, qid=qid)

    @available_if(_chosen_has("predict_proba"))
    def predict_proba(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return class probabilities, columns in the order of ``classes_``.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        cap : float or array-like of shape (n,), optional
            Hard limit on each row's spend.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        return self._chosen().predict_proba(X, cap, qid=qid)

    def score(self, X: Any, y: Any, *, qid: Any = None) -> float:
        """Score the chosen model with the scoring of the search, or by NDCG@5 if queries are given and no scoring was.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
        y : array-like of shape (n,)
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        float
            A larger score is better.
        """
        model = self._chosen()
        if self.scoring is None and (qid is not None or query_metric(self.scoring_)):
            return model.score(X, y, qid=qid)
        predictions = RecordedPredictions(model, model.acquire(X, qid=qid))
        return scorer_of(self.scoring_, self.error_costs_)(predictions, X, np.asarray(y), qid)

    def session(self, cap: Any = None) -> Session:
        """Start the acquisition of one row whose features are fetched when the model asks for them.

        Parameters
        ----------
        cap : float, optional
            Hard limit on what the session may spend.

        Returns
        -------
        Session
        """
        return self._chosen().session(cap)

    def for_positions(self, positions: Any) -> TableModel:
        """Return the chosen model for rows at given positions. Only mixtures of models look at the position of a row.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            One for each row that will be passed, such as the numbers of rows in a table of which this is a part.

        Returns
        -------
        TableModel
        """
        return self._chosen().for_positions(positions)

    def outline(self, exits: Any = None) -> Outline:
        """Describe the chosen model: what it buys, where rows go, and what that costs.

        Parameters
        ----------
        exits : array-like of int, optional
            Where some rows ended (``acquire(X).exit``).

        Returns
        -------
        Outline
        """
        return self._chosen().outline(exits)

    @property
    def training_(self) -> Training:
        """The record of the fit of the chosen model to all rows."""
        return self._chosen().training_

    @property
    def classes_(self) -> np.ndarray:
        """The classes, if the chosen model is a classifier."""
        return self._chosen().classes_

    def _repr_html_inner(self) -> str:
        """Return scikit-learn's diagram, then the promise, the picture of the points, and the outline of the model."""
        diagram = super()._repr_html_inner()  # type: ignore[misc]
        if not hasattr(self, "frontier_"):
            return diagram
        from thrifty.plots.search_picture import search_picture  # matplotlib is not needed for a search

        picture = search_picture(self)
        if not hasattr(self, "best_estimator_"):
            return diagram + picture
        promise, outline = self.promise_._repr_html_(), self.outline()._repr_html_()  # type: ignore[attr-defined]
        return diagram + promise + picture + outline

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        return bundle | {"text/html": self._repr_html_inner()} if "text/html" in bundle else bundle
