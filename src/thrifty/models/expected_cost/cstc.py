"""CSTC: cost-sensitive trees of classifiers.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 3.

All nodes of a tree are fitted together. They minimise the expected loss of their classifiers plus the expected cost of
the features that rows acquire (eq. 12). In training, rows are sent down the tree softly, and the number of features
used on a path is relaxed to a mixed norm of the weights, under which the nodes of a path share the cost of a feature.
"""

from typing import Any

from thrifty.costs import CostModel
from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.estimator import ExpectedCostEstimator
from thrifty.models.expected_cost.topology import Topology
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRegressor

DEEPEST = 64  # the number of nodes of deeper trees is not computed; no tree of this depth can be fitted


def n_nodes_of(tree: Any) -> int:
    """Return the number of nodes before the structure is chosen; a tree that grows starts with its root."""
    return 1 if tree.structure == "grow" else 2 ** min(tree.max_depth, DEEPEST) - 1


def first_topology(tree: Any) -> Topology:
    """Return the shape of a tree before its structure is chosen."""
    return Topology.full(1 if tree.structure == "grow" else tree.max_depth)


class CSTCRegressor(ExpectedCostEstimator, BudgetedRegressor):
    """Cost-sensitive tree of linear regressors (CSTC).

    All nodes are fitted together to minimise expected loss plus expected cost. A node sends rows with high scores to
    its upper child and all others to its lower child, so that each path acquires only what its rows need. Training
    sends rows down the tree with probabilities; prediction sends each row along one path, and charges it for the
    features that it acquires.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        Cost of acquiring each feature. None means a cost of 1 each.
    cost_weight : float, default=0.01
        Weight of the expected cost in the objective, per unit of cost. Columns and targets are standardised to unit
        variance first.
    max_depth : int, default=3
        Number of levels of the tree, which has at most ``2**max_depth - 1`` nodes.
    loss : {"squared"}, default="squared"
        Loss of every node.
    structure : {"full", "prune", "grow"}, default="full"
        How the structure of the tree is chosen, before its weights are optimised. "full": the full tree. "prune": nodes
        are removed from the full tree, from the bottom up, as long as the validation score does not fall. "grow":
        starting with the root, the node that raises the validation score most is added, until no node raises it.
    l1_weight : float, default=1e-5
        Weight of the l1 norm of all weights in the objective.
    sharpness : float or None, default=None
        Factor inside the sigmoid by which training sends rows softly to the upper or the lower child, for scores in
        standard deviations of the target. The larger it is, the closer training is to the hard routing of prediction.
        None means 20.
    solver : {"joint", "block"}, default="joint"
        "joint" optimises all nodes at once by L-BFGS. "block" is Algorithm 1 of the paper, one node at a time; it is
        many times slower.
    fine_tune : {"auto", "support", "held", "refit", "paper"} or None, default="auto"
        Whether to fit the predictions of the nodes again without the cost penalty, after features are chosen. "paper":
        where rows end, on the features that a node weighs itself, as in section 3.5 of the paper. "refit": the same,
        but features are dropped that do not change the path of any training row and hardly contribute to predictions.
        "support": as "refit", but the model of a node with few rows is shrunk towards that of its parent. "held": as
        "support", but also on the features that a row holds already. "auto": "refit" if there are at least 3000
        training rows and 10 per weight of the nodes where rows end, otherwise "support". None predicts as learned. Each
        of them leaves every training row on its path.
    feature_map : None, forest or BoostedFeatureMap, default=None
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees. A tree costs what the features that it reads
        cost, plus its evaluation if the map has evaluation costs. A forest that is not fitted is fitted on the training
        rows.
    scoring : str, callable or None, default=None
        Score on validation rows, larger is better: a scikit-learn scorer or its name, ``"ndcg@k"`` or ``"precision@k"``
        computed by query (pass ``qid`` to ``fit``), or None for the ``score`` method of the estimator.
        It is refused if ``structure`` is "full" and ``early_stopping`` is off, because nothing is scored then.
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
    device : str or None, default=None
        Where the fit computes. None: where X is, so that arrays of PyTorch or CuPy stay on their device. "cpu": in this
        process. "cuda" or the name of another device of PyTorch: there; X moves to it. See the page about scaling.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are held out. Nothing else is random.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes. With a feature map they are linear in the outputs of its trees.
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
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 3.

    Examples
    --------
    A perfect model of the quadrants needs two signs, at a cost of 1 each, and one expensive feature, at a cost of 10,
    for every row:

    >>> from thrifty import CSTCRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(1000, random_state=0)
    >>> model = CSTCRegressor(costs=data.costs, max_depth=3, cost_weight=1e-4).fit(data.X, data.y)
    >>> round(model.score(data.X, data.y), 3), float(model.spend(data.X).mean())
    (1.0, 12.0)
    """

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
        fine_tune: str | None = "auto",
        feature_map: Any = None,
        scoring: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        max_iter: int = 100,
        tol: float = 0.05,
        verbose: bool = False,
        device: str | None = None,
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
        self.device = device
        self.random_state = random_state

    def _n_nodes(self) -> int:
        return n_nodes_of(self)

    def _design(self, cost_model: CostModel) -> Design:
        return Design.of(self, first_topology(self))


