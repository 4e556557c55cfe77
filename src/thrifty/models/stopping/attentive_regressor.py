"""Attentive regression: evaluate the terms of a predictor for each row until its value is close to the full sum.

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012. The paper has classifiers only; a regressor stops
when the remaining terms are unlikely to change the value by more than a tolerance, instead of its sign.
"""

from typing import Any, Self

import numpy as np

from thrifty.models.parameters import is_number, is_whole
from thrifty.models.rows import Rows
from thrifty.models.stopping.chain import Chain
from thrifty.models.stopping.checkpoints import checkpoint_terms
from thrifty.models.stopping.conformal_fit import fit_conformal_factor
from thrifty.models.stopping.estimator import finite_rows, refuse_bad_parameters
from thrifty.models.stopping.regressor import SumRegressor
from thrifty.models.stopping.small_changes import SmallChanges, changes, fit_squares
from thrifty.models.stopping.term_sample import evenly_spaced
from thrifty.stored import Array, Number, stored

DEFAULT_SHARE = 0.1  # tolerance, as a share of the standard deviation of y
ENOUGH_ROWS = 4096  # more rows would not make the expected sizes of errors much more precise


@stored(tolerance_=Number(0, finite=True), squares_=Array("float64", "n_checkpoints", 2, low=0, finite=True))
class AttentiveRegressor(SumRegressor):
    """A regressor that evaluates a sum of terms for each row until its value is close to the full sum.

    The terms are features times weights (linear models), kernels with training rows (``SVR``, ``KernelRidge``), or
    trees (gradient boosting, random forests, LightGBM, XGBoost, a `Forest`). They are evaluated in a fixed order. At
    each checkpoint the full sum is predicted from the terms so far. A row stops if this value has changed little since
    the checkpoint before, so little that P(abs(value of a new row - its full sum) > tolerance) <= delta.

    Parameters
    ----------
    estimator : regressor, Forest or None, default=None
        The predictor. If it is fitted, it is used unchanged, and ``fit`` learns only the order of its terms and when to
        stop. Otherwise a clone is fitted. It may be a ``Pipeline`` with scalers before the predictor. None means ridge
        regression on standardised columns. Clones of the predictor are refitted on parts of the rows to learn when to
        stop. A ``FrozenEstimator``, a `Forest` or a booster cannot be refitted: pass rows to ``fit`` that were not used
        to train it.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature. A linear term costs its feature, a tree the
        features that it splits on, and the first kernel term all features.
    evaluation_cost : float or array-like of shape (n_terms,), default=0.0
        What evaluating a term costs in addition to its features, in the unit of the costs: one number, or one for each
        term of the predictor.
    tolerance : float or None, default=None
        How much the value may differ from the full sum, in the unit of y. With 0 every row is evaluated in full. None
        means a tenth of the standard deviation of y.
    delta : float, default=0.01
        Accepted rate of rows whose value differs by more than the tolerance, at least 0 and below 1. With 0, or with
        fewer than 1 / delta - 1 rows, every row is evaluated in full.
    order : {"greedy", "random", "weight", "cost"} or array-like of int, default="greedy"
        Order of the terms. "greedy": repeatedly the term with the largest gain in R² of the full score per cost, given
        the terms before it. "random": a random permutation. "weight": the largest weights first. "cost": repeatedly the
        term with the largest standard deviation of (weight * value) per cost. An array lists all terms by their numbers
        in the predictor: columns, training rows or trees.
    refit : bool, default=True
        Whether each checkpoint predicts the full sum by a least-squares fit on the terms so far. False means the plain
        sum of the terms so far, with the other terms at their mean.
    block_size : int or None, default=None
        Number of terms between checkpoints. None means that it grows: each checkpoint has about 1.25 times the terms of
        the one before.
    random_state : int, RandomState or None, default=None
        Random state of the random order.

    Attributes
    ----------
    estimator_ : regressor
        The full predictor.
    tolerance_ : float
        The tolerance in the unit of y.
    chain_ : Chain
        The terms in order, the checkpoints and the boundary.
    order_ : ndarray of int, shape (n_terms,)
        The terms in the order of evaluation, as numbered by the predictor.
    checkpoints_ : ndarray of int, shape (n_checkpoints,)
        Number of terms evaluated at each checkpoint.
    deviations_ : ndarray of shape (n_checkpoints,)
        Root mean square of (full sum - expected full sum) at each checkpoint.
    squares_ : ndarray of shape (n_checkpoints, 2)
        a and b of the expected squared error at each checkpoint; see Notes.
    boundary_ : SmallChanges
        A row stops at checkpoint k if its value has changed by less than ``limits[k]`` since the checkpoint before.
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
    ``acquire(X).exit`` is the number of terms evaluated; -1 for a row that cannot pay for the first checkpoint. A row
    that cannot pay for the next checkpoint is answered with what it has.

    Let d be the change of the value since the checkpoint before. The expected squared error there is a + b d², with a
    and b of at least 0 fitted to training rows. A row stops if tolerance / sqrt(a + b d²) is above a factor c. The
    critical factor of a row is the largest c below which it can stop with an error above the tolerance, and c is the
    smallest number with 1 + (number of rows with a larger critical factor) <= delta (n + 1), for n calibration rows.
    The bound is then exact, over the draw of the calibration rows and of the new row. Without calibration rows, each
    fifth of the training rows is measured with a predictor, an order and checkpoints that are learned from the others.
    If these rows have weights w, c is the smallest number with max(w) + (sum of w over rows with a larger critical
    factor) <= delta (sum of w + max(w)). Weights above 1 do not make more rows.

    References
    ----------
    R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.

    A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal Risk Control. 2022.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from thrifty import AttentiveRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AttentiveRegressor(tolerance=20.0, delta=0.05).fit(X, y)
    >>> bool(model.spend(X).mean() < 0.7 * X.shape[1])
    True
    >>> bool((abs(model.predict(X) - model.estimator_.predict(X)) > 20.0).mean() <= 0.05)
    True
    """

    _summary = (
        "All rows evaluate the same terms in the same order; a row stops when its value is close to the full sum."
    )

    def __init__(
        self,
        estimator: Any = None,
        *,
        costs: Any = None,
        evaluation_cost: Any = 0.0,
        tolerance: float | None = None,
        delta: float = 0.01,
        order: Any = "greedy",
        refit: bool = True,
        block_size: int | None = None,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.costs = costs
        self.evaluation_cost = evaluation_cost
        self.tolerance = tolerance
        self.delta = delta
        self.order = order
        self.refit = refit
        self.block_size = block_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, calibration: Any = None) -> Self:
        """Fit the predictor if it is not fitted, then learn the order of its terms and when to stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Training rows. NaN means that a value is unavailable.
        y : array-like of shape (n,)
            Numbers to predict.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row; None means 1.
        qid : array-like of shape (n,), default=None
            The query of each row. Rows of the same query are held out together in cross-fitting.
        calibration : array-like or sparse matrix of shape (n_rows, n_features), default=None
            Rows that nothing else is learned from, the predictor included. The boundary is measured on them. They need
            no y, because they are compared with the full predictor.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _refuse_bad_parameters(self)
        rows = self._validated(X, y, sample_weight, qid)
        if calibration is not None:
            calibration = finite_rows(self, calibration, "calibration")
        self.tolerance_ = _tolerance(self.tolerance, self._targets(rows.y)[:, 0], rows.weight)
        self._learn_chain(rows)
        if self.delta > 0 and self.tolerance_ > 0:
            factor = fit_conformal_factor(self, rows, calibration)
            error_size = self.tolerance_ / factor if factor > 0 else np.inf
            self.chain_.boundary = SmallChanges.below(error_size, self.squares_)
        return self

    def _learn_chain(self, rows: Rows) -> None:
        """Learn a chain that stops no row early, and the expected errors at its checkpoints."""
        self._learn(
            rows,
            ends=lambda terms: checkpoint_terms(terms.n_terms, self.block_size, terms.grain),
            centre=lambda sample: sample.means,
        )
        chain = self.chain_
        chain.boundary = SmallChanges(np.zeros(len(chain.checkpoints)))
        some = evenly_spaced(len(rows), ENOUGH_ROWS)
        scores = chain.partial_scores(rows.X[some])[..., 0]
        self.squares_ = fit_squares(scores, float(chain.prior[0]), rows.weight[some])

    def _ratios_and_errors(self, chain: Chain, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return tolerance / u_k of rows at the checkpoints of a chain, and whether a stop there is an error."""
        scores = chain.partial_scores(X)[..., 0]
        squares = self.squares_[:, 0] + self.squares_[:, 1] * changes(scores, float(chain.prior[0])) ** 2
        with np.errstate(over="ignore"):  # an expected error may be 0
            ratios = self.tolerance_ / np.maximum(np.sqrt(squares), np.finfo(float).tiny)
        ratios[:, -1] = np.inf
        return ratios, np.abs(scores - scores[:, -1:]) > self.tolerance_

    @property
    def boundary_(self) -> SmallChanges:
        """The changes of the value below which rows stop, for each checkpoint."""
        return self.chain_.boundary  # type: ignore[return-value]


def _tolerance(tolerance: float | None, y: np.ndarray, weight: np.ndarray) -> float:
    """Return the tolerance in the unit of y."""
    if tolerance is not None:
        return float(tolerance)
    mean = np.average(y, weights=weight)
    return DEFAULT_SHARE * float(np.sqrt(np.average((y - mean) ** 2, weights=weight)))


def _refuse_bad_parameters(model: AttentiveRegressor) -> None:
    refuse_bad_parameters(model)
    for name, is_valid, expected in (
        ("tolerance", model.tolerance is None or is_number(model.tolerance, 0), "a number of at least 0, or None"),
        ("delta", is_number(model.delta, 0) and model.delta < 1, "a number of at least 0 and below 1"),
        ("block_size", model.block_size is None or is_whole(model.block_size, 1), "a whole number above 0, or None"),
    ):
        model._refuse_unless(is_valid, name, getattr(model, name), expected)
