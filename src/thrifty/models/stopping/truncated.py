"""The baseline of Pelossof and Ying (2012): the same number of terms for every row (their Algorithm 2)."""

from numbers import Integral
from typing import Any, Self

from thrifty.models.parameters import is_number, is_whole
from thrifty.models.stopping.checkpoints import checkpoint_terms
from thrifty.models.stopping.classifier import SumClassifier
from thrifty.models.stopping.estimator import SumEstimator, refuse_bad_parameters
from thrifty.models.stopping.regressor import SumRegressor
from thrifty.models.stopping.terms import Terms


class TruncatedEstimator(SumEstimator):
    """An estimator that evaluates the same first terms of a sum for every row."""

    _summary = "All rows evaluate the same terms in the same order, and equally many of them."

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
        """Fit the predictor if it is not fitted, then learn the order and the weights of its terms.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Training rows. NaN means that a value is unavailable.
        y : array-like of shape (n,)
            Classes, or numbers to predict.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row; None means 1.
        qid : array-like of shape (n,), default=None
            The query of each row. It is checked but not used by this method.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        refuse_bad_parameters(self)
        is_share = is_number(self.n_terms) and 0 < self.n_terms < 1
        is_valid = self.n_terms is None or is_whole(self.n_terms, 1) or is_share
        self._refuse_unless(is_valid, "n_terms", self.n_terms, "a whole number above 0, a share below 1, or None")
        rows = self._validated(X, y, sample_weight, qid)
        self._targets(rows.y)
        self._learn(rows, ends=lambda terms: _ends(terms, self.n_terms), centre=lambda sample: sample.means)
        return self


class TruncatedClassifier(TruncatedEstimator, SumClassifier):
    """A classifier that evaluates the same first terms of a sum for every row.

    The terms are features times weights (linear models), kernels with support vectors (``SVC``), or trees (AdaBoost,
    gradient boosting, LightGBM, XGBoost, a `Forest`). `AttentiveClassifier` decides the number of terms for each row
    instead.

    Parameters
    ----------
    estimator : classifier, Forest or None, default=None
        The predictor. If it is fitted, it is used unchanged, and ``fit`` learns only the order and the weights of its
        terms. Otherwise a clone is fitted. It may be a ``Pipeline`` with scalers before the predictor. With more than
        two classes it needs one score per class: wrap a support vector machine in ``OneVsRestClassifier``. None means
        logistic regression on standardised columns.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature. A linear term costs its feature, a tree the
        features that it splits on, and the first support vector all features.
    evaluation_cost : float or array-like of shape (n_terms,), default=0.0
        What evaluating a term costs in addition to its features, in the unit of the costs: one number, or one for each
        term of the predictor.
    n_terms : int, float or None, default=None
        Number of terms to evaluate, or, if it is below 1, their share. None means all terms.
    order : {"greedy", "random", "weight", "cost"} or array-like of int, default="greedy"
        Order of the terms. "greedy": repeatedly the term with the largest gain in R² of the full score per cost, given
        the terms before it. "random": a random permutation. "weight": the largest weights first. "cost": repeatedly the
        term with the largest standard deviation of (weight * value) per cost. An array lists all terms by their numbers
        in the predictor: columns, support vectors or trees.
    refit : bool, default=True
        Whether the full score is predicted by a least-squares fit on the terms evaluated. False means the plain sum of
        the terms, with the other terms at their mean.
    random_state : int, RandomState or None, default=None
        Random state of the random order.

    Attributes
    ----------
    estimator_ : classifier
        The full predictor.
    chain_ : Chain
        The terms in order, and the checkpoints.
    order_ : ndarray of int, shape (n_terms,)
        The terms in the order of evaluation, as numbered by the predictor.
    checkpoints_ : ndarray of int, shape (n_checkpoints,)
        Numbers of terms that a row with a cap can be answered with.
    deviations_ : ndarray of shape (n_checkpoints,)
        Root mean square of (full score - expected full score) at each checkpoint.
    slope_ : float
        Factor that converts scores to log-odds.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    classes_ : ndarray of shape (n_classes,)
        The classes in the order of the columns of ``predict_proba``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    Notes
    -----
    ``acquire(X).exit`` is the number of terms evaluated; -1 for a row that cannot pay for the first checkpoint.

    References
    ----------
    R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.

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


class TruncatedRegressor(TruncatedEstimator, SumRegressor):
    """A regressor that evaluates the same first terms of a sum for every row.

    The terms are features times weights (linear models), kernels with training rows (``SVR``, ``KernelRidge``), or
    trees (gradient boosting, random forests, LightGBM, XGBoost, a `Forest`). `AttentiveRegressor` decides the number of
    terms for each row instead.

    Parameters
    ----------
    estimator : regressor, Forest or None, default=None
        The predictor. If it is fitted, it is used unchanged, and ``fit`` learns only the order and the weights of its
        terms. Otherwise a clone is fitted. It may be a ``Pipeline`` with scalers before the predictor. None means
        ridge regression on standardised columns.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature. A linear term costs its feature, a tree the
        features that it splits on, and the first kernel term all features.
    evaluation_cost : float or array-like of shape (n_terms,), default=0.0
        What evaluating a term costs in addition to its features, in the unit of the costs: one number, or one for each
        term of the predictor.
    n_terms : int, float or None, default=None
        Number of terms to evaluate, or, if it is below 1, their share. None means all terms.
    order : {"greedy", "random", "weight", "cost"} or array-like of int, default="greedy"
        Order of the terms. "greedy": repeatedly the term with the largest gain in R² of the full score per cost, given
        the terms before it. "random": a random permutation. "weight": the largest weights first. "cost": repeatedly the
        term with the largest standard deviation of (weight * value) per cost. An array lists all terms by their numbers
        in the predictor: columns, support vectors or trees.
    refit : bool, default=True
        Whether the full score is predicted by a least-squares fit on the terms evaluated. False means the plain sum of
        the terms, with the other terms at their mean.
    random_state : int, RandomState or None, default=None
        Random state of the random order.

    Attributes
    ----------
    estimator_ : regressor
        The full predictor.
    chain_ : Chain
        The terms in order, and the checkpoints.
    order_ : ndarray of int, shape (n_terms,)
        The terms in the order of evaluation, as numbered by the predictor.
    checkpoints_ : ndarray of int, shape (n_checkpoints,)
        Numbers of terms that a row with a cap can be answered with.
    deviations_ : ndarray of shape (n_checkpoints,)
        Root mean square of (full score - expected full score) at each checkpoint.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    Notes
    -----
    ``acquire(X).exit`` is the number of terms evaluated; -1 for a row that cannot pay for the first checkpoint.

    References
    ----------
    R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from thrifty import TruncatedRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = TruncatedRegressor(n_terms=5).fit(X, y)
    >>> float(model.spend(X).max())
    5.0
    >>> model.score(X, y) > 0.45
    True
    """


def _ends(terms: Terms, n_terms: Any) -> list[int]:
    """Return the numbers of terms at the checkpoints, up to `n_terms`."""
    wanted = terms.n_terms if n_terms is None else n_terms
    if not isinstance(wanted, Integral):
        wanted = max(1, round(wanted * terms.n_terms))
    return checkpoint_terms(min(int(wanted), terms.n_terms), None, terms.grain)