class CSTCClassifier(ExpectedCostEstimator, BudgetedClassifier):
    """Cost-sensitive tree of linear classifiers (CSTC).

    All nodes are fitted together to minimise expected loss plus expected cost. A node sends rows with high scores to
    its upper child and all others to its lower child, so that each path acquires only what its rows need. Training
    sends rows down the tree with probabilities; prediction sends each row along one path, and charges it for the
    features that it acquires.

    With more than two classes, a node has one score per class. All classes share its features, and rows are routed by
    the first principal component of the scores.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        Cost of acquiring each feature. None means a cost of 1 each.
    cost_weight : float, default=0.01
        Weight of the expected cost in the objective, per unit of cost. Columns are standardised to unit variance first.
    max_depth : int, default=3
        Number of levels of the tree, which has at most ``2**max_depth - 1`` nodes.
    loss : {"squared", "logistic"}, default="squared"
        Loss of every node. Squared loss uses targets of +-1, or one-hot targets for more than two classes. Scores are
        calibrated to log-odds for both.
    structure : {"full", "prune", "grow"}, default="full"
        How the structure of the tree is chosen, before its weights are optimised. "full": the full tree. "prune": nodes
        are removed from the full tree, from the bottom up, as long as the validation score does not fall. "grow":
        starting with the root, the node that raises the validation score most is added, until no node raises it.
    l1_weight : float, default=1e-5
        Weight of the l1 norm of all weights in the objective.
    sharpness : float or None, default=None
        Factor inside the sigmoid by which training sends rows softly to the upper or the lower child. The larger it is,
        the closer training is to the hard routing of prediction. None means 20 for squared loss and 5 for logistic
        loss.
    solver : {"joint", "block"}, default="joint"
        "joint" optimises all nodes at once by L-BFGS. "block" is Algorithm 1 of the paper, one node at a time; it is
        many times slower.
    fine_tune : {"auto", "support", "held", "refit", "paper"} or None, default="auto"
        Whether to fit the predictions of the nodes again without the cost penalty, after features are chosen. "paper":
        where rows end, on the features that a node weighs itself, as in section 3.5 of the paper. "refit": the same,
        but features are dropped that do not change the path of any training row and hardly contribute to predictions.
        "support": as "refit", but the model of a node with few rows is shrunk towards that of its parent. "held": as
        "support", but also on the features that a row holds already. "auto": "refit" if there are at least 3000
        training rows and 10 per weight of the nodes where rows end, otherwise "support". None predicts as learned. Each
        of them leaves every training row on its path.
    feature_map : None, forest or BoostedFeatureMap, default=None
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees. A tree costs what the features that it reads
        cost, plus its evaluation if the map has evaluation costs. A forest that is not fitted is fitted on the training
        rows.
    scoring : str, callable or None, default=None
        Score on validation rows, larger is better: a scikit-learn scorer or its name, ``"ndcg@k"`` or ``"precision@k"``
        computed by query (pass ``qid`` to ``fit``), or None for the ``score`` method of the estimator.
        It is refused if ``structure`` is "full" and ``early_stopping`` is off, because nothing is scored then.
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
    device : str or None, default=None
        Where the fit computes. None: where X is, so that arrays of PyTorch or CuPy stay on their device. "cpu": in this
        process. "cuda" or the name of another device of PyTorch: there; X moves to it. See the page about scaling.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are held out. Nothing else is random.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes. With a feature map they are linear in the outputs of its trees.
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
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of ``predict_proba``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 3.

    Examples
    --------
    A larger cost weight spends less:

    >>> from thrifty import CSTCClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> expensive, cheap = (
    ...     CSTCClassifier(costs=heart.costs, max_depth=2, cost_weight=weight).fit(heart.X, heart.y)
    ...     for weight in (1e-4, 1e-2)
    ... )
    >>> bool(cheap.spend(heart.X).mean() < expensive.spend(heart.X).mean())
    True
    """

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
        fine_tune: str | None = "auto",
        feature_map: Any = None,
        scoring: Any = None,
        early_stopping: bool = False,
        validation_fraction: float = 0.2,
        max_iter: int = 100,
        tol: float = 0.05,
        verbose: bool = False,
        device: str | None = None,
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
        self.device = device
        self.random_state = random_state

    def _n_nodes(self) -> int:
        return n_nodes_of(self)

    def _design(self, cost_model: CostModel) -> Design:
        return Design.of(self, first_topology(self))
