"""The search for the best model whose mean spend stays within a budget, and whose rows stay within a cap.

anchors.py            the constant answer for nothing, and all columns for every row
candidates.py         what is tried: methods by name, estimators, grids
methods.py            which methods serve a task, and a sweep of settings for each
sweep.py              many settings from few fits
problem.py            the task, and the rows as numbers
splits.py             a sample of the rows, and the folds
cross_validation.py   what each point scores and spends on held-out rows
frontier.py           the table of all points, the bound on what they spend, the order of preference
refits.py             points fitted on all rows
chosen_model.py       predictions of the chosen model
"""

import warnings
from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin

from thrifty.costs import CostModel, ErrorCosts
from thrifty.metrics.scoring import TOTAL_COST, scoring_for
from thrifty.models.base import BudgetedEstimator
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.promise import Promise
from thrifty.models.rows import Rows, refuse_bad_class_weight
from thrifty.models.tables.checked_table import checked_rows, resolved_costs
from thrifty.models.tables.preparation import learned_encoder
from thrifty.models.tables.table_model import TableModel
from thrifty.tuning.anchors import anchors_table
from thrifty.tuning.candidates import candidates_of, common_costs, given_estimators, sweeps
from thrifty.tuning.chosen_model import ChosenModelMixin
from thrifty.tuning.cross_validation import cross_validate, fold_problems
from thrifty.tuning.frontier import by_preference, cv_results, frontier_table
from thrifty.tuning.problem import TASKS, Problem, Task
from thrifty.tuning.refits import Refits
from thrifty.tuning.splits import folds_of, sample
from thrifty.tuning.sweep import Sweep


