"""Mixtures of two models: a fixed share of the rows is answered by the more expensive one.

Models often buy an expensive column for all rows or for none. If the budget pays for some rows only, a mixture spends
it: its mean spend and its mean score lie between those of its two models, in proportion to the share.
"""

from abc import abstractmethod
from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state, get_tags

from thrifty.costs.amounts import amount
from thrifty.models.base import BudgetedEstimator, Run
from thrifty.models.derived import Derivation
from thrifty.models.mixtures.positions import are_chosen, positions_of_queries
from thrifty.models.outline import Columns, Outline, Stage
from thrifty.models.parameters import is_number
from thrifty.models.row_positions import drawn_position
from thrifty.models.rows import Rows
from thrifty.models.session import Acquire, Session, Stop
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRanker, BudgetedRegressor
from thrifty.stored import Number, Structure, stored

UNAFFORDABLE = -1  # the exit of a row that could not afford the first step


@stored(cheap_=Structure(BudgetedEstimator), dear_=Structure(BudgetedEstimator), start_=Number(0, 1))
class Mixture(BudgetedEstimator):
    """Base of the mixtures: a share of the rows is answered by the model ``dear``, the others by ``cheap``.

    `MixtureClassifier` documents the parameters and attributes.
    """

    cheap_: Any
    dear_: Any
    start_: float
    _depends_on_position = True
    _expected: str  # which models can be mixed
    _positions: np.ndarray | None = None

    def __init__(
        self,
        cheap: Any,
        dear: Any,
        *,
        share: float = 0.5,
        cheap_cap: float | None = None,
        dear_cap: float | None = None,
        costs: Any = None,
        random_state: Any = None,
    ):
        self.cheap = cheap
        self.dear = dear
        self.share = share
        self.cheap_cap = cheap_cap
        self.dear_cap = dear_cap
        self.costs = costs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit both models.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Weight of each row.
        qid : array-like of shape (n,), optional
            The query of each row.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse_bad_parameters()
        rows = self._validated(X, y, sample_weight, qid)
        self._learn_classes(rows)
        self.cheap_, self.dear_ = (self._fitted(each, rows) for each in (self.cheap, self.dear))
        self.start_ = float(check_random_state(self.random_state).random_sample())
        return self

    def _learn_classes(self, rows: Rows) -> None:
        """Set `classes_` of a classifier."""

    def _fitted(self, estimator: Any, rows: Rows) -> Any:
        return clone(estimator).set_params(costs=self.cost_model_).fit(rows.X, rows.y, rows.weight, qid=rows.qid)

    def at_share(self, share: float) -> Self:
        """Return the mixture with another share, without fitting again.

        Parameters
        ----------
        share : float
            The share of the rows that `dear_` answers, between 0 and 1.

        Returns
        -------
        Mixture
            A copy that shares the fitted models with this one.
        """
        self._refuse_unfitted()
        twin = copy(self)
        twin.share = share
        twin._refuse_bad_parameters()
        return twin

    def for_positions(self, positions: Any) -> Self:
        """Return the model for rows at given positions, of which the rule makes its choice.

        Parameters
        ----------
        positions : array-like of int, shape (n,)
            One for each row that will be passed, each at least 0. A batch without positions has 0, 1, 2, ...; a session
            without a position draws one at random.

        Returns
        -------
        Mixture
            A copy that shares the fitted models with this one.
        """
        twin = copy(self)
        twin._positions = np.asarray(positions)
        return twin

    # Prediction

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        dear = self._gets_dear(len(X), qid)
        order = np.argsort(dear, kind="stable")  # the rows of the cheap model first
        back = np.argsort(order)
        groups = np.flatnonzero(~dear), np.flatnonzero(dear)
        parts = [self._part(part, X, cap, qid, rows) for part, rows in enumerate(groups) if len(rows)]
        score, spend, exits = (
            np.concatenate([getattr(run, name) for run in parts])[back] for name in ("score", "spend", "exit")
        )
        return Run(score, lambda: np.concatenate([run.acquired() for run in parts])[back], spend, exits)

    def _part(self, part: int, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None, rows: np.ndarray) -> Run:
        """Predict the rows of one of the two models."""
        model, own_cap = self._parts[part]
        limits = np.minimum(cap[rows], np.inf if own_cap is None else own_cap)
        run = model._run(X[rows], limits, None if qid is None else qid[rows])
        return run._replace(score=self._common(model, run.score), exit=_joint_exit(run.exit, part))

    def _start(self, cap: float) -> Session:
        positions = [drawn_position()] if self._positions is None else self._positions[:1]
        part = int(are_chosen(np.asarray(positions), self.share, self.start_)[0])
        model, own_cap = self._parts[part]
        return PartSession(self, part, model._start(min(cap, np.inf if own_cap is None else own_cap)))

    @property
    def _parts(self) -> tuple[tuple[Any, float | None], tuple[Any, float | None]]:
        """Both models with their caps."""
        return (self.cheap_, self.cheap_cap), (self.dear_, self.dear_cap)

    def _gets_dear(self, n_rows: int, qid: np.ndarray | None) -> np.ndarray:
        positions = np.arange(n_rows) if self._positions is None else self._positions
        if len(positions) != n_rows:
            raise ValueError(
                f"{type(self).__name__}: there are {len(positions)} positions for {n_rows} rows. Pass one per row."
            )
        if qid is not None:
            positions = positions_of_queries(positions, qid)
        return are_chosen(positions, self.share, self.start_)

    def _common(self, model: Any, score: np.ndarray) -> np.ndarray:
        """Return the scores of one of the models in the form that the mixture has."""
        return score

    # Description

    def _outline(self, columns: Columns, exits: np.ndarray | None) -> Outline:
        outlines = [model._outline(columns, None) for model, _ in self._parts]
        cheap, dear = (_named(each, cap) for each, (_, cap) in zip(outlines, self._parts, strict=True))
        summary = (
            f"{self.share:.1%} of the rows, chosen by their positions, are answered by one model, and the others by a "
            f"cheaper one. {dear} The cheaper one: {cheap}"
        )
        bought = {name for each in outlines for name in _bought(each)}
        uses = tuple(use for use in columns.unordered_uses() if use.feature in bought)
        return self._outlined(columns, summary, uses=uses, evaluation=max(each.evaluation for each in outlines))

    def _translate_parameters(self, derivation: Derivation) -> None:
        for each in (self.cheap, self.dear):
            each._translate_parameters(derivation)

    # Checks

    def _refuse_bad_parameters(self) -> None:
        for name in ("cheap", "dear"):
            value = getattr(self, name)
            self._refuse_unless(self._can_mix(value), name, value, self._expected)
        self._refuse_unless(is_number(self.share, 0) and self.share <= 1, "share", self.share, "a share from 0 to 1")
        for name in ("cheap_cap", "dear_cap"):
            value = getattr(self, name)
            valid = value is None or is_number(value, 0)
            self._refuse_unless(valid, name, value, "a limit of at least 0, or None")

    @abstractmethod
    def _can_mix(self, model: Any) -> bool:
        """Tell whether a model is for the same task."""

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(is_number(self.share, 0) and self.share <= 1, "its share is not between 0 and 1")
        for model, cap in self._parts:
            require(self._can_mix(model), "one of its models is for another task")
            require(hasattr(model, "cost_model_"), "one of its models is not fitted")
            require(model.n_features_in_ == self.n_features_in_, "one of its models is for another number of columns")
            require(model.cost_model_ == self.cost_model_, "one of its models has other costs")
            require(cap is None or is_number(cap, 0), "one of its caps is not a limit of at least 0")
            classes = [getattr(each, "classes_", np.empty(0)).tolist() for each in (model, self)]
            require(classes[0] == classes[1], "one of its models has other classes")
            model.refuse_unsound()

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_positions"}

    def _state_to_store(self) -> dict[str, Any]:
        return {name: value for name, value in super()._state_to_store().items() if name != "_positions"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(each) for each in (self.cheap, self.dear) if isinstance(each, BudgetedEstimator)]
        tags.non_deterministic = any(each.non_deterministic for each in inner)
        tags.target_tags.positive_only |= any(each.target_tags.positive_only for each in inner)
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = all(each.classifier_tags.multi_class for each in inner)
        return tags


