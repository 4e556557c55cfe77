"""AND-OR cascades: stages with features of limited price, trained together.

M. Dundar, J. Bi. Joint Optimization of Cascaded Classifiers for Computer Aided Detection. CVPR 2007; as in section 6.3
of Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle, JMLR 15, 2014. `and_or_objective` has the formulas.
"""

from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from thrifty.costs import CostModel, Ledger
from thrifty.models.expected_cost.and_or_objective import AndOrObjective
from thrifty.models.expected_cost.and_or_stages import initial_stages, tuned_stages
from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.hardening import FineTune, HardNode, harden
from thrifty.models.expected_cost.objective import Objective
from thrifty.models.expected_cost.standardised import Standardised
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.expected_cost.tree_parameters import Parameters
from thrifty.models.expected_cost.two_classes import TwoClassCascade
from thrifty.models.homes import Here, Home
from thrifty.models.rows import Rows
from thrifty.stored import Array, stored

USUAL_STAGES = 5


@stored(price_limits_=Array("float64", "n_limits"))
class AndOrClassifier(TwoClassCascade):
    """AND-OR cascade of linear classifiers, for two classes, one of which is rare.

    A row is predicted to be of the rare class only if all stages accept it; a single stage can reject it. A stage may
    use only features whose price is within its limit, so that expensive features are bought late. A row that a stage
    rejects leaves there with the common class as its prediction. All other rows continue, and the last stage decides
    about those that reach it.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        Cost of acquiring each feature. None means a cost of 1 each.
    cost_weight : float, default=0.01
        Weight of the expected cost in the objective, per unit of cost. Columns are standardised to unit variance first.
    n_stages : int or None, default=None
        Maximum number of stages. None means 5, or one per price limit if ``price_limits`` are given.
    price_limits : sequence of float or None, default=None
        For each stage, the highest price of a feature that it may use, in ascending order. The price of a feature is
        the cost of acquiring it alone, its bundles included. The price of a tree of the feature map is the cost of all
        features that it reads, and of its evaluation. Features above the last limit are not used. None divides the
        distinct prices evenly: every stage may use more expensive features than the one before, and the last stage may
        use all.
    class_weight : dict, "balanced" or None, default="balanced"
        Weight of each class in the loss. "balanced" gives both classes the same total weight. A stage rejects rows with
        a score below zero, so with equal weights of all rows the first stage might reject the rare class completely.
        Probabilities refer to the weighted classes.
    loss : {"squared", "logistic"}, default="squared"
        Loss of every stage. Squared loss uses targets of +-1.
    l1_weight : float, default=1e-5
        Weight of the l1 norm of all weights in the objective.
    fine_tune : {"auto", "support", "held", "refit", "paper"} or None, default="auto"
        Whether to fit the last stage again without the cost penalty. "paper": on the features that the last stage
        weighs itself. "auto", "support" and "refit": the same without those that hardly contribute. "held": on the
        features that any stage weighs. None predicts as learned. Each of them rejects the same rows, and calibrates the
        scores of all stages to log-odds.
    feature_map : None, forest or BoostedFeatureMap, default=None
        None: stages are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: stages are linear in the outputs of its trees. A tree costs what the features that it reads
        cost, plus its evaluation if the map has evaluation costs. A forest that is not fitted is fitted on the training
        rows.
    scoring : str, callable or None, default=None
        Score on validation rows, larger is better: a scikit-learn scorer or its name, ``"ndcg@k"`` or ``"precision@k"``
        computed by query (pass ``qid`` to ``fit``), or None for the ``score`` method of the estimator.
        It is refused if ``early_stopping`` is off, because nothing is scored then.
    early_stopping : bool, default=False
        Whether to keep the parameters with the best validation score, and to stop when it has not risen for 5 rounds.
    validation_fraction : float, default=0.2
        Share of the training rows that is held out if validation rows are needed and not passed to ``fit``.
    max_iter : int, default=100
        Maximum number of rounds of the solver.
    tol : float, default=0.05
        The solver stops when the optimality residual is at most this. The residual is the steepest remaining slope of
        the objective, relative to the slope that a column equal to the target would have at zero weights.
    verbose : bool, default=False
        Whether to show a progress bar.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are held out. Nothing else is random.

    Attributes
    ----------
    price_limits_ : ndarray of shape (n_stages,)
        The highest price of a feature that each stage may use.
    tree_ : LinearTree
        The fitted stages. The upper child of a stage is the next stage; rows below its threshold leave. With a feature
        map they are linear in the outputs of its trees.
    learned_support_ : ndarray of bool, shape (n_nodes, n_columns)
        The columns that each node of ``tree_`` weighs before fine-tuning; with a feature map, its outputs.
    feature_map_ : BoostedFeatureMap or None
        The feature map in use.
    objective_ : list of float
        The objective at the start and after each round. It never rises.
    residual_ : float
        The optimality residual at the end.
    converged_ : bool
        Whether the residual is at most ``tol``.
    n_iter_ : int
        Number of rounds.
    validation_scores_ : list of float
        Validation score after each round; empty without early stopping.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    classes_ : ndarray of shape (2,)
        The classes. Stages accept or reject rows as members of the rarer class; the second one if both are equally
        frequent.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    References
    ----------
    Dundar, Bi (2007). Joint Optimization of Cascaded Classifiers for Computer Aided Detection. CVPR.

    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 6.3.

    Examples
    --------
    With the limits of the paper, no row that leaves at the first stage has paid for a feature of more than 5:

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

    _follows_device = False  # its traversal and its losses are written for NumPy

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        n_stages: int | None = None,
        price_limits: Any = None,
        class_weight: Any = "balanced",
        loss: str = "squared",
        l1_weight: float = 1e-5,
        fine_tune: str | None = "auto",
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

    def _located(self, X: Any, y: Any, sample_weight: Any = None, qid: Any = None) -> Home[Rows]:
        return Here(self._validated(X, y, sample_weight, qid))  # its stages are initialised one row at a time

    def _n_nodes(self) -> int:
        if self.price_limits is None:
            return USUAL_STAGES if self.n_stages is None else int(self.n_stages)
        n_limits = len(self.price_limits)
        self._refuse_unless(
            self.n_stages in (None, n_limits), "n_stages", self.n_stages, f"None, or one of {n_limits} price limits"
        )
        return n_limits

    def _design(self, cost_model: CostModel) -> Design:
        limits = usual_limits(cost_model, self._n_nodes()) if self.price_limits is None else self.price_limits
        self.price_limits_ = np.asarray(limits, dtype=float)
        topology = Topology.cascade(len(self.price_limits_))
        return AndOrDesign.of(self, topology, by_exit=True, rare_class_up=True, price_limits=self.price_limits_)


def usual_limits(cost_model: CostModel, n_stages: int) -> np.ndarray:
    """Return price limits that divide the distinct prices evenly among at most `n_stages` stages."""
    distinct = np.unique(Ledger(cost_model).prices)
    n_stages = min(n_stages, len(distinct))
    return distinct[np.arange(1, n_stages + 1) * len(distinct) // n_stages - 1]


@dataclass(frozen=True, eq=False, kw_only=True)
class AndOrDesign(Design):
    """Design of an AND-OR cascade.

    Attributes
    ----------
    price_limits : ndarray of shape (n_stages,)
        The highest price of a column that each stage may weigh.
    """

    price_limits: np.ndarray

    def objective(self, data: Standardised, cost_model: CostModel) -> AndOrObjective:
        """Return the objective for training rows."""
        prices = Ledger(cost_model).prices[data.scales.columns]
        return AndOrObjective.of(super().objective(data, cost_model), allowed=prices <= self.price_limits[:, None])

    def initial_parameters(self, objective: Objective) -> Parameters:
        """Return the stages from which the solver starts."""
        return initial_stages(cast(AndOrObjective, objective))

    def harden(
        self, objective: Objective, parameters: Parameters, prices: np.ndarray, n_rows: float, fine_tune: FineTune
    ) -> list[HardNode]:
        """Return the nodes of the cascade that predicts."""
        tuned = tuned_stages(cast(AndOrObjective, objective), parameters, prices, n_rows, fine_tune)
        nodes = harden(objective, tuned, prices, fine_tune=None, calibrate=False, n_rows=n_rows)
        learned = parameters.squares() > 0
        return [replace(node, learned=support) for node, support in zip(nodes, learned, strict=True)]
