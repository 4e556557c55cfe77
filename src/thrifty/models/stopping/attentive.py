"""Attentive prediction: evaluate the terms of a predictor for each row until its answer is evident.

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.
R. Pelossof, M. Jones, Z. Ying. Speeding-up Margin Based Learning via Stochastic Curtailment. 2010 (curved boundary).

The greedy order, the refitted checkpoints, the conformal and the certified boundary are not in the papers.

    predictors.py     terms of a predictor              checkpoints.py    where a row may stop
    predictor_fit.py  fit of the predictor              boundaries.py     formulas of the boundaries
    terms.py          values and costs of terms         conformal.py      the conformal boundary
    term_sample.py    term values of training rows      conformal_fit.py  its rows, cross-fitted or given
    order.py          order of the terms                certified.py      the certified boundary
    probabilities.py  from scores to log-odds           boundary_fit.py   the boundary of a model
    chain.py          the fitted structure              session.py        one row
    estimator.py      base of all estimators            full_predictor.py the predictor of a loaded model
    classifier.py     base of the classifiers           small_changes.py  the boundary of the regressors
    regressor.py      base of the regressors
"""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from thrifty.models.parameters import is_number, is_whole
from thrifty.models.rows import Rows
from thrifty.models.stopping.boundaries import SIDES, Boundary, boundary_ratios, stop_errors
from thrifty.models.stopping.boundary_fit import fit_boundary, plain_centre
from thrifty.models.stopping.certified import rows_needed
from thrifty.models.stopping.chain import Chain
from thrifty.models.stopping.checkpoints import checkpoint_terms
from thrifty.models.stopping.classifier import SumClassifier
from thrifty.models.stopping.estimator import finite_rows, refuse_bad_parameters
from thrifty.models.stopping.term_sample import TermSample

BOUNDARIES = ("conformal", "curved", "constant", "certified")
VARIANCES = ("measured", "independent")