class BudgetSearchCV(ChosenModelMixin, MetaEstimatorMixin, BaseEstimator):
    """Search for the best model whose mean spend stays within a budget.

    Each method is tried with settings from cheap to expensive, and all settings are cross-validated. Among the points
    whose mean spend is within the budget with the given confidence, the one with the best score is fitted on all rows.
    The budget is stated in the unit of the costs, so users need not know the trade-off parameters of the methods.

    Parameters
    ----------
    estimators : None, str, estimator, sequence or dict, default=None
        What to try. None means every method that serves the task. Otherwise: names of `thrifty.tuning.METHODS`,
        estimators of this package, or pairs of an estimator and a grid of parameters as for scikit-learn's
        ``ParameterGrid``. ``cap`` in a grid is a limit under which the fitted model is run. The keys of a dict are
        the names in ``frontier_``.
    budget : float or None, default=None
        Bound on the mean spend per row. None means that the point with the best score is chosen.
    cap : float or None, default=None
        Hard limit on each row's spend.
    costs : array-like, dict, CostModel or None, default=None
        What each column of X costs to acquire. None means the costs of `estimators`, or one unit each if they have
        none.
    scoring : str, callable or None, default=None
        A scikit-learn scorer; ``"ndcg@k"`` or ``"precision@k"``, which are computed by query; or ``"total_cost"``,
        which is -(mean spend + mean cost of errors) and needs `error_costs`. The positive one of two classes is the
        second in sorted order; with more classes ``"f1"`` and the like are means over the classes. None means
        total_cost with `error_costs`, otherwise accuracy for classification, R² for regression and NDCG@5 for ranking.
    cv : int or splitter, default=5
        The number of folds, or a splitter of scikit-learn. Folds consist of whole queries if there are queries, and
        are stratified if there are classes.
    confidence : float, default=0.95
        Confidence of the bound on the mean spend, between 0 and 1.
    n_jobs : int or None, default=None
        The number of parallel fits, as in joblib. Any joblib backend can be used.
    refit : bool, default=True
        Whether to fit the chosen point on all rows.
    max_rows : int or None, default=5000
        The number of rows for the cross-validation, drawn at random if there are more; None means all rows. The chosen
        model is always fitted on all rows.
    task : {"classification", "regression", "ranking"} or None, default=None
        None means: the task of `estimators` if they have one; otherwise ranking if `fit` gets ``qid``, regression if y
        contains fractions or more than twenty distinct numbers, and classification for any other y.
    kinds : dict or None, default=None
        ``{column: kind}`` with kind "number", "boolean", "date" or "category", for columns whose kind should not be
        inferred from their values; see `TableModel`.
    error_costs : array-like, DataFrame, dict, float or ErrorCosts, default=None
        What mistakes cost, in the unit of `costs`; see `thrifty.costs.ErrorCosts`. For classes: a matrix by true class
        and answer, or ``{(true, answer): cost}``; for numbers: a cost for each squared unit of error, or
        ``{"absolute": cost}``. Classifiers then answer with the class of the smallest expected cost, and the default
        scoring is ``"total_cost"``: a case costs what is acquired for it, and its error. A budget is not needed.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as scikit-learn has them. They are multiplied into the sample weights of the fits, and
        do not count in scores and spends.
    random_state : int or None, default=0
        Seed of the sample, of the folds, and of methods that are random.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    frontier_ : DataFrame
        One line per point: method, parameters, spend and its bound, score and its standard error, seconds of fitting,
        whether it is within the budget, whether another point dominates it, the error if it failed, the number of folds
        and of held-out rows that it was measured on, and a note if it does not compete or was passed over.
    anchors_ : DataFrame
        The constant answer for nothing (``"constant"``) and boosted trees that buy all columns for every row
        (``"everything"``): method, spend, score and its standard error, measured on the same folds.
    best_estimator_ : TableModel
        The chosen model with its cap. Its ``estimator_`` is the estimator of the method.
    best_index_ : int
        The line of ``frontier_`` that was chosen.
    best_score_ : float
        The score of the chosen point.
    best_params_ : dict
        The parameters of the chosen point.
    promise_ : Promise
        What the chosen model spends with the given confidence, and what it scored.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    scoring_ : str or callable
        The scoring that was used.
    error_costs_ : ErrorCosts or None
        What mistakes cost.
    cv_results_ : dict of ndarray
        All points fold by fold, in the form of scikit-learn's searches.
    classes_ : ndarray of shape (n_classes,)
        The classes, if the chosen model is a classifier.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The names of the columns, if X has names that are all text.

    Notes
    -----
    ``spend_bound`` is an upper confidence bound on the mean spend of new rows. `thrifty.tuning.frontier.spend_bound`
    gives the formula. A point is within the budget if this bound is. The chosen point must also stay within the budget
    on all rows after it was fitted on them; otherwise the next best point is taken. If no point is within the budget,
    the one that exceeds it least is chosen, with a warning.

    Examples
    --------
    >>> from thrifty import BudgetSearchCV
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> search = BudgetSearchCV(["l1", "static"], budget=40, cap=150, costs=heart.costs).fit(heart.X, heart.y)
    >>> bool(search.promise_.spend_bound <= 40), bool(search.spend(heart.X).max() <= 150)
    (True, True)
    """

    cost_model_: CostModel

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
        kinds: Any = None,
        error_costs: Any = None,
        class_weight: Any = None,
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
        self.kinds = kinds
        self.error_costs = error_costs
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Cross-validate all candidates, choose the best one within the budget, and fit it on all rows.

        Parameters
        ----------
        X : frame or array-like of shape (n, n_features)
            Columns of numbers, booleans, dates, text or categories. Values may be missing.
        y : array-like of shape (n,)
            Classes, numbers, or the relevance of each document.
        sample_weight : array-like of shape (n,), optional
            Weights for the fits. Spend and score are means without weights.
        qid : array-like of shape (n,), optional
            The query of each row, for ranking.

        Returns
        -------
        self : object
            The fitted search.
        """
        self._refuse_bad_parameters()
        candidates = candidates_of(self.estimators)
        everything = checked_rows(self, X, y, sample_weight, qid)
        task = Task.of(everything.y, everything.qid, self.task, given_estimators(candidates))
        self.cost_model_ = resolved_costs(self, common_costs(candidates) if self.costs is None else self.costs)
        self.error_costs_ = self._parsed_error_costs(task, everything.y)
        self.scoring_ = self._settled_scoring(task, everything)
        encoder = learned_encoder(everything, self.cost_model_, self.kinds, owner="BudgetSearchCV")
        rows = sample(everything, self.max_rows, stratify=task.has_classes, random_state=self.random_state)
        terms = {"cap": self.cap, "error_costs": self.error_costs_, "class_weight": self.class_weight}
        problem = Problem.of(rows, encoder, self.cost_model_, task, **terms)
        batches = [batch for sweep in sweeps(candidates, problem, self.random_state) for batch in sweep.batches()]
        self._cross_validate(rows, problem, batches)
        if self.refit:
            whole = problem if rows is everything else Problem.of(everything, encoder, self.cost_model_, task, **terms)
            self._choose(Refits(batches, whole), n_measured=len(rows))
        return self

    def _parsed_error_costs(self, task: Task, y: np.ndarray) -> ErrorCosts | None:
        for name in ("error_costs", "class_weight"):
            useless = task is Task.RANKING or (name == "class_weight" and not task.has_classes)
            valid = getattr(self, name) is None or not useless
            self._refuse_unless(valid, name, getattr(self, name), f"None for {task}")
        refuse_bad_class_weight(self.class_weight, y, "BudgetSearchCV")
        if self.error_costs is None:
            return None
        return ErrorCosts.resolve(self.error_costs, np.unique(y) if task.has_classes else None, "BudgetSearchCV")

    def _settled_scoring(self, task: Task, rows: Rows) -> Any:
        scoring = self.scoring
        if scoring is None:
            scoring = task.default_scoring if self.error_costs_ is None else TOTAL_COST
        try:
            return scoring_for(scoring, rows.y, rows.qid, has_classes=task.has_classes, error_costs=self.error_costs_)
        except ValueError as error:
            raise ValueError(f"BudgetSearchCV: {error}") from None

    def _cross_validate(self, rows: Rows, problem: Problem, batches: list[Sweep]) -> None:
        """Set ``frontier_`` and ``cv_results_``."""
        folds = folds_of(rows, self.cv, stratify=problem.task.has_classes, random_state=self.random_state)
        title, tables = "Searching" if self.verbose else None, list(fold_problems(rows, problem, folds))
        points = cross_validate(tables, batches, scoring=self.scoring_, n_jobs=self.n_jobs, title=title)
        fold_sizes = np.array([len(held) for _, held in folds])
        max_spend = min(self.cost_model_.total, np.inf if self.cap is None else self.cap)
        table = frontier_table(batches, points, fold_sizes, self.confidence, max_spend)
        if (table["error"] != "").all():
            raise ValueError(f"BudgetSearchCV: every candidate failed. The first error is: {table['error'].iloc[0]}")
        table["within_budget"] = table["spend_bound"] <= (np.inf if self.budget is None else self.budget)
        self.frontier_, self.cv_results_ = table, cv_results(table, points)
        self.anchors_ = anchors_table(problem, tables, self.scoring_)

    def _choose(self, refits: Refits, n_measured: int) -> None:
        """Fit points on all rows in the order of preference, until one stays within the budget on all rows too."""
        preferred = by_preference(self.frontier_, self.budget).tolist()
        within = [point for point in preferred if self.frontier_["within_budget"].iloc[point]]
        self.best_index_, fitted = refits.first_within(within or preferred[:1], self.budget if within else None)
        line = self.frontier_.iloc[self.best_index_]
        if not within:
            self._warn_of_excess(line)
        self.best_score_, self.best_params_ = float(line["score"]), line["parameters"]
        self.promise_ = self._promise(line, n_measured)
        cap = fitted.limit(self.cap)
        model = TableModel(
            refits.unfitted(self.best_index_),
            costs=self.cost_model_,
            cap=cap,
            kinds=self.kinds,
            error_costs=self.error_costs_,
            class_weight=self.class_weight,
        )
        self.best_estimator_ = model.adopt(self, refits.problem.encoder, fitted.model, self.promise_)

    def _promise(self, line: Any, n_measured: int) -> Promise:
        return Promise(
            budget=None if self.budget is None else float(self.budget),
            cap=None if self.cap is None else float(self.cap),
            unit=self.cost_model_.unit,
            confidence=float(self.confidence),
            scoring=self.scoring_ if isinstance(self.scoring_, str) else getattr(self.scoring_, "__name__", "score"),
            method=line["method"],
            parameters=line["parameters"],
            n_rows=n_measured,
            **{name: float(line[name]) for name in ("spend", "spend_bound", "score", "score_error")},
        )

    def _warn_of_excess(self, line: Any) -> None:
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
        def check(name: str, valid: bool, expected: str) -> None:
            self._refuse_unless(valid, name, getattr(self, name), expected)

        for name in ("budget", "cap"):
            value = getattr(self, name)
            check(name, value is None or is_number(value, 0), "a finite number of at least 0, or None")
        check("confidence", is_number(self.confidence) and 0 < self.confidence < 1, "a share between 0 and 1")
        check("cv", is_whole(self.cv, 2) or hasattr(self.cv, "split"), "at least 2, or a splitter")
        valid = self.max_rows is None or is_whole(self.max_rows, 1)
        check("max_rows", valid, "a whole number of at least 1, or None")
        check("task", self.task is None or self.task in TASKS, f"None or one of {', '.join(TASKS)}")
        check("kinds", self.kinds is None or isinstance(self.kinds, Mapping), "a dict of columns and kinds, or None")

    # Hooks of scikit-learn

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "frontier_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.string = tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags
