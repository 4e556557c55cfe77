"""From a problem to a fitted estimator: choose the structure, solve, and build the tree that predicts."""

import warnings
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from thrifty.metrics.scoring import scorer_of
from thrifty.models.expected_cost.block_solver import solve_by_blocks
from thrifty.models.expected_cost.hardening import FineTune, HardNode, linear_nodes
from thrifty.models.expected_cost.joint_solver import Solution, solve_jointly
from thrifty.models.expected_cost.monitor import Monitor
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.problem import Problem
from thrifty.models.expected_cost.stationarity import Stationarity
from thrifty.models.expected_cost.structure import grown, pruned
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.linear_nodes.tree import LinearTree

SOLVERS = {"joint": solve_jointly, "block": solve_by_blocks}


def choose_structure(estimator: Any, problem: Problem) -> tuple[Topology, Parameters]:
    """Return the topology of the tree and its initial parameters."""
    objective = problem.objective
    score = partial(validation_score, estimator, problem)
    if estimator.structure == "prune":
        return pruned(objective, score)
    if estimator.structure == "grow":
        return grown(objective, estimator.max_depth, score)
    return objective.topology, problem.design.initial_parameters(objective)


def solve(estimator: Any, problem: Problem, parameters: Parameters) -> Solution:
    """Minimise the objective from initial parameters, with the solver and the early stopping of the estimator."""
    title = type(estimator).__name__ if estimator.verbose else None
    score = partial(validation_score, estimator, problem, problem.objective) if estimator.early_stopping else None
    minimise, max_iter, tol = SOLVERS[estimator.solver], estimator.max_iter, estimator.tol
    with Monitor(max_iter, title, score) as monitor:
        solution = minimise(problem.objective, parameters, max_iter=max_iter, tol=tol, callback=monitor.after_round)
    if not solution.stopped:
        _try_without_purchases(problem, solution)
    solution.validation_scores = monitor.scores
    if monitor.best is not None:
        solution.parameters = monitor.best
    elif solution.residual > tol:
        n_rounds = len(solution.history) - 1
        advice = "Raise max_iter or tol." if n_rounds >= max_iter else "More rounds would not help. Raise tol."
        warnings.warn(
            f"{type(estimator).__name__} ended after {n_rounds} rounds with an optimality residual of "
            f"{solution.residual:.2g}, above tol={tol:g}. {advice}",
            ConvergenceWarning,
            stacklevel=4,  # the caller of fit or path, which are decorated
        )
    return solution


def _try_without_purchases(problem: Problem, solution: Solution) -> None:
    """Replace a solution by one that buys nothing, if that has a lower objective: no solver takes such a long step."""
    if problem.buys(solution.parameters):
        candidate = problem.without_purchases(solution.parameters)
        if (value := problem.objective.value(candidate)) < solution.history[-1]:
            solution.parameters, solution.history[-1] = candidate, value
            solution.residual = Stationarity.of(problem.objective, candidate).residual


def validation_score(estimator: Any, problem: Problem, objective: Objective, parameters: Parameters) -> float:
    """Return the score on the validation rows of the tree that would be served. `objective` has its topology."""
    candidate = copy(estimator)
    if hasattr(candidate, "feature_names_in_"):
        del candidate.feature_names_in_  # the validation rows have become plain arrays
    candidate.tree_ = build_tree(problem, hard_nodes(problem, objective, parameters, estimator.fine_tune))
    held_out: Any = problem.held_out
    if estimator.scoring is None:
        return float(candidate.score(held_out.X, held_out.y))
    return scorer_of(estimator.scoring)(candidate, held_out.X, held_out.y, held_out.qid)


def store(estimator: Any, problem: Problem, solution: Solution) -> Any:
    """Set the fitted attributes of an estimator, and return it."""
    estimator.objective_ = solution.history
    estimator.residual_ = solution.residual
    estimator.converged_ = bool(solution.residual <= estimator.tol)
    estimator.n_iter_ = len(solution.history) - 1
    estimator.validation_scores_ = solution.validation_scores
    nodes = hard_nodes(problem, problem.objective, solution.parameters, estimator.fine_tune)
    estimator.learned_support_ = np.array([node.learned for node in nodes])[:, problem.scales.columns.argsort()]
    estimator.tree_ = build_tree(problem, nodes)
    return estimator


def hard_nodes(problem: Problem, objective: Objective, parameters: Parameters, fine_tune: FineTune) -> list[HardNode]:
    """Return the nodes of the tree that predicts, over the standardised columns. `objective` has its topology."""
    prices = problem.prices[problem.scales.columns]
    return problem.design.harden(objective, parameters, prices, problem.n_rows, fine_tune)


def build_tree(problem: Problem, nodes: list[HardNode]) -> LinearTree:
    """Return the tree that predicts, over the columns that the nodes weigh."""
    scales = problem.scales
    fill = scales.mean[scales.columns.argsort()]
    return LinearTree(linear_nodes(nodes, scales), problem.prior, problem.cost_model, fill)