class MixtureClassifier(Mixture, BudgetedClassifier):
    """Two classifiers, each of which answers a fixed share of the rows.

    Which rows `dear` answers depends on their positions only, never on values: see `thrifty.models.mixtures.positions`.
    Scores are log-odds. The answer is the likeliest class; for other answers, wrap the mixture in a `TableModel` with
    costs of errors.

    Parameters
    ----------
    cheap, dear : BudgetedEstimator
        Classifiers of thrifty. Both are cloned and fitted, with the costs of the mixture.
    share : float, default=0.5
        The share of the rows that `dear` answers, between 0 and 1.
    cheap_cap, dear_cap : float or None, default=None
        Hard limits on the spend of each row that the model answers.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    random_state : int, RandomState or None, default=None
        Determines which rows `dear` answers.

    Attributes
    ----------
    cheap_, dear_ : BudgetedEstimator
        The fitted models.
    start_ : float
        The number of the first row, between 0 and 1. A row whose number is below the share is answered by `dear_`.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    classes_ : ndarray of shape (n_classes,)
        The classes.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, if X has names.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Classifier, MixtureClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> nothing, much = (CostWeightedL1Classifier(cost_weight=weight) for weight in (10.0, 0.01))
    >>> model = MixtureClassifier(nothing, much, share=0.25, costs=heart.costs, random_state=0).fit(heart.X, heart.y)
    >>> model.spend(heart.X)[:8] > 0
    array([False,  True, False, False,  True, False, False, False])
    """

    _expected = "a classifier of thrifty whose scores are log-odds, such as ASTCClassifier()"

    def _can_mix(self, model: Any) -> bool:
        has_log_odds = getattr(type(model), "_probabilities", None) is BudgetedClassifier._probabilities
        return isinstance(model, BudgetedClassifier) and has_log_odds

    def _learn_classes(self, rows: Rows) -> None:
        self._targets(rows.y)

    def _common(self, model: Any, score: np.ndarray) -> np.ndarray:
        return model._log_odds(score)


class MixtureRegressor(Mixture, BudgetedRegressor):
    """Two regressors, each of which answers a fixed share of the rows.

    Which rows `dear` answers depends on their positions only, never on values: see `thrifty.models.mixtures.positions`.

    Parameters
    ----------
    cheap, dear : BudgetedEstimator
        Regressors of thrifty. Both are cloned and fitted, with the costs of the mixture.
    share : float, default=0.5
        The share of the rows that `dear` answers, between 0 and 1.
    cheap_cap, dear_cap : float or None, default=None
        Hard limits on the spend of each row that the model answers.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    random_state : int, RandomState or None, default=None
        Determines which rows `dear` answers.

    Attributes
    ----------
    cheap_, dear_ : BudgetedEstimator
        The fitted models.
    start_ : float
        The number of the first row, between 0 and 1. A row whose number is below the share is answered by `dear_`.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, if X has names.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor, MixtureRegressor
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 3.0]
    >>> mean, line = (CostWeightedL1Regressor(cost_weight=weight) for weight in (10.0, 0.01))
    >>> model = MixtureRegressor(mean, line, share=0.5, random_state=0).fit(X, y)
    >>> model.spend(X)
    array([0., 1., 0., 1.])
    >>> model.at_share(1.0).spend(X)
    array([1., 1., 1., 1.])
    """

    _expected = "a regressor of thrifty, such as ASTCRegressor()"

    def _can_mix(self, model: Any) -> bool:
        return isinstance(model, BudgetedRegressor)


class MixtureRanker(Mixture, BudgetedRanker):
    """Two rankers, each of which ranks a fixed share of the queries.

    Which rows `dear` answers depends on their positions only, never on values: see `thrifty.models.mixtures.positions`.
    A query is ranked as a whole by one model.

    Parameters
    ----------
    cheap, dear : BudgetedEstimator
        Rankers or regressors of thrifty. Both are cloned and fitted, with the costs of the mixture.
    share : float, default=0.5
        The share of the rows that `dear` answers, between 0 and 1.
    cheap_cap, dear_cap : float or None, default=None
        Hard limits on the spend of each row that the model answers.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    random_state : int, RandomState or None, default=None
        Determines which rows `dear` answers.

    Attributes
    ----------
    cheap_, dear_ : BudgetedEstimator
        The fitted models.
    start_ : float
        The number of the first row, between 0 and 1. A row whose number is below the share is answered by `dear_`.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, if X has names.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor, MixtureRanker
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(30, 20, 40, random_state=0)
    >>> nothing, much = (CostWeightedL1Regressor(cost_weight=weight) for weight in (10.0, 1e-4))
    >>> model = MixtureRanker(nothing, much, share=0.5, costs=data.costs, random_state=0)
    >>> spend = model.fit(data.X, data.y, qid=data.qid).spend(data.X, qid=data.qid)
    >>> [(spend[data.qid == query] > 0).mean().item() for query in range(6)]
    [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    """

    _expected = "a ranker or regressor of thrifty, such as GreedyMiserRanker()"

    def _can_mix(self, model: Any) -> bool:
        return isinstance(model, BudgetedRanker | BudgetedRegressor)


class PartSession(Session):
    """One row of a mixture: a session of one of its models, which ends with the score of the mixture."""

    def __init__(self, mixture: Mixture, part: int, inner: Session):
        super().__init__()
        self._mixture, self._part, self._inner = mixture, part, inner

    def _plan(self) -> Acquire | Stop:
        step = self._inner.next()
        return step if isinstance(step, Acquire) else self._joint(step)

    def _receive(self, values: Sequence[Any]) -> None:
        step = self._inner.next()
        assert isinstance(step, Acquire)
        self._inner.observe(dict(zip(step.features, values, strict=True)))
        self.spend = self._inner.spend

    def _answer_now(self) -> Stop | None:
        stop = self._inner.answer_so_far()
        return None if stop is None else self._joint(stop)

    def _joint(self, stop: Stop) -> Stop:
        model = self._mixture._parts[self._part][0]
        score = self._mixture._common(model, np.asarray(stop.score)[None])
        exit_ = int(_joint_exit(np.array([stop.exit]), self._part)[0])
        return replace(stop, prediction=self._mixture._answer(score)[0], score=score[0], exit=exit_)


def _joint_exit(exits: np.ndarray, part: int) -> np.ndarray:
    """Return exits of one of two models as those of the mixture: even numbers for the first, odd ones for the other."""
    return np.where(exits == UNAFFORDABLE, UNAFFORDABLE, 2 * exits + part)


def _named(outline: Outline, cap: float | None) -> str:
    limit = "" if cap is None else f", with a cap of {amount(cap, outline.unit)}"
    return f"{outline.model}{limit}: {outline.summary}"


def _bought(outline: Outline) -> list[str]:
    """Return the columns that a model can buy."""
    return [use.feature for use in outline.uses] + ([] if outline.stages is None else _bought_from(outline.stages))


def _bought_from(stage: Stage) -> list[str]:
    return stage.buys + [name for child in stage.children for name in _bought_from(child)]
