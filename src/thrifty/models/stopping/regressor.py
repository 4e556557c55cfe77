"""Base of the regressors that evaluate a sum of terms."""

import numpy as np

from thrifty.models.magnitudes import refuse_extreme
from thrifty.models.rows import Rows
from thrifty.models.stopping.estimator import SumEstimator
from thrifty.models.stopping.predictor_fit import REGRESSORS
from thrifty.models.stopping.term_sample import dense, evenly_spaced
from thrifty.models.stopping.terms import Terms
from thrifty.models.task_bases import BudgetedRegressor

ENOUGH_ROWS = 256
MAX_DIFFERENCE = 1e-3  # of predictions, in standard deviations; some libraries predict in single precision


class SumRegressor(SumEstimator, BudgetedRegressor):
    """A wrapped regressor whose terms are evaluated in a fixed order; its prediction is their sum."""

    _supported = REGRESSORS

    def _read_scores(self, terms: Terms, rows: Rows) -> None:
        """Refuse a predictor that does not predict the sum of its terms, such as a Poisson regression."""
        X = rows.X[evenly_spaced(rows.X.shape[0], ENOUGH_ROWS)]
        sums = terms.scores(terms.values(dense(X)))[:, 0]
        refuse_extreme(sums, "a prediction of estimator", type(self).__name__)
        if not hasattr(self.estimator_, "predict"):
            return
        limit = MAX_DIFFERENCE * max(np.std(rows.y), np.std(sums)) + MAX_DIFFERENCE * np.abs(sums)
        if (np.abs(np.ravel(self.estimator_.predict(X)) - sums) > limit).any():
            raise ValueError(
                f"{type(self).__name__}: estimator is {self.estimator_!r}, whose predictions are not the sum of its "
                f"terms. Pass {REGRESSORS.names}."
            )

    def _folds(self, rows: Rows, n_folds: int) -> np.ndarray:
        """Return the fold of each row; rows of the same query are in the same fold."""
        group = np.arange(len(rows)) if rows.qid is None else np.unique(rows.qid, return_inverse=True)[1]
        return group % n_folds
