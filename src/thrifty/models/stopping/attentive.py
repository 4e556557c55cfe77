"""Attentive prediction: evaluate the terms of a predictor until the outcome is evident.

R. Pelossof, Z. Ying. Focus of Attention for Linear Predictors. 2010; with R. Pelossof, M. Jones, Z. Ying. Speeding-up
Margin Based Learning via Stochastic Curtailment. 2010 (the curved boundary).

Beyond the papers: a greedy order, estimates of the full score refitted at every checkpoint, and a certified boundary.
"""

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from thrifty.models.parameters import is_number, is_whole
from thrifty.models.stopping.boundaries import (
    SIDES,
    Boundary,
    constant_boundary,
    curtailing_factor,
    curved_boundary,
)
from thrifty.models.stopping.certified import certified_factor, rows_needed
from thrifty.models.stopping.checkpoints import checkpoint_terms, spread
from thrifty.models.stopping.curves import errs, ratios_to
from thrifty.models.stopping.estimator import SumClassifier
from thrifty.models.stopping.sample import Sample
from thrifty.models.stopping.terms import Terms

BOUNDARIES = ("constant", "curved", "certified")
VARIANCES = ("measured", "independent")


class AttentiveClassifier(SumClassifier):
    """A classifier that is a sum of terms, evaluated for each row until its outcome is evident.

    Terms are features times weights (linear models), kernels with support vectors (``SVC``), or trees (AdaBoost,
    gradient boosting, LightGBM, XGBoost, a `Forest`). A stopped row may be answered unlike the full predictor would
    answer it; how often is up to ``delta``.

    Parameters
    ----------
    estimator : classifier, Forest or None
        The predictor. A fitted one is used as it is, and ``fit`` learns from its rows only when to stop; of any other
        a clone is fitted. Scalers may stand before it in a ``Pipeline``. None stands for logistic regression on
        standardised columns. Several classes need one score each: a support vector machine has to be wrapped in
        ``OneVsRestClassifier``.
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each. Linear terms cost their feature, trees what
        they split on, the first support vector all features.
    evaluation_cost : float or array-like, default=0
        What evaluating a term costs beside its features, in the same unit: one number, or one for each term.
    boundary : {"curved", "constant", "certified"} or float, default="curved"
        When a row is decided. "curved": given the terms so far, another outcome has probability ``delta``.
        "constant": the boundary of Theorem 1, which spends errors early. "certified": with probability
        ``confidence``, new rows are answered unlike the full predictor at a rate of at most ``delta``, whatever the
        order and the dependence of the terms. A number: the distance of the score from the decision.
    delta : float, default=0.01
        Rate of stop-errors, at least 0 and below 1; with 0 every row is evaluated in full.
    confidence : float, default=0.95
        Of the certified boundary.
    sides : {"both", "negative", "positive"}, default="both"
        Whom to stop early: rows of either class, or only those that turn out negative, or positive.
    order : {"greedy", "random", "weight", "cost"} or array of int, default="greedy"
        Which terms come first: those that explain most of the full score per cost, beside the ones before them; any;
        those of the largest weights; those that vary most in the score per cost; or as listed by the predictor's own
        numbers (columns, support vectors, trees).
    refit : bool, default=True
        Whether each checkpoint has least-squares weights of its own for what the full score will be, or the plain sum.
    block_size : int or None
        How many terms lie between checkpoints; None lets the distance grow by a quarter each time.
    variance : {"measured", "independent"}, default="measured"
        With ``refit=False``, how the variance of what is to come is estimated: from rows, or as the sum of the
        variances of the terms.
    calibration_fraction : float, default=0.25
        Share of the rows that the certified boundary holds out if ``fit`` gets no calibration rows. What was fitted
        before must not have seen them: with a fitted predictor, pass rows that are new to it.
    random_state : int, RandomState or None
        Decides the random order and which rows are held out.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimator_ : classifier
        The full predictor.
    order_ : ndarray of int
        The terms in the order in which they are evaluated.
    checkpoints_ : ndarray of int
        How many terms have been evaluated where a row may stop.
    deviations_ : ndarray of float
        How far, there, the full score is from what is expected of it.
    boundary_ : Boundary
        A row stops where its score is below ``lower`` or above ``upper``; of several classes, the gap between the
        best two.

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
        boundary: Any = "curved",
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, calibration: Any = None) -> Self:
        """Fit the predictor if it is not, and learn in which order to evaluate its terms and when to stop.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        calibration : array-like or sparse matrix of shape (n_rows, n_features), optional
            Rows that nothing else is learnt from, to measure deviations or certify the boundary on. They need no
            labels, for what counts is whether the full predictor would agree.
        """
        self._refuse_bad_parameters()
        rows = self._validated(X, y, sample_weight, qid)
        X, y, count, targets = rows.X, rows.y, rows.weight, self._targets(rows.y)
        self._refuse_one_side_of_many()
        kept, calibration = self._divide(X, calibration)
        sample = self._learn(X[kept], y[kept], targets[kept], count[kept])
        self.chain_.boundary = self._boundary(sample, calibration).on(self.sides)
        return self

    def _divide(self, X: Any, calibration: Any) -> tuple[Any, Any]:
        """Return which rows to learn from, and the rows to calibrate on: those given, or some held out to certify."""
        kept: Any = slice(None)
        certify = isinstance(self.boundary, str) and self.boundary == "certified" and self.delta > 0
        if calibration is not None:
            calibration = self._checked(calibration)
        elif certify:
            n_held_out = round(self.calibration_fraction * X.shape[0])
            kept = check_random_state(self.random_state).permutation(X.shape[0]) >= n_held_out
            calibration = X[~kept]
        if certify:
            self._refuse_too_few(calibration.shape[0])
        return kept, calibration

    @property
    def boundary_(self) -> Boundary:
        """The limits beyond which rows stop, one each for every checkpoint."""
        return self.chain_.boundary

    # Where to stop

    def _boundary(self, sample: Sample, calibration: Any) -> Boundary:
        chain, n_rivals = self.chain_, max(len(sample.intercept) - 1, 1)
        if is_number(self.boundary):
            return Boundary.around(-self.boundary, self.boundary, len(chain.checkpoints))
        if self.delta == 0:
            return chain.boundary
        if self.boundary == "certified":
            return curved_boundary(self.deviations_, self._certified_factor(calibration))
        if self.boundary == "constant":
            start = float(chain.prior[0]) if len(chain.prior) == 1 else 0.0
            return constant_boundary(start, self._end_variance(sample), self.delta / n_rivals, len(chain.checkpoints))
        if calibration is not None:
            self._measure(calibration)
        return curved_boundary(self.deviations_, curtailing_factor(self.delta, n_rivals))

    def _measure(self, calibration: Any) -> None:
        """Take the deviations from rows that nothing was fitted to."""
        scores = self.chain_.partial_scores(calibration)
        full, share = scores[:, -1], np.full(len(scores), 1.0 / len(scores))
        self.chain_.checkpoints = [
            replace(checkpoint, deviation=spread(scores[:, k], full, share))
            for k, checkpoint in enumerate(self.chain_.checkpoints)
        ]

    def _certified_factor(self, calibration: Any) -> float:
        scores = self.chain_.partial_scores(calibration)
        ratios = ratios_to(self.deviations_, scores, self.sides)
        return certified_factor(ratios, errs(scores), self.delta, self.confidence)

    def _end_variance(self, sample: Sample) -> float:
        """Return var(S_n) of the constant boundary, about where the walk starts; of several classes, of their gaps."""
        if self.variance == "independent":
            each = sample.weights**2 @ sample.variances
            return float(each[0] if len(each) == 1 else 2 * each.mean())
        weight = sample.share * self._protected(sample)
        off = sample.scores - self.chain_.prior
        covariance = (weight[:, None] * off).T @ off / weight.sum()
        n_scores = len(covariance)
        if n_scores == 1:
            return float(covariance[0, 0])
        pairs = n_scores * (n_scores - 1) / 2
        return float((n_scores * np.trace(covariance) - covariance.sum()) / pairs)

    def _protected(self, sample: Sample) -> np.ndarray:
        """Mark the rows of the class that is not to be stopped: all, if both may be."""
        if self.sides == "both" or self.refit:
            return np.ones(len(sample.scores), dtype=bool)
        return sample.targets[:, 0] > 0 if self.sides == "negative" else sample.targets[:, 0] < 0

    def _centre(self, sample: Sample) -> np.ndarray:
        """Return the means of the terms over the class to protect, or midway between the two if it is either."""
        if self.refit or sample.scores.shape[1] > 1:
            return sample.means
        positive = sample.targets[:, 0] > 0
        classes = [
            side for side, name in ((positive, "negative"), (~positive, "positive")) if self.sides in ("both", name)
        ]
        return np.mean(
            [sample.share[side] @ sample.values[side] / sample.share[side].sum() for side in classes], axis=0
        )

    def _ends(self, terms: Terms) -> list[int]:
        return checkpoint_terms(terms.n_terms, self.block_size, terms.grain)

    # Parameters

    def _refuse_too_few(self, n_rows: int) -> None:
        needed = rows_needed(self.delta, self.confidence)
        if n_rows < needed:
            raise ValueError(
                f"{type(self).__name__}: {n_rows} calibration rows cannot certify delta={self.delta!r} with "
                f"confidence={self.confidence!r}; expected at least {needed}. Pass more rows, or ask for less."
            )

    def _refuse_one_side_of_many(self) -> None:
        if len(self.classes_) > 2 and self.sides != "both":
            raise ValueError(
                f"{type(self).__name__}: sides is {self.sides!r}, but there are {len(self.classes_)} classes. "
                "Pass 'both'."
            )

    def _refuse_bad_parameters(self) -> None:
        super()._refuse_bad_parameters()
        named = isinstance(self.boundary, str) and self.boundary in BOUNDARIES
        self._require(
            named or is_number(self.boundary, 0), "boundary", f"one of {BOUNDARIES}, or a number of at least 0"
        )
        self._require(is_number(self.delta, 0) and self.delta < 1, "delta", "a number of at least 0 and below 1")
        for name in ("confidence", "calibration_fraction"):
            value = getattr(self, name)
            self._require(is_number(value) and 0 < value < 1, name, "a number between 0 and 1")
        self._require(self.sides in SIDES, "sides", f"one of {SIDES}")
        self._require(self.variance in VARIANCES, "variance", f"one of {VARIANCES}")
        self._require(
            self.variance == "measured" or not self.refit, "variance", "'measured', or refit=False, whose terms add up"
        )
        self._require(self.block_size is None or is_whole(self.block_size, 1), "block_size", "a whole number, or None")
