"""The full predictor of a loaded model: its terms, which are all that a model file holds of the predictor."""

from typing import Any

import numpy as np

from thrifty.models.base import drop_single_column
from thrifty.models.rebuilt import Rebuilt
from thrifty.models.soundness import require
from thrifty.models.stopping.soundness import refuse_unsound_terms
from thrifty.models.stopping.term_sample import dense
from thrifty.models.stopping.terms import Terms
from thrifty.stored import Labels, OrNone, Structure, stored


@stored(terms=Structure(Terms), classes_=OrNone(Labels("n_classes")))
class FullPredictor(Rebuilt):
    """A sum of terms with the methods of a scikit-learn predictor.

    Parameters
    ----------
    terms : Terms
        All terms.
    classes_ : ndarray of shape (n_classes,), or None
        The classes; None for a regressor.

    Attributes
    ----------
    n_features_in_ : int
        Number of columns of X.
    """

    _made_of = ("terms", "classes_")

    def __init__(self, terms: Terms, classes_: np.ndarray | None = None):
        refuse_unsound_terms(terms, terms.n_features)
        n_scores = 1 if classes_ is None or len(classes_) == 2 else len(classes_)
        require(len(terms.weights) == n_scores, "a predictor has scores of other classes")
        self.terms, self.classes_, self.n_features_in_ = terms, classes_, terms.n_features

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the full scores of rows: (n,) if there is one score, otherwise (n, n_scores)."""
        rows = np.asarray(dense(X))
        if rows.ndim != 2 or rows.shape[1] != self.n_features_in_:
            raise ValueError(f"FullPredictor: X has shape {rows.shape}; expected (n, {self.n_features_in_}).")
        return drop_single_column(self.terms.scores(self.terms.values(rows)))

    def predict(self, X: Any) -> np.ndarray:
        """Return the class, or the number, of each row (n,)."""
        scores = self.decision_function(X)
        if self.classes_ is None:
            return scores
        return self.classes_[(scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)]

    def __sklearn_clone__(self) -> "FullPredictor":
        return self
