"""Base of the classifiers that evaluate a sum of terms."""

import numpy as np

from thrifty.models.forests.converters import is_fitted
from thrifty.models.rows import Rows
from thrifty.models.stopping.estimator import SumEstimator
from thrifty.models.stopping.folds import folds_by_group
from thrifty.models.stopping.predictor_fit import CLASSIFIERS
from thrifty.models.stopping.probabilities import ENOUGH_ROWS, are_log_odds, best_slope
from thrifty.models.stopping.term_sample import dense, evenly_spaced
from thrifty.models.stopping.terms import Terms
from thrifty.models.task_bases import BudgetedClassifier
from thrifty.stored import Number, stored


@stored(slope_=Number(finite=True))
class SumClassifier(SumEstimator, BudgetedClassifier):
    """A wrapped classifier whose terms are evaluated in a fixed order.

    Attributes
    ----------
    slope_ : float
        Factor that converts scores to log-odds.
    """

    _supported = CLASSIFIERS

    def _targets(self, y: np.ndarray) -> np.ndarray:
        """Set `classes_` to the classes of a fitted predictor, or to those of y, and return the targets."""
        targets = super()._targets(y)
        if self.estimator is None or not is_fitted(self.estimator) or not hasattr(self.estimator, "classes_"):
            return targets
        known = np.asarray(self.estimator.classes_)
        if unknown := np.setdiff1d(self.classes_, known).tolist():
            raise ValueError(
                f"{type(self).__name__}: y has class {unknown[0]!r}, but estimator was fitted on the classes "
                f"{known.tolist()}. Pass rows of these classes."
            )
        self.classes_ = known
        return self._encoded(y)

    def _read_scores(self, terms: Terms, rows: Rows) -> None:
        """Find the slope that converts full scores to log-odds."""
        index = evenly_spaced(rows.X.shape[0], ENOUGH_ROWS)
        X = rows.X[index]
        scores = terms.scores(terms.values(dense(X)))
        is_slope_1 = are_log_odds(self.estimator_, X, scores)
        self.slope_ = 1.0 if is_slope_1 else best_slope(scores, rows.y[index], rows.weight[index])

    def _folds(self, rows: Rows, n_folds: int) -> np.ndarray:
        """Return the fold of each row; every class is spread over the folds."""
        return folds_by_group(rows.y, n_folds)

    def _log_odds(self, score: np.ndarray) -> np.ndarray:
        """Return the log-odds of scores, which may be margins."""
        return self.slope_ * score
