"""AND-OR cascades: stages of features that are assigned to them beforehand, trained together.

M. Dundar, J. Bi. Joint Optimization of Cascaded Classifiers for Computer Aided Detection. CVPR 2007; here as in the
comparison of Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle, JMLR 15, 2014, section 6.3.

Every stage has to accept a row of the rare class, so the largest of its losses at the stages counts (AND). A single
stage is enough to reject any other row, so the smallest of its losses counts (OR). Each unit of cost is paid once for
the whole chain, for the norm of all weights that require it: the penalty of a path that every row takes to its end.

Where stages tie, the largest and the smallest loss have kinks. The solver sees them rounded off, and a round of it
stands only if the objective itself has not risen.
"""

from dataclasses import dataclass, fields, replace
from typing import Any, cast

import numpy as np
from scipy.special import expit

from thrifty.costs import CostModel, Ledger
from thrifty.models.expected_cost.cascade import CascadeClassifier
from thrifty.models.expected_cost.estimator import Problem
from thrifty.models.expected_cost.fine_tuning import Answer, as_log_odds, fit_answer
from thrifty.models.expected_cost.leaves import fit_leaves
from thrifty.models.expected_cost.objective import Evaluation, Objective, Parameters, Traversal
from thrifty.models.expected_cost.standardised import Standardised
from thrifty.models.expected_cost.start import MOST_ROWS
from thrifty.models.expected_cost.topology import UPPER, Topology
from thrifty.models.linear_nodes.tree import LinearTree

TEMPERATURE = 0.01  # losses that differ by less count as nearly tied


