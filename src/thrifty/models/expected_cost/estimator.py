"""What trees and cascades under expected cost have in common: from rows to a fitted `LinearTree`."""

import warnings
from abc import abstractmethod
from collections.abc import Iterable
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer

from thrifty.costs import CostModel, Ledger
from thrifty.kernels.threads import scipy_on_one_thread
from thrifty.metrics.scoring import query_metric, scorer_of
from thrifty.models.expected_cost.block import solve_by_blocks
from thrifty.models.expected_cost.fine_tuning import Answer, as_log_odds
from thrifty.models.expected_cost.hardening import harden, linear_nodes
from thrifty.models.expected_cost.joint import Solution, solve_jointly
from thrifty.models.expected_cost.objective import Objective, Parameters
from thrifty.models.expected_cost.penalties import PathPenalty, Penalty
from thrifty.models.expected_cost.standardised import Scales, Standardised, standardise
from thrifty.models.expected_cost.start import start
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.watching import Watcher
from thrifty.models.held_out import given_rows, hold_out
from thrifty.models.least_squares.calibration import prior_scores
from thrifty.models.linear_nodes.estimator import TreeEstimator
from thrifty.models.linear_nodes.feature_maps import map_features
from thrifty.models.linear_nodes.tree import LinearTree
from thrifty.models.parameters import ascending_cost_weights, is_number, is_whole
from thrifty.models.rows import Rows

USUAL_SHARPNESS = {"squared": 20.0, "logistic": 5.0}  # log-odds spread about four times as wide as +-1
PATH_POINTS, PATH_END = 8, 1e-2
SOLVERS = {"joint": solve_jointly, "block": solve_by_blocks}


@dataclass(eq=False)
class Problem:
    """Training data made ready: the objective over standardised columns, and the way back from there."""

    objective: Objective
    cost_model: CostModel  # of the columns that the nodes are linear in
    prices: np.ndarray  # of those columns, each on its own
    scales: Scales
    prior: np.ndarray
    n_rows: float
    held_out: Rows | None  # rows to validate on


