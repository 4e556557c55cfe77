"""The budgeted baseline of Pelossof and Ying: the same number of terms for every row (their Algorithm 2)."""

from numbers import Integral
from typing import Any, Self

from thrifty.models.parameters import is_number, is_whole
from thrifty.models.stopping.checkpoints import checkpoint_terms
from thrifty.models.stopping.estimator import SumClassifier
from thrifty.models.stopping.terms import Terms


class TruncatedClassifier(SumClassifier):
    """A classifier that is a sum of terms, of which only the first so many are evaluated, for every row the same.

    Parameters
    ----------
    estimator : classifier, Forest or None
        The predictor, as in `AttentiveClassifier`.
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    evaluation_cost : float or array-like, default=0
        What evaluating a term costs beside its features, in the same unit: one number, or one for each term.
    n_terms : int, float or None
        How many terms to evaluate, or, if below 1, what share of them; None evaluates all.
    order : {"greedy", "random", "weight", "cost"} or array of int, default="greedy"
        Which terms come first.
    refit : bool, default=True
        Whether the terms get least-squares weights for what the full score would be, or are left as they are.
    random_state : int, RandomState or None
        Decides the random order.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        The full predictor.
    order_ : ndarray of int
        The terms in the order in which they are evaluated.
    checkpoints_ : ndarray of int
        Numbers of terms that a capped row can be answered with.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from thrifty import TruncatedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = TruncatedClassifier(n_terms=6).fit(X, y)
    >>> float(model.spend(X).max())
    6.0
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        costs: Any = None,
        evaluation_cost: Any = 0.0,
        n_terms: Any = None,
        order: Any = "greedy",
        refit: bool = True,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.costs = costs
        self.evaluation_cost = evaluation_cost
        self.n_terms = n_terms
        self.order = order
        self.refit = refit
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit the predictor if it is not, and learn which of its terms to evaluate and how to weigh them.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        self._refuse_bad_parameters()
        rows = self._validated(X, y, sample_weight, qid)
        self._learn(rows.X, rows.y, self._targets(rows.y), rows.weight)
        return self

    def _ends(self, terms: Terms) -> list[int]:
        wanted = terms.n_terms if self.n_terms is None else self.n_terms
        if not isinstance(wanted, Integral):
            wanted = max(1, round(wanted * terms.n_terms))
        return checkpoint_terms(min(int(wanted), terms.n_terms), None, terms.grain)

    def _refuse_bad_parameters(self) -> None:
        super()._refuse_bad_parameters()
        fine = self.n_terms is None or is_whole(self.n_terms, 1) or (is_number(self.n_terms) and 0 < self.n_terms < 1)
        self._require(fine, "n_terms", "a whole number, a share between 0 and 1, or None")
