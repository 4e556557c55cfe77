"""CSCC: cost-sensitive cascades of classifiers.

Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
Evaluation Cost. JMLR 15, 2014, section 4 (eq. 19).
"""

from typing import Any

from thrifty.costs import CostModel
from thrifty.models.expected_cost.cascade import cascade_design
from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.estimator import ExpectedCostEstimator
from thrifty.models.expected_cost.two_classes import TwoClassCascade
from thrifty.models.task_bases import BudgetedRegressor


class CSCCRegressor(ExpectedCostEstimator, BudgetedRegressor):
    """Cost-sensitive cascade of linear regressors (CSCC), for targets whose high values matter most, such as relevance.

    All stages are fitted together to minimise expected loss plus expected cost. At every stage, rows with a low score
    leave, with the prediction of the stage. The loss of a stage counts for the rows that leave there. Their expected
    cost is that of all features acquired up to there. To rank documents, fit their grades and sort by prediction.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        Cost of acquiring each feature. None means a cost of 1 each.
    cost_weight : float, default=0.01
        Weight of the expected cost in the objective, per unit of cost. Columns and targets are standardised to unit
        variance first.
    n_stages : int, default=5
        Number of stages of the cascade.
    loss : {"squared"}, default="squared"
        Loss of every stage.
    l1_weight : float, default=1e-5
        Weight of the l1 norm of all weights in the objective.
    sharpness : float or None, default=None
        Factor inside the sigmoid by which training decides softly whether a row continues. The larger it is, the closer
        training is to the hard routing of prediction. None means 20.
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
    device : str or None, default=None
        Where the fit computes. None: where X is, so that arrays of PyTorch or CuPy stay on their device. "cpu": in this
        process. "cuda" or the name of another device of PyTorch: there; X moves to it. See the page about scaling.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are held out. Nothing else is random.

    Attributes
    ----------
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
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 4.

    Examples
    --------
    Documents of low relevance leave before expensive features are bought:

    >>> from thrifty import CSCCRegressor
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(30, n_features=30, random_state=0)
    >>> model = CSCCRegressor(costs=data.costs, n_stages=3, cost_weight=1e-3).fit(data.X, data.y, qid=data.qid)
    >>> spend = model.spend(data.X)
    >>> bool(spend[data.y == 0].mean() < spend[data.y >= 2].mean())
    True
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        n_stages: int = 5,
        loss: str = "squared",
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
        self.n_stages = n_stages
        self.loss = loss
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
        return int(self.n_stages)

    def _design(self, cost_model: CostModel) -> Design:
        return cascade_design(self)


class CSCCClassifier(TwoClassCascade):
    """Cost-sensitive cascade of linear classifiers (CSCC), for data with a rare class.

    All stages are fitted together to minimise expected loss plus expected cost. At every stage, rows that are unlikely
    to belong to the rare class leave, with the prediction of the stage. The loss of a stage counts for the rows that
    leave there. Their expected cost is that of all features acquired up to there.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        Cost of acquiring each feature. None means a cost of 1 each.
    cost_weight : float, default=0.01
        Weight of the expected cost in the objective, per unit of cost. Columns are standardised to unit variance first.
    n_stages : int, default=5
        Number of stages of the cascade.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class in the loss; the expected cost is not affected. "balanced" gives both classes the same
        total weight. Probabilities refer to the weighted classes.
    loss : {"squared", "logistic"}, default="squared"
        Loss of every stage. Squared loss uses targets of +-1. Scores are calibrated to log-odds for both.
    l1_weight : float, default=1e-5
        Weight of the l1 norm of all weights in the objective.
    sharpness : float or None, default=None
        Factor inside the sigmoid by which training decides softly whether a row continues. The larger it is, the closer
        training is to the hard routing of prediction. None means 20 for squared loss and 5 for logistic loss.
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
    device : str or None, default=None
        Where the fit computes. None: where X is, so that arrays of PyTorch or CuPy stay on their device. "cpu": in this
        process. "cuda" or the name of another device of PyTorch: there; X moves to it. See the page about scaling.
    random_state : int, RandomState instance or None, default=None
        Determines which rows are held out. Nothing else is random.

    Attributes
    ----------
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
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of ``predict_proba``.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014). Classifier Cascades and Trees for Minimizing Feature Evaluation
    Cost. JMLR 15, section 4.

    Examples
    --------
    Rows of the common class leave before expensive features are bought:

    >>> from thrifty import CSCCClassifier
    >>> from thrifty.datasets import make_ltr_skewed
    >>> data = make_ltr_skewed(20, n_features=30, random_state=0)
    >>> model = CSCCClassifier(costs=data.costs, n_stages=3, cost_weight=1e-4).fit(data.X, data.y)
    >>> relevant = data.y == 1
    >>> spend = model.spend(data.X)
    >>> bool(spend[~relevant].mean() < spend[relevant].mean())
    True
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        cost_weight: float = 0.01,
        n_stages: int = 5,
        class_weight: Any = None,
        loss: str = "squared",
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
        self.n_stages = n_stages
        self.class_weight = class_weight
        self.loss = loss
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
        return int(self.n_stages)

    def _design(self, cost_model: CostModel) -> Design:
        return cascade_design(self)