class ExpectedCostEstimator(TreeEstimator):
    """Fit a tree or cascade of linear classifiers to its expected loss and cost.

    A subclass says which shape it has, which penalty it pays and how rows count (`_shape`, `_penalty`,
    `_loss_weight`, `_by_exit`).
    """

    _by_exit = False

    @scipy_on_one_thread()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None, validation: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        qid : array-like of shape (n,), optional
            Query of each row, for scores by query; rows of one query are held out together.
        validation : tuple of (X, y) or (X, y, qid), optional
            Rows to choose the structure and to stop early by, where asked for. By default a share
            ``validation_fraction`` of the rows is held out.
        """
        self._refuse_bad_parameters()
        problem = self._pose(X, y, sample_weight, qid, validation)
        topology, parameters = self._structured(problem)
        problem.objective = problem.objective.along(topology)
        return self._settle(problem, self._solved(problem, parameters))

    @scipy_on_one_thread()
    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] | None = None,
        qid: Any = None,
        validation: Any = None,
    ) -> list[Self]:
        """Return one fitted model per cost weight, from the largest weight to the smallest.

        The structure is chosen once, at the smallest cost weight. From there each next model starts where the one
        before ended, so that a sweep takes far less than as many fits. By default eight cost weights are taken, from
        one at which a single node would buy nothing down to a hundredth of it.
        """
        template = clone(self)
        template._refuse_bad_parameters()
        problem = template._pose(X, y, sample_weight, qid, validation)
        ascending = self._ascending(cost_weights, problem)
        problem.objective = replace(problem.objective, cost_weight=ascending[0])
        topology, parameters = template._structured(problem)
        models = []
        for cost_weight in ascending:
            problem.objective = replace(problem.objective.along(topology), cost_weight=cost_weight)
            solution = template._solved(problem, parameters)
            parameters = solution.parameters
            model = copy(template).set_params(cost_weight=cost_weight)
            models.append(model._settle(problem, solution))
        return models[::-1]

    def usual_cost_weights(self, X: Any, y: Any, sample_weight: Any = None) -> np.ndarray:
        """Return the cost weights that ``path`` takes by default for these rows, the largest first."""
        template = clone(self)
        template._refuse_bad_parameters()
        return np.array(template._ascending(None, template._pose(X, y, sample_weight, None, None))[::-1])

    def _ascending(self, cost_weights: Any, problem: Problem) -> list[float]:
        if cost_weights is None and not problem.prices.any():
            return [float(self.cost_weight)]  # where nothing costs anything there is nothing to weigh
        if cost_weights is None:
            return (np.geomspace(PATH_END, 1.0, PATH_POINTS) * problem.objective.largest_cost_weight()).tolist()
        return ascending_cost_weights(cost_weights, type(self).__name__)

    # What a subclass says

    @abstractmethod
    def _shape(self) -> Topology:
        """Return the tree to begin with."""

    def _penalty(self, cost_model: CostModel, columns: np.ndarray, topology: Topology) -> Penalty:
        """Return the relaxed expected cost of these columns."""
        return PathPenalty(cost_model, columns, topology)

    def _loss_weight(self, targets: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return how much each row's loss counts."""
        return weight

    def _facing(self, targets: np.ndarray, weight: np.ndarray) -> float:
        """Return 1 if rows of a high score go above a threshold, -1 if those of a low one do."""
        return 1.0

    def _structured(self, problem: Problem) -> tuple[Topology, Parameters]:
        """Return the structure and where the descent starts."""
        return problem.objective.topology, start(problem.objective)

    # From rows to a problem

    def _pose(self, X: Any, y: Any, sample_weight: Any, qid: Any, validation: Any) -> Problem:
        rows, held = self._validated(X, y, sample_weight, qid), None
        targets = self._targets(rows.y)
        if self._validates():
            rows, held = (rows, given_rows(self, validation)) if validation is not None else hold_out(self, rows)
            targets = self._encoded(rows.y)
            self._refuse_missing_classes(targets)
        values, cost_model = map_features(self, rows)
        prices = Ledger(cost_model).prices
        shared = cost_model.requirement.sum(axis=0) > 1
        private = np.logical_not(cost_model.requirement[:, shared].any(axis=1))
        data = standardise(values, targets, rows.weight, prices, private, scale_targets=not is_classifier(self))
        prior = prior_scores(targets, self._loss_weight(targets, rows.weight), is_classifier(self))
        objective = self._objective(data, cost_model)
        return Problem(objective, cost_model, prices, data.scales, prior, rows.weight.sum(), held)

    def _refuse_missing_classes(self, targets: np.ndarray) -> None:
        """Refuse to fit when all rows of a class are held out."""
        counts = (targets > 0).sum(axis=0) if targets.shape[1] > 1 else [(targets < 0).sum(), (targets > 0).sum()]
        if is_classifier(self) and not np.all(counts):
            missing = self.classes_.tolist()[int(np.argmin(counts))]
            raise ValueError(
                f"{type(self).__name__}: all rows of class {missing!r} are held out for validation. "
                "Pass validation=(X, y, qid), or another random_state."
            )

    def _validates(self) -> bool:
        return bool(self.early_stopping)

    def _objective(self, data: Standardised, cost_model: CostModel) -> Objective:
        weight, topology = data.count / data.count.sum(), self._shape()
        return Objective(
            X=data.X,
            targets=data.targets,
            weight=weight,
            loss_weight=self._loss_weight(data.targets, weight),
            topology=topology,
            penalty=self._penalty(cost_model, data.scales.columns, topology),
            cost_weight=float(self.cost_weight),
            l1_weight=float(self.l1_weight),
            sharpness=self._sharpness(),
            logistic=self.loss == "logistic",
            by_exit=self._by_exit,
            facing=self._facing(data.targets, weight),
        )

    def _sharpness(self) -> float:
        return USUAL_SHARPNESS[self.loss] if self.sharpness is None else float(self.sharpness)

    # From a problem to a tree

    def _solved(self, problem: Problem, parameters: Parameters) -> Solution:
        title = type(self).__name__ if self.verbose else None
        score = partial(self._validation_score, problem, problem.objective) if self.early_stopping else None
        with Watcher(self.max_iter, title, score) as watcher:
            solution = SOLVERS[self.solver](
                problem.objective, parameters, max_iter=self.max_iter, tol=self.tol, watch=watcher.watch
            )
        self.validation_scores_ = watcher.scores
        if watcher.best is not None:
            solution.parameters = watcher.best
        elif solution.residual > self.tol:
            n_rounds = len(solution.history) - 1
            advice = (
                "Raise max_iter or tol." if n_rounds >= self.max_iter else "It got no further; raise tol to accept."
            )
            warnings.warn(
                f"{type(self).__name__} ended after {n_rounds} rounds with an optimality residual of "
                f"{solution.residual:.2g}, above tol={self.tol:g}. {advice}",
                ConvergenceWarning,
                stacklevel=4,
            )
        return solution

    def _validation_score(self, problem: Problem, objective: Objective, parameters: Parameters) -> float:
        """Score a tree just as it was learned, in the objective's structure, on the validation rows."""
        candidate = copy(self)
        if hasattr(candidate, "feature_names_in_"):
            del candidate.feature_names_in_  # validation rows are plain arrays by now
        candidate.tree_ = self._tree(problem, objective, parameters, fine_tune=None)
        held: Any = problem.held_out
        if self.scoring is None:
            return float(candidate.score(held.X, held.y))
        return scorer_of(self.scoring)(candidate, held.X, held.y, held.qid)

    def _settle(self, problem: Problem, solution: Solution) -> Self:
        self.objective_ = solution.history
        self.residual_ = solution.residual
        self.converged_ = bool(solution.residual <= self.tol)
        self.n_iter_ = len(solution.history) - 1
        self.tree_ = self._tree(problem, problem.objective, solution.parameters, self.fine_tune)
        return self

    def _tree(self, problem: Problem, objective: Objective, parameters: Parameters, fine_tune: Any) -> LinearTree:
        """Return the tree that answers."""

        def finish(answer: Answer, reach: np.ndarray) -> Answer:
            if is_classifier(self):
                return answer if fine_tune is None else as_log_odds(answer, objective, reach, problem.n_rows)
            spread = problem.scales.target_deviation
            return Answer(answer.weights * spread, answer.intercepts * spread + problem.scales.target_mean)

        scales = problem.scales
        hard = harden(objective, parameters, problem.prices[scales.columns], fine_tune, finish, problem.n_rows)
        fill = scales.mean[np.argsort(scales.columns)]
        return LinearTree(linear_nodes(hard, scales), problem.prior, problem.cost_model, fill)

    # Parameters

    def _refuse_bad_parameters(self) -> None:
        for name in ("cost_weight", "l1_weight", "tol"):
            value = getattr(self, name)
            self._refuse_unless(is_number(value, 0), name, value, "a number of at least 0")
        sharp = self.sharpness is None or is_number(self.sharpness, np.finfo(float).tiny)
        self._refuse_unless(sharp, "sharpness", self.sharpness, "a number above 0, or None")
        for name, choices in self._choices().items():
            value = getattr(self, name)
            known = value is None or isinstance(value, str)
            self._refuse_unless(known and value in choices, name, value, "one of " + ", ".join(map(repr, choices)))
        if isinstance(self.scoring, str) and query_metric(self.scoring) is None:
            get_scorer(self.scoring)  # refuses what it does not know
        for name in self._whole_numbers():
            value = getattr(self, name)
            self._refuse_unless(is_whole(value, 1), name, value, "a whole number of at least 1")
        share = self.validation_fraction
        fine = is_number(share) and bool(0 < share < 1)
        self._refuse_unless(fine, "validation_fraction", share, "a share between 0 and 1")

    def _choices(self) -> dict[str, tuple[Any, ...]]:
        losses = ("squared", "logistic") if is_classifier(self) else ("squared",)
        return {"loss": losses, "solver": tuple(SOLVERS), "fine_tune": ("support", "held", None)}

    def _whole_numbers(self) -> tuple[str, ...]:
        return ("max_iter",)