class AttentiveClassifier(SumClassifier):
    """A classifier that evaluates a sum of terms for each row until its answer is evident.

    The terms are features times weights (linear models), kernels with support vectors (``SVC``), or trees (AdaBoost,
    gradient boosting, LightGBM, XGBoost, a `Forest`). They are evaluated in a fixed order, and a row stops at the first
    checkpoint where its expected full score is outside the boundary. A stop-error is a row whose answer then differs
    from the answer of the full predictor. ``delta`` is the accepted rate of stop-errors:
    P(answer of a new row differs from its answer by the full predictor) <= delta.

    Parameters
    ----------
    estimator : classifier, Forest or None, default=None
        The predictor. If it is fitted, it is used unchanged, and ``fit`` learns only the order of its terms and when to
        stop. Otherwise a clone is fitted. It may be a ``Pipeline`` with scalers before the predictor. With more than
        two classes it needs one score per class: wrap a support vector machine in ``OneVsRestClassifier``. None means
        logistic regression on standardised columns. The conformal boundary refits clones of the predictor on parts of
        the rows. A ``FrozenEstimator``, a `Forest` or a booster cannot be refitted: pass rows to ``fit`` that were not
        used to train it.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature. A linear term costs its feature, a tree the
        features that it splits on, and the first support vector all features.
    evaluation_cost : float or array-like of shape (n_terms,), default=0.0
        What evaluating a term costs in addition to its features, in the unit of the costs: one number, or one for each
        term of the predictor.
    boundary : {"conformal", "curved", "constant", "certified"} or float, default="conformal"
        When a row stops. Let s be its expected full score at a checkpoint and sigma the deviation there; see Notes.

        - "conformal": if abs(s) > z * sigma, where z is an empirical quantile of rows that the terms were not fitted
          to. The expected rate of stop-errors on new rows is at most ``delta``, for any order and any dependence of the
          terms. With fewer than 1 / delta - 1 rows, every row is evaluated in full.
        - "curved": the same with the 1 - delta quantile of the normal distribution (Pelossof, Jones and Ying). The
          rate of stop-errors is above ``delta`` if the remaining terms have heavier tails than this distribution.
        - "constant": if the score is beyond the constant threshold of Theorem 1 of Pelossof and Ying. It allows more
          stop-errors early and fewer late. It assumes independent terms.
        - "certified": as "conformal", with a z that is tested on held-out rows. With probability ``confidence``, the
          rate of stop-errors on new rows is at most ``delta``.
        - a number: if abs(s) is larger than this number.
    delta : float, default=0.01
        Accepted rate of stop-errors, at least 0 and below 1. With 0 every row is evaluated in full.
    confidence : float, default=0.95
        Probability with which the guarantee of the certified boundary holds, between 0 and 1.
    sides : {"both", "negative", "positive"}, default="both"
        Which rows may stop early: all, or only those that are answered with the first class ("negative") or with the
        second class ("positive").
    order : {"greedy", "random", "weight", "cost"} or array-like of int, default="greedy"
        Order of the terms. "greedy": repeatedly the term with the largest gain in R² of the full score per cost, given
        the terms before it. "random": a random permutation. "weight": the largest weights first. "cost": repeatedly the
        term with the largest standard deviation of (weight * value) per cost. An array lists all terms by their numbers
        in the predictor: columns, support vectors or trees.
    refit : bool, default=True
        Whether each checkpoint predicts the full score by a least-squares fit on the terms so far. False means the
        plain sum of the terms so far, with the other terms at their mean.
    block_size : int or None, default=None
        Number of terms between checkpoints. None means that it grows: each checkpoint has about 1.25 times the terms of
        the one before.
    variance : {"measured", "independent"}, default="measured"
        With ``refit=False``, how variances are estimated: on training rows, or as sums of the variances of the terms.
    calibration_fraction : float, default=0.25
        Share of the rows that is held out for the certified boundary if ``fit`` gets no calibration rows. The predictor
        must not have been fitted to these rows, so pass new rows to ``fit`` if it is fitted already.
    random_state : int, RandomState or None, default=None
        Random state of the random order and of the held-out rows.

    Attributes
    ----------
    estimator_ : classifier
        The full predictor.
    chain_ : Chain
        The terms in order, the checkpoints and the boundary.
    order_ : ndarray of int, shape (n_terms,)
        The terms in the order of evaluation, as numbered by the predictor.
    checkpoints_ : ndarray of int, shape (n_checkpoints,)
        Number of terms evaluated at each checkpoint.
    deviations_ : ndarray of shape (n_checkpoints,)
        Root mean square of (full score - expected full score) at each checkpoint.
    boundary_ : Boundary
        A row stops at checkpoint k if its score is below ``lower[k]`` or above ``upper[k]``. With more than two
        classes, the gap between the two largest scores is compared.
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
    ``acquire(X).exit`` is the number of terms evaluated; -1 for a row that cannot pay for the first checkpoint. A row
    that cannot pay for the next checkpoint is answered with what it has.

    The constant threshold tau satisfies exp(-2 tau (tau - theta) / var(S_n)) = delta (Lemma 1). Here S_n is the full
    score minus the score of a row without any known value, and theta is the position of the decision on this scale. For
    theta = 0 it is tau = sqrt(var(S_n) log(1 / sqrt(delta))) (Theorem 1).

    The conformal boundary measures for n calibration rows the critical factor a: the largest z below which the row can
    stop with a stop-error, 0 if there is none. It uses the smallest z with 1 + (number of rows with a > z) <=
    delta (n + 1). If ``fit`` gets calibration rows, then P(stop-error of a new row) <= delta holds exactly, over the
    draw of the calibration rows and of the new row. A single fit can have a larger rate; see "certified". Without
    calibration rows, each fifth of the training rows is measured with a predictor, an order and checkpoints that are
    learned from the others. The bound then holds as far as these stand for the model that is learned from all rows. If
    these rows have weights w, z is the smallest value with max(w) + (sum of w over rows with a > z) <= delta (sum of w
    + max(w)), and the new row is one that is drawn in proportion to its weight. Weights above 1 do not make more rows.

    The certified boundary tests values of z from the largest to the smallest on n held-out rows. A value with e
    stop-errors passes if P(B <= e) <= 1 - confidence for a binomial B with n trials of probability ``delta``. The last
    value before the first failure is used.

    References
    ----------
    R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2012.

    R. Pelossof, M. Jones, Z. Ying. Speeding-up Margin Based Learning via Stochastic Curtailment. ICML/COLT Budgeted
    Learning Workshop, 2010.

    A. N. Angelopoulos, S. Bates, A. Fisch, L. Lei, T. Schuster. Conformal Risk Control. 2022.

    A. N. Angelopoulos, S. Bates, E. J. Candès, M. I. Jordan, L. Lei. Learn then Test: Calibrating Predictive Algorithms
    to Achieve Risk Control. 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from thrifty import AttentiveClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AttentiveClassifier(delta=0.01).fit(X, y)
    >>> bool(model.spend(X).mean() < 0.4 * X.shape[1])
    True
    >>> bool((model.predict(X) != model.estimator_.predict(X)).mean() <= 0.01)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        costs: Any = None,
        evaluation_cost: Any = 0.0,
        boundary: Any = "conformal",
        delta: float = 0.01,
        confidence: float = 0.95,
        sides: str = "both",
        order: Any = "greedy",
        refit: bool = True,
        block_size: int | None = None,
        variance: str = "measured",
        calibration_fraction: float = 0.25,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.costs = costs
        self.evaluation_cost = evaluation_cost
        self.boundary = boundary
        self.delta = delta
        self.confidence = confidence
        self.sides = sides
        self.order = order
        self.refit = refit
        self.block_size = block_size
        self.variance = variance
        self.calibration_fraction = calibration_fraction
        self.random_state = random_state

    @classmethod
    def as_published(cls, estimator: Any = None, *, delta: float = 0.001, **parameters: Any) -> Self:
        """Return an unfitted classifier with the setting of the experiments of Pelossof and Ying (Fig. 4).

        The setting is the constant boundary on the negative side only, with the terms in random order, a decision after
        every term, and sums that are centred at the means of the terms over the positive training rows.

        Parameters
        ----------
        estimator : classifier, Forest or None, default=None
            The predictor.
        delta : float, default=0.001
            Accepted rate of stop-errors.
        **parameters
            Further parameters of the class, such as ``costs`` and ``random_state``.

        Returns
        -------
        AttentiveClassifier
        """
        published: dict[str, Any] = {"boundary": "constant", "sides": "negative", "order": "random"}
        published |= {"refit": False, "block_size": 1}
        return cls(estimator, delta=delta, **published | parameters)

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, calibration: Any = None) -> Self:
        """Fit the predictor if it is not fitted, then learn the order of its terms and when to stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
            Training rows. NaN means that a value is unavailable.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row; None means 1.
        qid : array-like of shape (n,), default=None
            The query of each row. It is checked but not used by this method.
        calibration : array-like or sparse matrix of shape (n_rows, n_features), default=None
            Rows that nothing else is learned from, the predictor included. The conformal boundary is measured and the
            certified boundary is tested on them; the curved boundary measures its deviations on them. They need no
            classes, because they are compared with the full predictor.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _refuse_bad_parameters(self)
        rows = self._validated(X, y, sample_weight, qid)
        self._targets(rows.y)
        _refuse_one_side_of_many(self)
        rows, calibration = _split(self, rows, calibration)
        fit_boundary(self, self._learn_chain(rows), rows, calibration)
        return self

    def _learn_chain(self, rows: Rows) -> TermSample:
        """Learn a chain without a boundary; return the sample of term values."""
        return self._learn(
            rows,
            ends=lambda terms: checkpoint_terms(terms.n_terms, self.block_size, terms.grain),
            centre=lambda sample: sample.means if self.refit else plain_centre(sample, self.sides),
        )

    def _ratios_and_errors(self, chain: Chain, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return |s_k| / sigma_k of rows at the checkpoints of a chain, and whether a stop there is a stop-error."""
        scores = chain.partial_scores(X)
        return boundary_ratios(chain.deviations, scores, self.sides), stop_errors(scores)

    @property
    def boundary_(self) -> Boundary:
        """The limits beyond which rows stop, for each checkpoint."""
        return self.chain_.boundary  # type: ignore[return-value]


def _split(model: AttentiveClassifier, rows: Rows, calibration: Any) -> tuple[Rows, Any]:
    """Return the rows to learn from, and the calibration rows: those given, or held-out rows to certify on."""
    if calibration is not None:
        calibration = finite_rows(model, calibration, "calibration")
    certify = model.boundary == "certified" and model.delta > 0
    if certify and calibration is None:
        n_held_out = round(model.calibration_fraction * len(rows))
        kept = check_random_state(model.random_state).permutation(len(rows)) >= n_held_out
        rows, calibration = rows.take(kept), rows.X[~kept]
    if certify:
        _refuse_too_few(model, calibration.shape[0])
    return rows, calibration


def _refuse_too_few(model: AttentiveClassifier, n_rows: int) -> None:
    needed = rows_needed(model.delta, model.confidence)
    if n_rows < needed:
        raise ValueError(
            f"{type(model).__name__}: {n_rows} calibration rows cannot certify delta={model.delta!r} with "
            f"confidence={model.confidence!r}; expected at least {needed}. Pass more rows, or increase delta."
        )


def _refuse_one_side_of_many(model: AttentiveClassifier) -> None:
    if len(model.classes_) > 2 and model.sides != "both":
        raise ValueError(
            f"{type(model).__name__}: sides is {model.sides!r}, but there are {len(model.classes_)} classes. "
            "Pass 'both'."
        )


def _refuse_bad_parameters(model: AttentiveClassifier) -> None:
    refuse_bad_parameters(model)
    known = model.boundary in BOUNDARIES if isinstance(model.boundary, str) else is_number(model.boundary, 0)
    for name, is_valid, expected in (
        ("boundary", known, f"one of {BOUNDARIES}, or a number of at least 0"),
        ("delta", is_number(model.delta, 0) and model.delta < 1, "a number of at least 0 and below 1"),
        ("confidence", _is_share(model.confidence), "a number between 0 and 1"),
        ("calibration_fraction", _is_share(model.calibration_fraction), "a number between 0 and 1"),
        ("sides", model.sides in SIDES, f"one of {SIDES}"),
        ("variance", model.variance in VARIANCES, f"one of {VARIANCES}"),
        ("variance", model.variance == "measured" or not model.refit, "'measured' if refit is True"),
        ("block_size", model.block_size is None or is_whole(model.block_size, 1), "a whole number above 0, or None"),
    ):
        model._refuse_unless(is_valid, name, getattr(model, name), expected)


def _is_share(value: Any) -> bool:
    return is_number(value) and 0 < value < 1