class AndOrClassifier(CascadeClassifier):
    """Cascade of classifiers that all must accept, each of which may reject, for two classes of which one is rare.

    A stage may weigh only features whose price is within its limit, so that dear ones are bought late. Rows that a
    stage gives a score of the common class leave there and are answered with it; the others go on, and the last
    stage answers what gets to it.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each, and so a single stage.
    cost_weight : float, default=0.01
        Penalty per unit of cost, on columns of unit variance.
    n_stages : int, default=5
        Stages at most, where ``price_limits`` does not say how many.
    price_limits : sequence of float or None
        For each stage, the highest price of a feature that it may use; rising. A feature's price is what acquiring it
        alone would cost, its bundles included; that of a tree of the feature map is the price of all that it reads
        and its evaluation. Features above the last limit are not used. ``None`` shares out the distinct prices
        evenly, so that every stage may use something dearer than the stage before and the last may use all.
    class_weight : dict, "balanced" or None, default="balanced"
        How much the loss of each class counts. All stages reject at even odds, so that without weights a rare class
        might not get past the first.
    loss : {"squared", "logistic"}, default="squared"
        Loss of a stage, with targets of +-1.
    l1_weight : float, default=1e-5
        Weight of the plain l1 norm of all weights.
    fine_tune : {"support", "held"} or None, default="support"
        Refit the answer of the last stage without the cost penalty, on the features that it weighs itself, or on
        everything that is held there, and calibrate the scores of all stages to log-odds. Who is rejected where does
        not change. ``None`` answers just as it was learned.
    feature_map : None, forest or BoostedFeatureMap
        None: stages are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: stages are linear in the outputs of its trees, which cost what they read and, if the map
        says so, their evaluation. A forest that is not fitted is fitted on the training rows first.
    scoring : str, callable or None
        Score on validation rows, larger is better: a scikit-learn scorer, ``"ndcg@k"`` or ``"precision@k"`` by
        query (pass ``qid``), or None for the estimator's own ``score``.
    early_stopping : bool, default=False
        Keep the parameters of the best validation score, and stop when it has not risen for a few rounds.
    validation_fraction : float, default=0.2
        Share of the rows held out where validation is needed and ``fit`` is not given any.
    max_iter : int, default=100
        Rounds of the solver at most.
    tol : float, default=0.05
        Largest optimality residual at which the solver is content: the steepest slope left, in units of the slope
        that a column equal to the target would have at first.
    verbose : bool, default=False
        Show a progress bar.
    random_state : int, RandomState or None
        Draws the validation rows; nothing else is random.

    Attributes
    ----------
    price_limits_ : ndarray of shape (n_stages,)
        The highest price that each stage may use.
    tree_ : LinearTree
        The fitted stages: the upper child of each is the next, below its threshold a row leaves.
    objective_ : list of float
        The objective at the start and after each round; it never rises.
    residual_ : float
        The optimality residual at the end.
    converged_ : bool
        Whether it is at most ``tol``.
    n_iter_ : int
        Rounds done.
    validation_scores_ : list of float
        Scores of the rounds, with early stopping.
    feature_map_ : BoostedFeatureMap or None
        The feature map in use.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    classes_ : ndarray of shape (2,)
        The classes. The rarer one is accepted or rejected; if both are as frequent, the second.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    References
    ----------
    Dundar, Bi (2007). Joint Optimization of Cascaded Classifiers for Computer Aided Detection. CVPR.

    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 6.3.

    Examples
    --------
    The limits of the paper: no row that leaves the first stage has paid for a feature of more than 5.

    >>> from thrifty import AndOrClassifier
    >>> from thrifty.datasets import make_ltr_skewed
    >>> data = make_ltr_skewed(20, n_features=30, random_state=0)
    >>> model = AndOrClassifier(costs=data.costs, price_limits=[5, 20, 50, 150, 200], cost_weight=1e-4)
    >>> spend = model.fit(data.X, data.y).spend(data.X)
    >>> bool(data.costs.unit_costs[model.node_purchases()[0]].max() <= 5)
    True
    >>> bool(spend[data.y == 0].mean() < 0.6 * spend[data.y == 1].mean())
    True
    """

    solver, sharpness = "joint", None  # no parameters: there is one solver, and no soft traversal

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        n_stages: int = 5,
        price_limits: Any = None,
        class_weight: Any = "balanced",
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

    # From rows to a problem

    def _targets(self, y: np.ndarray) -> np.ndarray:
        targets = super()._targets(y)
        if len(self.classes_) > 2:
            raise ValueError(
                f"{type(self).__name__}: y has {len(self.classes_)} classes. Only binary classification is supported. "
                "Merge the classes that are to be rejected, or use CSTCClassifier."
            )
        return targets

    def _objective(self, data: Standardised, cost_model: CostModel) -> "AndOrObjective":
        prices = Ledger(cost_model).prices[data.scales.columns]
        self.price_limits_ = self._limits(prices)
        allowed = prices <= self.price_limits_[:, None]
        plain = super()._objective(data, cost_model).along(Topology.cascade(len(allowed)))
        return AndOrObjective(**_fields(plain), allowed=allowed, temperature=TEMPERATURE)

    def _limits(self, prices: np.ndarray) -> np.ndarray:
        """Return the limits given, or those that share out the distinct prices, leaving none to share at the end."""
        if self.price_limits is not None:
            return np.asarray(self.price_limits, dtype=float)
        distinct = np.unique(prices)
        n_stages = min(self.n_stages, len(distinct))
        return distinct[np.arange(1, n_stages + 1) * len(distinct) // n_stages - 1]

    def _structured(self, problem: Problem) -> tuple[Topology, Parameters]:
        return problem.objective.topology, start_stages(cast(AndOrObjective, problem.objective))

    # From a problem to a tree

    def _tree(self, problem: Problem, objective: Objective, parameters: Parameters, fine_tune: Any) -> LinearTree:
        if fine_tune is not None:
            parameters = self._fine_tuned(problem, objective, parameters, fine_tune)
        return super()._tree(problem, objective, parameters, None)

    def _fine_tuned(self, problem: Problem, objective: Objective, parameters: Parameters, fine_tune: str) -> Parameters:
        """Return stages that score in log-odds, with thresholds at which they reject whom they rejected before."""
        reach = objective.traverse(parameters).reach
        reach[:, ~reach.any(axis=0)] = 1.0  # nobody gets there, so anybody is to tell what it would answer
        answers = [Answer(*stage) for stage in zip(parameters.weights, parameters.intercepts, strict=True)]
        answers[-1] = self._refitted(problem, objective, parameters, reach[:, -1], fine_tune)
        tuned = [as_log_odds(answer, objective, reach[:, k], problem.n_rows) for k, answer in enumerate(answers)]
        weights, intercepts = np.array([t.weights for t in tuned]), np.array([t.intercepts for t in tuned])
        border = objective.facing * (intercepts - _slopes(parameters.weights, weights) * parameters.intercepts)[:, 0]
        border[-1] = 0.0  # there is none: what gets to the last stage ends there
        intercepts -= objective.facing * np.maximum(border, 0.0)[:, None]  # the rejected are not to be called rare
        return Parameters(weights, intercepts, np.minimum(border, 0.0), parameters.directions)

    @staticmethod
    def _refitted(
        problem: Problem, objective: Objective, parameters: Parameters, reach: np.ndarray, fine_tune: str
    ) -> Answer:
        """Return the last stage's answer without the cost penalty."""
        weighed = parameters.squares() > 0
        columns = np.flatnonzero(weighed[-1] if fine_tune == "support" else weighed.any(axis=0))
        needless = (problem.prices[problem.scales.columns] > 0) & ~weighed[:-1].any(axis=0)
        return fit_answer(Objective(**_fields(objective)), columns, reach, needless)

    # Parameters

    def _refuse_bad_parameters(self) -> None:
        super()._refuse_bad_parameters()
        if self.price_limits is None:
            return
        try:
            limits = np.asarray(self.price_limits, dtype=float)
        except (TypeError, ValueError):
            limits = np.array(np.nan)
        rising = limits.ndim == 1 and limits.size > 0 and (limits >= 0).all() and (limits[1:] >= limits[:-1]).all()
        self._refuse_unless(bool(rising), "price_limits", self.price_limits, "rising prices, one per stage, or None")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


@dataclass(frozen=True, eq=False, kw_only=True)
class AndOrObjective(Objective):
    """Loss by AND and OR, plus the cost of one path of all stages.

    ``value`` is the objective. ``evaluate``, by which the solver descends, takes the largest and smallest losses as
    soft ones, which differ by at most ``temperature`` times the logarithm of the number of stages.
    """

    allowed: np.ndarray  # (K, d) features that a stage may weigh; the solver asks only about those it does not yet
    temperature: float

    @property
    def rare(self) -> np.ndarray:
        """Mark the rows that every stage has to accept."""
        return self.facing * self.targets[:, 0] > 0

    def value(self, parameters: Parameters) -> float:
        """Return the objective itself."""
        return super(AndOrObjective, replace(self, temperature=0.0)).value(parameters)

    def traverse(self, parameters: Parameters, scores: np.ndarray | None = None) -> "OnePath":
        """Send all rows along all stages."""
        return OnePath.of(self, parameters, self.scores(parameters) if scores is None else scores)

    def first_price(self, parameters: Parameters, evaluation: Evaluation) -> np.ndarray:
        """Return what the first bit of each weight that is zero costs (K, d): no end where it is not allowed."""
        return np.where(self.allowed, super().first_price(parameters, evaluation), np.inf)


class OnePath(Traversal):
    """All rows at all stages, whose losses and costs count in full; `reach` tells who would get there all the same."""

    @classmethod
    def of(cls, objective: Objective, parameters: Parameters, scores: np.ndarray) -> "OnePath":
        """Compute who is accepted by which stages."""
        accepted = parameters.directions[:, 0] * scores > parameters.thresholds
        reach, exit_mass = np.ones(scores.shape), np.zeros((scores.shape[1], 2))
        reach[:, 1:] = np.logical_and.accumulate(accepted[:, :-1], axis=1)
        exit_mass[-1, UPPER] = 1.0
        return cls(objective, parameters, scores, accepted, reach, np.ones(len(exit_mass)), exit_mass)

    def pull_back(self, node_price: np.ndarray, exit_price: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the loss and its derivatives by the scores; nothing depends on the thresholds, so they stay."""
        objective = cast(AndOrObjective, self.objective)
        losses, slopes = stage_losses(self.scores, objective.targets, objective.logistic)
        sign = np.where(objective.rare, 1.0, -1.0)  # the smallest is minus the largest of the negatives
        largest, share = soft_largest(sign[:, None] * losses, objective.temperature)
        residual = objective.loss_weight[:, None] * share * slopes
        return float(objective.loss_weight @ (sign * largest)), residual, np.zeros(losses.shape[1])


def stage_losses(scores: np.ndarray, targets: np.ndarray, logistic: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss (n, K) of each score and its derivative, for targets (n, 1) of +-1."""
    if logistic:
        margins = targets * scores
        return np.logaddexp(0.0, -margins), -targets * expit(-margins)
    return (scores - targets) ** 2, 2.0 * (scores - targets)


def soft_largest(values: np.ndarray, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    """Return temperature * log(sum of exp(values / temperature)) of each row, and its derivatives (n, K)."""
    largest = values.max(axis=1)
    if temperature == 0.0:
        return largest, np.eye(values.shape[1])[values.argmax(axis=1)]
    powers = np.exp((values - largest[:, None]) / temperature)
    total = powers.sum(axis=1)
    return largest + temperature * np.log(total), powers / total[:, None]


def start_stages(objective: AndOrObjective) -> Parameters:
    """Fit the stages from first to last, each to tell the rare rows from those that none before it rejects."""
    sample = objective.sample(MOST_ROWS)
    n_stages, n_features = objective.allowed.shape
    parameters = Parameters(
        weights=np.zeros((n_stages, 1, n_features)),
        intercepts=np.zeros((n_stages, 1)),
        thresholds=np.full(n_stages, -np.inf),  # for now, no stage keeps a row from the next
        directions=np.full((n_stages, 1), objective.facing),
    )
    left = np.ones(len(sample.X), dtype=bool)
    for k in range(n_stages):
        parameters.weights[k, 0] = objective.allowed[k]
        rows = replace(sample, loss_weight=_evened(cast(AndOrObjective, sample), left))
        parameters = fit_leaves(rows, parameters, np.array([k]), from_here=True)
        if not parameters.weights[k].any():
            parameters.intercepts[k] = objective.facing  # a stage that cannot tell rows apart lets them pass
        left &= objective.facing * sample.scores(parameters)[:, k] > 0
    return replace(parameters, thresholds=np.zeros(n_stages))


def _evened(objective: AndOrObjective, left: np.ndarray) -> np.ndarray:
    """Return weights of the rare rows and of the others that are left, both sides weighing the same."""
    weight = objective.loss_weight * (objective.rare | left)
    for side in (objective.rare, ~objective.rare):
        weight[side] *= 0.5 * objective.loss_weight.sum() / max(weight[side].sum(), np.finfo(float).tiny)
    return weight


def _slopes(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Return the factors (K, 1) between weights (K, 1, d); where there are no weights, any will do."""
    lengths = np.linalg.norm(before, axis=2)
    return np.divide(np.linalg.norm(after, axis=2), lengths, out=np.ones_like(lengths), where=lengths > 0)


def _fields(objective: Objective) -> dict[str, Any]:
    """Return what a plain objective is made of."""
    return {field.name: getattr(objective, field.name) for field in fields(Objective) if field.init}
