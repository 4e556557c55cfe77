"""The search for the best model whose mean spend stays within a budget, and whose rows stay within a cap.

candidates.py         what is tried: methods by name, estimators, grids
methods.py            which methods serve a task, and the first settings of each
calibration.py        the cost weight at which a fitted model spends a given amount
knobs.py              the parameter that moves the spend of a method, and settings in between
sweep.py              many settings from few fits
problem.py            the task, and the rows as numbers
splits.py             a sample of the rows, and the folds
cross_validation.py   what settings score and spend on held-out rows
survey.py             what was measured, fold by fold
stages.py             the order of the work
scouting.py           curves that are dropped
refinement.py         new settings near the budget
mixing.py             mixtures of two points
clock.py              how long fits will take
anchors.py            the constant answer for nothing, and all columns for every row
frontier.py           the table of all points, and the bound on what they spend
choice.py             the order of preference
refits.py             points fitted on all rows, and calibrated there
far_rows.py           rows on the workers of a Dask cluster
other_budgets.py      another budget from the same frontier
stored_search.py      a search that was read from a model file
chosen_model.py       predictions of the chosen model
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils.validation import check_is_fitted

from thrifty.costs import CostModel, ErrorCosts
from thrifty.metrics.scoring import TOTAL_COST, scoring_for
from thrifty.models.base import BudgetedEstimator
from thrifty.models.homes import is_collection
from thrifty.models.parameters import is_flag, is_number, is_whole
from thrifty.models.progress import SECONDS_BETWEEN_LINES, measured_progress
from thrifty.models.rows import Rows, refuse_bad_class_weight
from thrifty.models.tables.checked_table import checked_rows, resolved_costs
from thrifty.models.tables.encoder import TableEncoder
from thrifty.models.tables.preparation import learned_encoder
from thrifty.models.tables.table_model import TableModel
from thrifty.tuning.anchors import anchor_scores, anchors_table, seconds_of_everything
from thrifty.tuning.candidates import candidates_of, common_costs, given_estimators, sweeps
from thrifty.tuning.chosen_model import ChosenModelMixin
from thrifty.tuning.clock import Clock
from thrifty.tuning.cross_validation import Folds
from thrifty.tuning.far_rows import drawn, fitted_there
from thrifty.tuning.frontier import cv_results, frontier_table
from thrifty.tuning.other_budgets import Terms, model_for_budget, preferred_points, with_limits
from thrifty.tuning.problem import TASKS, Problem, Task, refuse_one_class
from thrifty.tuning.refits import Refits
from thrifty.tuning.splits import CV, checked_groups, drawn_positions, folds_of
from thrifty.tuning.stages import Stages
from thrifty.tuning.survey import Survey, n_workers


class Data(NamedTuple):
    """The training rows of a search, which are not saved with it."""

    rows: Rows
    encoder: TableEncoder
    folds: Folds


class BudgetSearchCV(ChosenModelMixin, MetaEstimatorMixin, BaseEstimator):
    """Search for the best model whose mean spend stays within a budget.

    Each method is tried with a few settings on a part of the rows. Methods that are clearly worse than others are
    dropped. The others are cross-validated, with more settings where the score still rises at the budget. Among the
    points whose mean spend is within the budget with the given confidence, the one with the best score is fitted on all
    rows. The budget is stated in the unit of the costs, so users need not know the trade-off parameters of the methods.

    Parameters
    ----------
    estimators : None, str, estimator, sequence or dict, default=None
        What to try. None means every method that serves the task. Otherwise: names of `thrifty.tuning.METHODS`,
        estimators of this package, or pairs of one of these and a grid of parameters as for scikit-learn's
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
    cv : int, splitter or iterable, default=5
        The number of folds; a splitter of scikit-learn; or pairs of positions of rows to fit and held-out rows, which
        need not hold out every row, as in time-ordered splits. With a number, folds consist of whole groups or queries
        if there are any, and are stratified if there are classes.
    confidence : float, default=0.95
        Confidence of the bound on the mean spend, between 0 and 1.
    n_jobs : int or None, default=None
        The number of parallel fits, as in joblib. Any joblib backend can be used.
    refit : bool, default=True
        Whether to fit the chosen point on all rows.
    max_rows : int or None, default=5000
        The number of rows for the cross-validation, drawn at random if there are more; None means all rows. The chosen
        model is always fitted on all rows. If `cv` has positions, those of rows that were not drawn are left out.
    task : {"classification", "regression", "ranking"} or None, default=None
        None means: the task of `estimators` if they have one; otherwise ranking if `fit` gets ``qid``, regression if y
        contains fractions or more than twenty distinct numbers, and classification for any other y.
    kinds : dict or None, default=None
        ``{column: kind}`` with kind "number", "boolean", "date" or "category", for columns whose kind should not be
        inferred from their values; see `TableModel`.
    error_costs : array-like, DataFrame, dict, float, ErrorCosts or path-like, default=None
        What mistakes cost, in the unit of `costs`; see `thrifty.costs.ErrorCosts`. For classes: a matrix by true class
        and answer, or ``{(true, answer): cost}``; for numbers: a cost for each squared unit of error, or
        ``{"absolute": cost}``; for both, the path of a CSV file. Classifiers then answer with the class of the smallest
        expected cost, and the default scoring is ``"total_cost"``: a case costs what is acquired for it, and its error.
        A budget is not needed.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, as scikit-learn has them. They are multiplied into the sample weights of the fits, and
        do not count in scores and spends.
    random_state : int or None, default=0
        Seed of the sample, of the folds, and of methods that are random.
    time_limit : float or None, default=None
        Seconds that the search may take, the final fit included. Quick methods come first, and a fit is started only if
        it and the final fit will end in time. The time of a fit is predicted from fits of the method that were
        measured, or roughly from the number of columns. The search exceeds the limit by at most what running fits take
        longer than predicted; and one candidate is always measured on few rows and fitted. Candidates that were
        measured on two folds when the time was over compete too.
    keep_best : bool, default=False
        Whether an interruption (Ctrl-C) while candidates are measured ends the search with the best so far. Otherwise
        it raises KeyboardInterrupt.
    mix : bool, default=False
        Whether two models may be mixed if the budget pays for the better one on some rows only. A fixed share of the
        rows then gets the better model, whatever their values are: the rule looks at the position of a row in the batch
        only, and a session draws, see `thrifty.models.mixtures`. The mixture is measured on the folds like any other
        point. It needs a budget.
    verbose : bool or float, default=False
        Whether to show a progress bar; where standard error is no terminal, a line every 8 seconds, or as many seconds
        as this number.

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
        The parameters of the chosen point. ``mean_spend`` stands for the cost weight at which the rows that a model
        was fitted on spend this much on average.
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
    feature_names_in_ : ndarray of shape (n_features,)
        The names of the columns, if X has names that are all text.

    Notes
    -----
    ``spend_bound`` is an upper confidence bound on the mean spend of new rows. `thrifty.tuning.frontier.spend_bound`
    gives the formula. A point is within the budget if this bound is. Scores are smoothed along the curve of each
    method, see `thrifty.tuning.choice`. A model that spends more than the budget on all rows is calibrated: its knob,
    such as the cost weight, is moved until it does not, see `thrifty.tuning.refits`. ``note`` of the frontier says so.
    If no point is within the budget, the one that exceeds it least is chosen, with a warning.

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
        time_limit: float | None = None,
        keep_best: bool = False,
        mix: bool = False,
        verbose: bool | float = False,
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
        self.time_limit = time_limit
        self.keep_best = keep_best
        self.mix = mix
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, groups: Any = None) -> Self:
        """Cross-validate the candidates, choose the best point within the budget, and fit it on all rows.

        Parameters
        ----------
        X : frame, array-like, or Dask DataFrame or Array of shape (n, n_features)
            Columns of numbers, booleans, dates, text or categories. Values may be missing. On Dask collections,
            `max_rows` rows are drawn at random for the cross-validation, and the kinds of columns and the levels of
            categories are learned from them; with `qid`, whole queries are drawn. The chosen model is fitted on all
            rows, on the workers; so only methods that can be fitted there are tried.
        y : array-like of shape (n,)
            Classes, numbers, or the relevance of each document.
        sample_weight : array-like of shape (n,), optional
            Weights for the fits, the mean spends and the scores.
        qid : array-like of shape (n,), optional
            The query of each row, for ranking.
        groups : array-like of shape (n,), optional
            The group of each row, such as a patient. Rows of one group are held out together. A splitter gets them.

        Returns
        -------
        self : object
            The fitted search.
        """
        self._refuse_bad_parameters()
        candidates, far = candidates_of(self.estimators), None
        if is_collection(X):
            far, (X, y, sample_weight, qid, groups) = drawn(self, X, y, sample_weight, qid, groups)
        everything = checked_rows(self, X, y, sample_weight, qid)
        groups = checked_groups(groups, everything)
        task = Task.of(everything.y, everything.qid, self.task, given_estimators(candidates))
        if task.has_classes:
            refuse_one_class(everything.y)
            if far:
                far.refuse_lost_classes(everything.y)
        self.cost_model_ = resolved_costs(self, common_costs(candidates) if self.costs is None else self.costs)
        self.error_costs_ = self._parsed_error_costs(task, everything.y)
        self.scoring_ = self._settled_scoring(task, everything)
        self._terms = self._asked(task)
        encoder = learned_encoder(everything, self.cost_model_, self.kinds, owner="BudgetSearchCV")
        folds, is_sample = self._folds(everything, encoder, groups)
        if far:
            candidates = fitted_there(candidates, folds.problem, far)
        self._data = None if far else Data(everything, encoder, folds)
        survey = self._survey(folds, candidates, far.n_rows if far else len(everything))
        self._tabulate(survey)
        if self.refit:
            whole = self._terms.problem(everything, encoder) if is_sample else folds.problem
            whole = far.problem(whole) if far else whole
            self._choose(survey, whole)
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

    def _asked(self, task: Task) -> Terms:
        return Terms(
            costs=self.cost_model_,
            kinds=self.kinds,
            task=task,
            budget=self.budget,
            cap=self.cap,
            scoring=self.scoring_,
            confidence=self.confidence,
            error_costs=self.error_costs_,
            class_weight=self.class_weight,
        )

    def _folds(self, everything: Rows, encoder: TableEncoder, groups: Any) -> tuple[Folds, bool]:
        """Return the folds, and whether they consist of a sample of the rows."""
        options = {"stratify": self._terms.task.has_classes, "random_state": self.random_state}
        drawn = drawn_positions(everything, self.max_rows, **options)
        is_sample = len(drawn) < len(everything)
        rows = everything.take(drawn) if is_sample else everything
        groups = None if groups is None else groups[drawn]
        positions = folds_of(rows, self.cv, groups=groups, drawn=drawn if is_sample else None, **options)
        return Folds(rows, self._terms.problem(rows, encoder), positions, self.random_state), is_sample

    def _survey(self, folds: Folds, candidates: Any, n_refitted: int) -> Survey:
        """Measure the candidates."""
        title, every = ("Searching" if self.verbose else None), SECONDS_BETWEEN_LINES
        if not isinstance(self.verbose, bool | np.bool_):
            every = float(self.verbose)
        clock = Clock(self.time_limit, n_workers(self.n_jobs), n_refitted)
        with measured_progress(title, every=every) as show:
            survey = Survey(folds, self.scoring_, clock, self.n_jobs, show)
            try:
                self._run_stages(survey, candidates, show)
            except KeyboardInterrupt:
                if not self.keep_best or not any(trial.measured for trial in survey.trials):
                    raise
                survey.note_interruption()
        return survey

    def _run_stages(self, survey: Survey, candidates: Any, show: Any) -> None:
        listed, named = sweeps(candidates, survey.folds.problem, self.random_state)
        show("the constant answer, and all columns", 0.0)
        self._anchor_scores = anchor_scores(survey.folds, self.scoring_, everything=survey.clock.limit is None)
        constant = np.nan_to_num(self._anchor_scores[:, 0])
        stages = Stages(survey, self.budget, self.confidence, constant, self.mix)
        survey.show = stages.shown_with_best(show, self.cost_model_.unit)
        stages.run(listed, named)
        if survey.clock.limit is not None and survey.clock.left > stages.reserve() + seconds_of_everything(survey):
            self._anchor_scores = anchor_scores(survey.folds, self.scoring_)

    def _tabulate(self, survey: Survey) -> None:
        """Set ``frontier_``, ``anchors_`` and ``cv_results_``."""
        table = frontier_table(survey, self.confidence)
        if (table["error"] != "").all():
            raise ValueError(f"BudgetSearchCV: every candidate failed. The first error is: {table['error'].iloc[0]}")
        table["within_budget"] = table["spend_bound"] <= (np.inf if self.budget is None else self.budget)
        self.frontier_, self.cv_results_ = table, cv_results(table, survey)
        self.anchors_ = anchors_table(self._anchor_scores, self.cost_model_.total)

    def _choose(self, survey: Survey, whole: Problem) -> None:
        """Fit points on all rows in the order of preference, until one stays within the budget on all rows too."""
        self._places = [(point.trial.batch, point.k) for point in survey.points()]
        points, are_within = preferred_points(self.frontier_, self._terms)
        points, fits_in_time = survey.refitted_in_time(points)
        refits = Refits(self._places, whole if fits_in_time else survey.folds.problem, lambda: survey.clock.left)
        self.best_index_, fitted = refits.first_within(points, self.budget if are_within else None)
        for point, note in refits.notes.items():
            self.frontier_.loc[point, "note"] = note
        line = self.frontier_.loc[self.best_index_]
        if not are_within:
            self._terms.warn_of_excess(line, stacklevel=4)
        self.best_score_, self.best_params_ = float(line["score"]), line["parameters"]
        self.promise_ = self._terms.promise(line, refits.mean_spend(fitted))
        self.best_estimator_ = self._terms.model(self, refits, self.best_index_, fitted, self.promise_)

    def at_budget(self, budget: float, cap: float | None = None) -> TableModel:
        """Return the model for another budget, from the points that the search has measured.

        The chosen point is fitted on all rows. If the cap is smaller than that of the search, points are measured again
        under it on all folds, the preferred ones first, until the preferred point has been measured. If the search may
        mix models, mixtures for this budget are measured too.

        Parameters
        ----------
        budget : float
            Bound on the mean spend per row.
        cap : float, optional
            Hard limit on each row's spend. If the search has a cap too, the smaller one holds.

        Returns
        -------
        TableModel
            With its promise.
        """
        check_is_fitted(self)
        data = getattr(self, "_data", None)
        if data is None:
            raise ValueError(
                "BudgetSearchCV.at_budget: the training rows were not saved with the search. Fit the search again, or "
                "save the model to a file and pass the rows to `thrifty refit`."
            )
        terms = with_limits(self._terms, budget, cap)
        whole = terms.problem(data.rows, data.encoder)
        folds = data.folds.under(terms.cap)
        is_measured = terms.cap == self._terms.cap
        return model_for_budget(self, whole, terms, self.frontier_, self._places, folds, is_measured, self.mix)[0]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_data"}

    _refuse_unless = BudgetedEstimator._refuse_unless

    def _refuse_bad_parameters(self) -> None:
        def check(name: str, valid: bool, expected: str) -> None:
            self._refuse_unless(valid, name, getattr(self, name), expected)

        for name in ("budget", "cap"):
            value = getattr(self, name)
            check(name, value is None or is_number(value, 0), "a finite number of at least 0, or None")
        check("confidence", is_number(self.confidence) and 0 < self.confidence < 1, "a share between 0 and 1")
        is_splitter = hasattr(self.cv, "split") or isinstance(self.cv, Iterable)
        check("cv", is_whole(self.cv, 2) or (is_splitter and not isinstance(self.cv, str)), CV)
        valid = self.time_limit is None or (is_number(self.time_limit, 0) and self.time_limit > 0)
        check("time_limit", valid, "a number of seconds above 0, or None")
        check("keep_best", is_flag(self.keep_best), "True or False")
        check("mix", is_flag(self.mix), "True or False")
        check("mix", not self.mix or self.budget is not None, "False, because there is no budget")
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
