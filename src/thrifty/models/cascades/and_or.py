"""AND-OR cascades.

M. Dundar, J. Bi. Joint Optimization of Cascaded Classifiers for Computer Aided Detection. CVPR 2007; as described in
section 6.3 of Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle, JMLR 15, 2014.

All stages have to accept a row of the rare class, so its loss is the largest of its losses at the stages (AND). One
stage is enough to reject a row of the other class, so its loss is the smallest (OR). Which features a stage may use
is settled beforehand, by their prices.
"""

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy.special import expit

from thrifty.costs import CostModel, Ledger
from thrifty.models.cascades.cascade import CascadeClassifier
from thrifty.models.expected_cost.estimator import Problem
from thrifty.models.expected_cost.fine_tuning import Answer, as_log_odds, fit_answer
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Evaluation, Objective, Parameters, Traversal
from thrifty.models.expected_cost.standardised import Standardised
from thrifty.models.expected_cost.start import MOST_ROWS
from thrifty.models.expected_cost.topology import UPPER, Topology
from thrifty.models.trees.linear_tree import LinearTree

TEMPERATURE = 0.03
BALANCED = True


@dataclass(frozen=True, eq=False)
class AndOrObjective(Objective):
    allowed: np.ndarray = None
    temperature: float = 0.03

    @classmethod
    def of(cls, plain: Objective, allowed: np.ndarray) -> "AndOrObjective":
        return cls(
            **{f.name: getattr(plain, f.name) for f in fields(plain) if f.init},
            allowed=allowed,
            temperature=TEMPERATURE,
        )

    @property
    def positive(self) -> np.ndarray:
        return self.facing * self.targets[:, 0] > 0

    def value(self, parameters: Parameters) -> float:
        return replace(self, temperature=0.0).evaluate(parameters).value

    def traverse(self, parameters: Parameters, scores: np.ndarray | None = None) -> Traversal:
        return EveryStage.of(self, parameters, self.scores(parameters) if scores is None else scores)

    def first_price(self, parameters: Parameters, evaluation: Evaluation) -> np.ndarray:
        return np.where(self.allowed, super().first_price(parameters, evaluation), np.inf)


class EveryStage(Traversal):
    @classmethod
    def of(cls, objective, parameters, scores):
        n, K = scores.shape
        passed = scores * parameters.directions[:, 0] > parameters.thresholds
        reach = np.cumprod(np.column_stack([np.ones(n), passed[:, :-1]]), axis=1)
        exit_mass = np.zeros((K, 2))
        exit_mass[-1, UPPER] = 1.0
        return cls(objective, parameters, scores, passed, reach, np.ones(K), exit_mass)

    def pull_back(self, node_price, exit_price):
        objective = self.objective
        losses, slopes = stage_losses(self.scores, objective.targets, objective.logistic)
        positive = objective.positive
        share = np.zeros_like(losses)
        loss = np.empty(len(losses))
        loss[positive], share[positive] = smooth_max(losses[positive], objective.temperature)
        lowest, share[~positive] = smooth_max(-losses[~positive], 0.0)
        loss[~positive] = -lowest
        residual = objective.loss_weight[:, None] * share * slopes
        return float(objective.loss_weight @ loss), residual, np.zeros(losses.shape[1])


def stage_losses(scores, targets, logistic):
    if logistic:
        margins = targets * scores
        return np.logaddexp(0.0, -margins), -targets * expit(-margins)
    return (scores - targets) ** 2, 2.0 * (scores - targets)


def smooth_max(values, temperature):
    highest = values.max(axis=1)
    if temperature == 0.0:
        return highest, np.eye(values.shape[1])[values.argmax(axis=1)]
    above = np.exp((values - highest[:, None]) / temperature)
    total = above.sum(axis=1)
    return highest + temperature * np.log(total), above / total[:, None]


def start(objective: AndOrObjective) -> Parameters:
    sample = objective.sample(MOST_ROWS)
    K, d = objective.allowed.shape
    parameters = Parameters(
        np.zeros((K, 1, d)), np.zeros((K, 1)), np.full(K, -np.inf), np.full((K, 1), objective.facing)
    )
    alive = np.ones(len(sample.X), dtype=bool)
    for k in range(K):
        parameters.weights[k, 0] = objective.allowed[k]
        here = replace(sample, loss_weight=_evened(sample, alive))
        parameters = fit_leaves(here, parameters, np.array([k]), from_here=True)
        alive &= objective.facing * sample.scores(parameters)[:, k] > 0
    return replace(parameters, thresholds=np.zeros(K))


def _evened(objective, alive):
    positive = objective.positive
    weight = objective.loss_weight * (positive | alive)
    if not BALANCED:
        return weight
    for side in (positive, ~positive):
        weight[side] *= 0.5 * objective.loss_weight.sum() / max(weight[side].sum(), 1e-300)
    return weight


class AndOrClassifier(CascadeClassifier):
    solver = "joint"
    sharpness = None

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        n_stages: int = 5,
        price_limits: Any = None,
        class_weight: Any = None,
        loss: str = "squared",
        l1_weight: float = 1e-5,
        fine_tune: str | None = "support",
        feature_map: Any = None,
        scoring: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        max_iter: int = 100,
        tol: float = 0.05,
        verbose: bool = False,
        random_state: Any = None,
    ):
        self.costs = costs
        self.cost_weight = cost_weight
        self.n_stages = n_stages
        self.price_limits = price_limits
        self.class_weight = class_weight
        self.loss = loss
        self.l1_weight = l1_weight
        self.fine_tune = fine_tune
        self.feature_map = feature_map
        self.scoring = scoring
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _objective(self, data: Standardised, cost_model: CostModel) -> AndOrObjective:
        prices = Ledger(cost_model).prices[data.scales.columns]
        self.price_limits_ = self._limits(prices)
        plain = super()._objective(data, cost_model).along(Topology.cascade(len(self.price_limits_)))
        return AndOrObjective.of(plain, prices <= self.price_limits_[:, None])

    def _limits(self, prices: np.ndarray) -> np.ndarray:
        if self.price_limits is not None:
            return np.asarray(self.price_limits, dtype=float)
        distinct = np.unique(prices)
        n_stages = min(self.n_stages, len(distinct))
        return distinct[-(-len(distinct) * np.arange(1, n_stages + 1) // n_stages) - 1]

    def _structured(self, problem):
        return problem.objective.topology, start(problem.objective)

    def _tree(self, problem: Problem, objective: Objective, parameters: Parameters, fine_tune: Any) -> LinearTree:
        if fine_tune is not None:
            parameters = self._answering(problem, objective, parameters, fine_tune)
        return super()._tree(problem, objective, parameters, None)

    def _answering(self, problem, objective, parameters, fine_tune):
        reach = objective.traverse(parameters).reach
        K = objective.topology.n_nodes
        answers = [Answer(parameters.weights[k], parameters.intercepts[k]) for k in range(K)]
        own = parameters.squares() > 0
        columns = np.flatnonzero(own[-1] if fine_tune == "support" else own.any(axis=0))
        needless = (problem.prices[problem.scales.columns] > 0) & ~own[:-1].any(axis=0)
        answers[-1] = fit_answer(objective, columns, reach[:, -1], needless)
        scored = [as_log_odds(answer, objective, reach[:, k], problem.n_rows) for k, answer in enumerate(answers)]
        return scored
