"""The search for the best model whose mean spend stays within a budget and whose every row stays within a cap.

candidates.py         what is tried: methods by name, estimators, grids
methods.py            which methods serve a task, and a sweep of settings for each
sweep.py              many settings from few fits
raw_rows.py           rows as the user has them, and as the numbers methods see
cross_validation.py   what each point scores and spends on rows that it has not seen
frontier.py           the table of all points, the bound on what they spend, the order of preference
refits.py             points fitted to all rows
"""

import warnings
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.costs import CostModel
from thrifty.metrics.scoring import scorer_of
from thrifty.models.acquisition import Acquisition
from thrifty.models.base import BudgetedEstimator
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.promise import Promise
from thrifty.models.session import Session
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.table_model import TableModel
from thrifty.tuning.candidates import TASKS, given_costs, sweeps, task_of
from thrifty.tuning.cross_validation import Measurement, cross_validate, folds_of
from thrifty.tuning.frontier import by_preference, cv_results, frontier_table
from thrifty.tuning.methods import Rows, Task
from thrifty.tuning.raw_rows import RawRows
from thrifty.tuning.refits import Refits
from thrifty.tuning.scoring import DEFAULT_SCORING
from thrifty.tuning.sweep import Sweep

PASSED_ON = ("classes_", "decision_function", "predict_proba")


