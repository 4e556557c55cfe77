"""CSTC: cost-sensitive trees of classifiers.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 3.

All nodes of a tree are fitted together to the expected loss of its classifiers and the expected cost of what they
acquire (eq. 12): rows are sent down softly, and the l0 norm of what a path uses is relaxed to a mixed norm, under
which weights that share a feature on a path share its price. `models.expected_cost` holds the parts.
"""

from functools import partial
from typing import Any

from thrifty.models.expected_cost.estimator import ExpectedCostEstimator, Problem
from thrifty.models.expected_cost.objective import Parameters
from thrifty.models.expected_cost.structure import grown, pruned
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.tasks import BudgetedClassifier, BudgetedRegressor


class _CSTC(ExpectedCostEstimator):
    """The algorithm, whatever the targets."""

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        max_depth: int = 3,
        loss: str = "squared",
        structure: str = "full",
        l1_weight: float = 1e-5,
        sharpness: float | None = None,
        solver: str = "joint",
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
        self.max_depth = max_depth
        self.loss = loss
        self.structure = structure
        self.l1_weight = l1_weight
        self.sharpness = sharpness
        self.solver = solver
        self.fine_tune = fine_tune
        self.feature_map = feature_map
        self.scoring = scoring
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.random_state = random_state

    def _shape(self) -> Topology:
        return Topology.full(self.max_depth)

    def _structured(self, problem: Problem) -> tuple[Topology, Parameters]:
        score = partial(self._validation_score, problem)
        if self.structure == "prune":
            return pruned(problem.objective, score)
        if self.structure == "grow":
            return grown(problem.objective, self.max_depth, score)
        return super()._structured(problem)

    def _validates(self) -> bool:
        return super()._validates() or self.structure != "full"

    def _choices(self) -> dict[str, tuple[Any, ...]]:
        return super()._choices() | {"structure": ("full", "prune", "grow")}

    def _whole_numbers(self) -> tuple[str, ...]:
        return (*super()._whole_numbers(), "max_depth")


class CSTCRegressor(_CSTC, BudgetedRegressor):
    """Cost-sensitive tree of regressors: all nodes fitted together to their expected loss and cost.

    Rows that the root finds alike go on together, and each path acquires only what its rows need. Prediction routes
    hard and charges exactly for what is acquired.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    cost_weight : float, default=0.01
        Penalty per unit of expected cost, on columns (and in regression targets) of unit variance.
    max_depth : int, default=3
        Levels of the tree: at most ``2**max_depth - 1`` nodes, ``max_depth`` of them on a path.
    loss : {"squared"}, default="squared"
        Loss of every node.
    structure : {"full", "prune", "grow"}, default="full"
        The full tree; the full tree cut back from the bottom as long as the validation score does not fall; or the
        root and whatever raises the validation score most, node by node. Chosen before the weights are optimised.
    l1_weight : float, default=1e-5
        Weight of the plain l1 norm of all weights.
    sharpness : float or None
        Factor within the sigmoid that sends rows up or down in training, for scores in standard deviations of the
        target. The larger, the closer training is to the hard routing of prediction. ``None`` means 20.
    solver : {"joint", "block"}, default="joint"
        All nodes at once by L-BFGS, or the paper's Algorithm 1, one node at a time, which is many times slower.
    fine_tune : {"support", "held"} or None, default="support"
        Refit the answers without the cost penalty, on the features that a node weighs itself, or on everything that
        is held there, draw them towards the answer of the node before where rows are few, and drop what no route
        depends on. ``None`` answers just as it was learned.
    feature_map : None, forest or BoostedFeatureMap
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees, which cost what they read and, if the map
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
    tree_ : LinearTree
        The fitted nodes.
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
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 3.

    Examples
    --------
    A perfect model of the quadrants needs two signs at 1 and one dear feature at 10 for every row, 12 in all:

    >>> from thrifty import CSTCRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(1000, random_state=0)
    >>> model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-4).fit(data.X, data.y)
    >>> round(model.score(data.X, data.y), 3), float(model.spend(data.X).mean())
    (1.0, 12.0)
    """


class CSTCClassifier(_CSTC, BudgetedClassifier):
    """Cost-sensitive tree of classifiers: all nodes fitted together to their expected loss and cost.

    Rows that the root finds alike go on together, and each path acquires only what its rows need. Prediction routes
    hard and charges exactly for what is acquired. More than two classes share one selection of features and are routed
    by the direction in which their scores vary most.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    cost_weight : float, default=0.01
        Penalty per unit of expected cost, on columns (and in regression targets) of unit variance.
    max_depth : int, default=3
        Levels of the tree: at most ``2**max_depth - 1`` nodes, ``max_depth`` of them on a path.
    loss : {"squared", "logistic"}, default="squared"
        Loss of every node. Squared loss takes targets of +-1, or one-hot for more classes; answers are calibrated to
        log-odds either way.
    structure : {"full", "prune", "grow"}, default="full"
        The full tree; the full tree cut back from the bottom as long as the validation score does not fall; or the
        root and whatever raises the validation score most, node by node. Chosen before the weights are optimised.
    l1_weight : float, default=1e-5
        Weight of the plain l1 norm of all weights.
    sharpness : float or None
        Factor within the sigmoid that sends rows up or down in training, for scores in standard deviations of the
        target. The larger, the closer training is to the hard routing of prediction. ``None`` means 20 for squared
        loss and 5 for logistic loss.
    solver : {"joint", "block"}, default="joint"
        All nodes at once by L-BFGS, or the paper's Algorithm 1, one node at a time, which is many times slower.
    fine_tune : {"support", "held"} or None, default="support"
        Refit the answers without the cost penalty, on the features that a node weighs itself, or on everything that
        is held there, draw them towards the answer of the node before where rows are few, and drop what no route
        depends on. ``None`` answers just as it was learned.
    feature_map : None, forest or BoostedFeatureMap
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees, which cost what they read and, if the map
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
    tree_ : LinearTree
        The fitted nodes.
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
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of ``predict_proba``'s columns.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 3.

    Examples
    --------
    >>> from thrifty import CSTCClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> dear, cheap = (
    ...     CSTCClassifier(costs=heart.costs, max_depth=2, cost_weight=weight).fit(heart.X, heart.y)
    ...     for weight in (1e-4, 1e-2)
    ... )
    >>> bool(cheap.spend(heart.X).mean() < dear.spend(heart.X).mean())
    True
    """