class BudgetSearchCV(MetaEstimatorMixin, BaseEstimator):
    """Finds the best model whose mean spend stays within a budget, and keeps every row within a cap.

    Methods are swept from cheap to dear, each in the way that takes it the least work, and cross-validated. Of all
    points whose mean spend is within the budget with the confidence asked for, the one of the best score is fitted to
    all rows. No method's own trade-off has to be known: a budget is stated in the unit of the prices.

    Parameters
    ----------
    estimators : None, sequence or dict
        What to try. None: every method that serves the task. Otherwise names out of `thrifty.tuning.METHODS`,
        estimators, or pairs of an estimator and a grid of parameters as for scikit-learn's ``ParameterGrid``; ``cap``
        in a grid is a limit that the fitted model is run under. A dict gives them names.
    budget : float or None
        Bound on the mean spend per row; None: whatever scores best.
    cap : float or None
        Hard limit on each row's spend.
    costs : array-like, dict, CostModel or None
        What each column of X costs to acquire; None means the costs of the estimators given, else one unit each.
    scoring : str, callable or None
        A scikit-learn scorer, or ``"ndcg@k"`` or ``"precision@k"`` by query. By default accuracy, R² or NDCG@5.
    cv : int or splitter, default=5
        Folds, of whole queries where there are queries, else stratified by class where there are classes.
    confidence : float, default=0.95
        Of the bound on the mean spend.
    n_jobs : int or None
        Fits at a time, as joblib counts them; any joblib backend serves.
    refit : bool, default=True
        Whether to fit the chosen point to all rows.
    max_rows : int or None, default=5000
        Rows to cross-validate on, drawn at random from more; the model that is chosen is fitted to all.
    task : {"classification", "regression", "ranking"} or None
        By default what y looks like: ranking where ``qid`` is given; regression for fractions, and for whole numbers
        of more than twenty values.
    random_state : int or None, default=0
        Decides the folds, and what is random in the methods.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    frontier_ : DataFrame
        One line per point: method, parameters, spend and its bound, score and its standard error, seconds of fitting,
        whether it is within the budget, dominated by another, and what went wrong if it failed.
    best_estimator_ : TableModel
        The chosen model, which keeps to the cap by itself; its ``estimator_`` is the method's.
    best_index_ : int
        The line of ``frontier_`` that was chosen.
    best_score_, best_params_ : float, dict
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    promise_ : Promise
        What the chosen model can be trusted to spend, and what it scored.
    cv_results_ : dict of arrays
        All points fold by fold, as scikit-learn's searches have them.

    Examples
    --------
    >>> from thrifty import BudgetSearchCV
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> search = BudgetSearchCV(["l1", "static"], budget=40, cap=150, costs=heart.costs).fit(heart.X, heart.y)
    >>> bool(search.promise_.spend_bound <= 40), bool(search.spend(heart.X).max() <= 150)
    (True, True)
    """

    best_estimator_: TableModel

    def __init__(
        self,
        estimators: Any = None,
        *,
        budget: float | None = None,
        cap: float | None = None,
        costs: Any = None,
        scoring: Any = None,
        cv: Any = 5,
        confidence: float = 0.95,
        n_jobs: Any = None,
        refit: bool = True,
        max_rows: int | None = 5_000,
        task: str | None = None,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        self.estimators = estimators
        self.budget = budget
        self.cap = cap
        self.costs = costs
        self.scoring = scoring
        self.cv = cv
        self.confidence = confidence
        self.n_jobs = n_jobs
        self.refit = refit
        self.max_rows = max_rows
        self.task = task
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Sweep, cross-validate, choose, and fit the chosen point to all rows.

        Parameters
        ----------
        X : array-like or DataFrame of shape (n, n_features)
            Columns of numbers, booleans, dates, strings or categories, with gaps.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Handed to the fits; spend and score are means over plain rows.
        qid : array-like of shape (n,), optional
            The query each row belongs to, for ranking.
        """
        self._refuse_bad_parameters()
        everything = RawRows.checked(self, X, y, sample_weight, qid)
        task = task_of(self.task, self.estimators, everything.y, everything.qid)
        classes = task in ("binary", "multiclass")
        rows = everything.sample(self.max_rows, classes, self.random_state)
        self.cost_model_ = costs = self._resolved_costs()
        encoder = everything.encoder(costs)
        self.scoring_ = DEFAULT_SCORING[task] if self.scoring is None else self.scoring
        batches = self._batches(rows, encoder, costs, task)
        folds = folds_of(rows, classes, self.cv, self.random_state)
        points = cross_validate(
            rows,
            costs,
            batches,
            folds,
            cap=self.cap,
            scoring=self.scoring_,
            n_jobs=self.n_jobs,
            title="Searching" if self.verbose else None,
        )
        self._tabulate(batches, points, np.array([len(held) for _, held in folds]))
        if self.refit:
            self._settle(everything, encoder, costs, batches, len(rows))
        return self

    def _resolved_costs(self) -> CostModel:
        return CostModel.resolve(
            given_costs(self.estimators) if self.costs is None else self.costs,
            self.n_features_in_,
            feature_names=getattr(self, "feature_names_in_", None),
            owner=type(self).__name__,
        )

    def _batches(self, rows: RawRows, encoder: TableEncoder, costs: CostModel, task: Task) -> list[Sweep]:
        numbers = rows.encoded(encoder, costs)
        scale = Rows(numbers.X, numbers.y, encoder.derived_costs(costs), task, self.cap)
        return [batch for sweep in sweeps(self.estimators, scale, self.random_state) for batch in sweep.batches()]

    def _tabulate(self, batches: list[Sweep], points: list[tuple[Measurement, ...]], fold_sizes: np.ndarray) -> None:
        ceiling = min(self.cost_model_.total, np.inf if self.cap is None else self.cap)
        table = frontier_table(batches, points, fold_sizes, self.confidence, ceiling)
        if (table["error"] != "").all():
            raise ValueError(f"BudgetSearchCV: every candidate failed, the first with {table['error'].iloc[0]}")
        table["within_budget"] = table["spend_bound"] <= (np.inf if self.budget is None else self.budget)
        self.frontier_ = table
        self.cv_results_ = cv_results(table, points)

    # From the chosen point to a model

    def _settle(
        self, rows: RawRows, encoder: TableEncoder, costs: CostModel, batches: list[Sweep], n_measured: int
    ) -> None:
        """Fit the points to all rows in the order of preference, until one stays within the budget on them too."""
        refits = Refits(batches, rows.encoded(encoder, costs), self.cap)
        wanted = by_preference(self.frontier_, self.budget).tolist()
        within = [point for point in wanted if self.frontier_["within_budget"].iloc[point]]
        self.best_index_, fitted = refits.first_within(within or wanted[:1], self.budget if within else None)
        line = self.frontier_.iloc[self.best_index_]
        if not within:
            self._warn_of_miss(line)
        self.best_score_, self.best_params_ = float(line["score"]), line["parameters"]
        self.promise_ = Promise(
            budget=None if self.budget is None else float(self.budget),
            cap=None if self.cap is None else float(self.cap),
            unit=costs.unit,
            confidence=float(self.confidence),
            scoring=self.scoring_ if isinstance(self.scoring_, str) else getattr(self.scoring_, "__name__", "score"),
            method=line["method"],
            parameters=line["parameters"],
            n_rows=n_measured,
            **{name: float(line[name]) for name in ("spend", "spend_bound", "score", "score_error")},
        )
        model = TableModel(refits.unfitted(self.best_index_), costs=costs, cap=fitted.limit(self.cap))
        self.best_estimator_ = model.adopt(self, encoder, fitted.model, self.promise_)

    def _warn_of_miss(self, line: Any) -> None:
        def amount(value: float) -> str:
            return f"{value:.4g} {self.cost_model_.unit}".strip()

        bound = line["spend_bound"]
        warnings.warn(
            f"BudgetSearchCV: no candidate stays within the budget of {amount(self.budget)}. The cheapest, "  # type: ignore[arg-type]
            f"{line['method']}, spends {amount(line['spend'])} on average and, with {self.confidence:.0%} confidence, "
            f"less than {amount(bound)}: {amount(bound - self.budget)} too much. "
            "Raise the budget, or pass cheaper candidates.",
            UserWarning,
            stacklevel=4,
        )

    _refuse_unless = BudgetedEstimator._refuse_unless

    def _refuse_bad_parameters(self) -> None:
        for name in ("budget", "cap"):
            value = getattr(self, name)
            self._refuse_unless(value is None or is_number(value, 0), name, value, "a number of at least 0, or None")
        sure = is_number(self.confidence) and 0 < self.confidence < 1
        self._refuse_unless(sure, "confidence", self.confidence, "a share between 0 and 1")
        self._refuse_unless(
            is_whole(self.cv, 2) or hasattr(self.cv, "split"), "cv", self.cv, "at least 2, or a splitter"
        )
        few = self.max_rows is None or is_whole(self.max_rows, 1)
        self._refuse_unless(few, "max_rows", self.max_rows, "a whole number of at least 1, or None")
        known = self.task is None or self.task in TASKS
        self._refuse_unless(known, "task", self.task, f"None or one of {', '.join(TASKS)}")
        if self.scoring is not None:
            scorer_of(self.scoring)

    # The chosen model's own answers

    def _chosen(self) -> TableModel:
        check_is_fitted(self)
        if not hasattr(self, "best_estimator_"):
            raise AttributeError("BudgetSearchCV was fitted with refit=False, so it has no model. Pass refit=True.")
        return self.best_estimator_

    def __getattr__(self, name: str) -> Any:
        """Pass on what only the chosen model has, such as ``predict_proba`` and ``classes_``."""
        if name in PASSED_ON and "best_estimator_" in self.__dict__:
            return getattr(self.best_estimator_, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def predict(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Predict with the chosen model; see its ``predict``."""
        return self._chosen().predict(X, cap, qid=qid)

    def acquire(self, X: Any, cap: Any = None, *, qid: Any = None) -> Acquisition:
        """Acquire what each row needs and answer it; see the chosen model's ``acquire``."""
        return self._chosen().acquire(X, cap, qid=qid)

    def spend(self, X: Any, cap: Any = None, *, qid: Any = None) -> np.ndarray:
        """Return what each row is charged."""
        return self._chosen().spend(X, cap, qid=qid)

    def session(self, cap: Any = None) -> Session:
        """Start the acquisition of one row."""
        return self._chosen().session(cap)

    def score(self, X: Any, y: Any, *, qid: Any = None) -> float:
        """Score the chosen model as the search did."""
        return scorer_of(self.scoring_)(self._chosen(), X, np.asarray(y), qid)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "frontier_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags
