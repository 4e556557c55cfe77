"""ASTC: approximately submodular trees of classifiers.

M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen. Feature-Cost Sensitive Learning with Submodular
Trees of Classifiers. AAAI 2014.

The tree is grown top-down, one node at a time, and finished nodes are never changed. A node is a least-squares model
of the rows that reach it. It uses the features that its path has bought, and buys further features greedily by gain in
R² per cost (eq. 7, 11) within its own budget. Then it sends the rows whose score is above the median to one child, and
the other rows to the other child.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier

from thrifty.arrays import enough_memory, refuse_bad_device
from thrifty.costs import CostModel, Ledger
from thrifty.models.greedy.guarantee import is_guaranteed
from thrifty.models.greedy.tree_growth import GrownNode, Rules, grow
from thrifty.models.homes import Home
from thrifty.models.least_squares.moments import FilledRows
from thrifty.models.least_squares.node_rows import bytes_on_device, row_block
from thrifty.models.linear_nodes.estimator import TreeEstimator
from thrifty.models.linear_nodes.mapped_features import node_features
from thrifty.models.linear_nodes.tree import LinearTree
from thrifty.models.parameters import is_flag, is_number, is_whole
from thrifty.models.rows import Encoder, Rows
from thrifty.models.session import Feature
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRegressor
from thrifty.stored import FeatureId, ListOf, Number, OrNone, Structure, TupleOf, Whole, stored


@stored(
    node=Whole(0),
    depth=Whole(0),
    n_samples=Number(),
    features=TupleOf(FeatureId()),
    bought=TupleOf(FeatureId()),
    spend=Number(),
    r2=Number(),
    gamma=OrNone(Number()),
    guarantee=OrNone(Number()),
)
@dataclass(frozen=True)
class NodeReport:
    """The features of a node of a fitted ASTC, and how good its greedy selection is guaranteed to be.

    Attributes
    ----------
    node : int
        Number of the node.
    depth : int
        Depth of the node; the root has depth 0.
    n_samples : float
        Number of training rows at the node. In a soft tree this is a sum of probabilities.
    features : tuple of str or int
        The features in the model of the node, in the order of selection. Those bought by its path come first. With a
        feature map, they are positions of its outputs.
    bought : tuple of str or int
        The features that the node itself buys.
    spend : float
        What the node itself pays.
    r2 : float
        R² of the model of the node on its training rows.
    gamma : float or None
        Smallest eigenvalue of the correlation matrix of the features that the node could have bought for its spend,
        after what the features of its path explain is taken away. It is a lower bound on the submodularity ratio (Das
        and Kempe, 2011).
    guarantee : float or None
        ``1 - exp(-gamma)``. On the training rows of the node, its features reach at least this share of the R² of any
        set of features that costs no more, where features that its path has bought are free (Grubb and Bagnell, 2012).
        It says nothing about sets that cost more than the spend, even if they are within the node budget. If features
        are nearly collinear, it is close to 0. None unless ``compute_guarantee=True`` and the theorem applies: not with
        ``overflow="skip"``, not if features share costs (bundles, a feature map), and not if features are free, unless
        ``min_gain=0``.
    """

    node: int
    depth: int
    n_samples: float
    features: tuple[Feature, ...]
    bought: tuple[Feature, ...]
    spend: float
    r2: float
    gamma: float | None
    guarantee: float | None


@stored(nodes_=ListOf(Structure(NodeReport)))
class _ASTC(TreeEstimator):
    """ASTC for any targets."""

    _follows_device = True

    def __init__(
        self,
        *,
        costs: Any = None,
        max_depth: int = 5,
        node_budget: float | Sequence[float] | None = None,
        soft: bool = False,
        overflow: Literal["stop", "skip"] = "stop",
        min_gain: float = 1e-4,
        fit_intercept: bool = True,
        min_samples_leaf: float = 20,
        compute_guarantee: bool = False,
        feature_map: Any = None,
        device: str | None = None,
        random_state: Any = None,
    ):
        self.costs = costs
        self.max_depth = max_depth
        self.node_budget = node_budget
        self.soft = soft
        self.overflow = overflow
        self.min_gain = min_gain
        self.fit_intercept = fit_intercept
        self.min_samples_leaf = min_samples_leaf
        self.compute_guarantee = compute_guarantee
        self.feature_map = feature_map
        self.device = device
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            Training rows. NaN means that a value is unavailable; it is replaced by the mean of its column. It may be an
            array of PyTorch or CuPy.
        y : array-like of shape (n,)
            Targets or classes; for ranking, the relevance of each document.
        sample_weight : array-like of shape (n,), default=None
            Weight of each row. Weights count as numbers of rows; if any is below 1, all are first rescaled to a mean
            of 1.
        qid : array-like of shape (n,), default=None
            The query of each row. The tree is fitted to the targets in y and does not use the queries.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _refuse_bad_parameters(self)
        rows, encoder, costs = self._training_rows(X, y, sample_weight, qid)
        with enough_memory(type(self).__name__, lambda: rows.sum(bytes_on_device)):
            data = FilledRows.at(rows.map(row_block, encoder, self.device, type(self).__name__), self.fit_intercept)
            grown = grow(data, costs, growth_rules(self, costs), is_classifier(self))
        prior = data.prior(is_classifier(self))
        self.tree_ = LinearTree([node.linear for node in grown], prior, costs, data.fill)
        ids = self._feature_ids() if self.feature_map is None else range(costs.n_features)
        self.nodes_ = [_report(k, node, self.tree_, ids) for k, node in enumerate(grown)]
        return self

    def _training_rows(self, X: Any, y: Any, sample_weight: Any, qid: Any) -> tuple[Home[Rows], Encoder, CostModel]:
        """Return the rows with the features that nodes are linear in, what encodes y, and the costs of the features."""
        rows = self._located(X, y, sample_weight, qid)
        encoder = self._encoder(rows)
        rows, costs = node_features(self, rows)
        return rows, encoder, costs


def growth_rules(model: _ASTC, costs: CostModel) -> Rules:
    """Return the parameters of a model, with the default node budget filled in; `costs` are those of what nodes buy."""
    node_budget = _usual_node_budget(costs, model.max_depth) if model.node_budget is None else model.node_budget
    return Rules(
        model.max_depth,
        np.asarray(node_budget, dtype=float),
        model.soft,
        model.overflow,
        model.min_gain,
        model.min_samples_leaf,
        model.compute_guarantee and is_guaranteed(costs, model.overflow, model.min_gain),
    )


def _usual_node_budget(costs: CostModel, max_depth: int) -> float:
    """Return the total cost divided by the number of levels, or the price of the most expensive feature if larger."""
    return max(costs.total / max_depth, Ledger(costs).prices.max())


def _report(k: int, node: GrownNode, tree: LinearTree, ids: Sequence[Feature]) -> NodeReport:
    return NodeReport(
        node=k,
        depth=int(tree.depth[k]),
        n_samples=node.n_samples,
        features=tuple(ids[f] for f in node.features),
        bought=tuple(ids[f] for f in node.bought),
        spend=float(tree.step_cost[k]),
        r2=node.r2,
        gamma=node.gamma,
        guarantee=None if node.gamma is None else 1.0 - math.exp(-node.gamma),
    )


def _refuse_bad_parameters(model: _ASTC) -> None:
    refuse_unless = model._refuse_unless
    refuse_unless(is_whole(model.max_depth, 1), "max_depth", model.max_depth, "a whole number of levels, at least 1")
    for name in ("soft", "fit_intercept", "compute_guarantee"):
        refuse_unless(is_flag(value := getattr(model, name)), name, value, "True or False")
    refuse_unless(model.overflow in ("stop", "skip"), "overflow", model.overflow, "'stop' or 'skip'")
    for name, minimum in (("min_gain", 0), ("min_samples_leaf", 1)):
        value = getattr(model, name)
        refuse_unless(is_number(value, minimum), name, value, f"a number of at least {minimum}")
    refuse_bad_device(model.device, type(model).__name__)
    if model.node_budget is not None:
        _refuse_bad_node_budget(model)


def _refuse_bad_node_budget(model: _ASTC) -> None:
    try:
        budgets = np.asarray(model.node_budget, dtype=float)
    except (TypeError, ValueError):
        budgets = np.array(np.nan)
    n_levels, n_nodes = model.max_depth, 2**model.max_depth - 1
    fine = bool((budgets >= 0).all()) and budgets.shape in ((), (n_levels,), (n_nodes,))
    expected = f"one number of at least 0, one per depth ({n_levels}), or one per node of the full tree ({n_nodes})"
    model._refuse_unless(fine, "node_budget", model.node_budget, expected)


class ASTCRegressor(_ASTC, BudgetedRegressor):
    """Approximately submodular tree of linear regressors.

    Each node buys the features that explain its rows best per cost.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means a cost of 1 for each feature.
    max_depth : int, default=5
        Number of levels of the tree. A tree has at most ``2**max_depth - 1`` nodes, and a path ``max_depth`` nodes.
    node_budget : float, sequence of float or None, default=None
        What a node may spend on features that its path has not bought: one number, one number per depth, or one per
        node of the full tree in level order, where the upper child comes first. None means the total cost divided by
        ``max_depth``, or the price of the most expensive feature if that is larger.
    soft : bool, default=False
        Whether to fit each node on all rows, weighted by the probability of reaching the node, instead of on the rows
        that reach it. The probability is a product of sigmoids, one per split: ``1 / (1 + exp(-(s - t) / d))`` for the
        upper child, with score s, threshold t and standard deviation d of the targets. Prediction is the same in both
        cases: each row follows one path.
    overflow : {"stop", "skip"}, default="stop"
        What to do if the feature with the largest gain per cost exceeds the node budget: "stop" completes the node, as
        in the paper; "skip" continues with the best feature that does not exceed it.
    min_gain : float, default=1e-4
        A feature that costs nothing more, because its units are paid for, is added if it increases R² by more than
        this.
    fit_intercept : bool, default=True
        Whether the linear models of the nodes have an intercept.
    min_samples_leaf : float, default=20
        A node is split only if each child gets at least this number of rows.
    compute_guarantee : bool, default=False
        Whether to compute how good the selection of each node is guaranteed to be; see `NodeReport`. It takes all
        correlations between the columns and their smallest eigenvalue, at each node.
    feature_map : None, forest or BoostedFeatureMap, default=None
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees, as the conclusion of the paper suggests. A
        tree costs what the features that it reads cost, plus its evaluation if the map has evaluation costs. A forest
        that is not fitted is fitted on the training rows.
    device : str or None, default=None
        Where sums over the rows are computed. None: where X is, so that arrays of PyTorch or CuPy stay on their device.
        "cpu": in this process. "cuda" or the name of another device of PyTorch: there; X moves to it. See the page
        about scaling.
    random_state : int, RandomState instance or None, default=None
        Not used, because growing the tree is deterministic. It exists for consistency with other estimators.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes.
    feature_map_ : BoostedFeatureMap or None
        The feature map; None if nodes are linear in the columns of X.
    nodes_ : list of NodeReport
        Features, spend and R² of each node, and its guarantee if ``compute_guarantee`` is set.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. It exists only if all columns have names.

    References
    ----------
    M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen (2014). Feature-Cost Sensitive Learning with
    Submodular Trees of Classifiers. AAAI.

    Examples
    --------
    A perfect model of the quadrants needs, for every row, two signs at a price of 1 each and one feature at a price
    of 10, together 12:

    >>> from thrifty import ASTCRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = ASTCRegressor(costs=data.costs, max_depth=3, node_budget=[1, 1, 10]).fit(data.X, data.y)
    >>> float(model.spend(data.X).max())
    12.0
    """


class ASTCClassifier(_ASTC, BudgetedClassifier):
    """Approximately submodular tree of linear classifiers.

    Each node buys the features that separate the classes of its rows best per cost. Two classes are one target of +-1.
    More classes are one-hot targets: all of them share one selection of features, and a row is sent to a child by the
    linear combination of its scores that has the largest variance. The scores are calibrated to log-odds.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means a cost of 1 for each feature.
    max_depth : int, default=5
        Number of levels of the tree. A tree has at most ``2**max_depth - 1`` nodes, and a path ``max_depth`` nodes.
    node_budget : float, sequence of float or None, default=None
        What a node may spend on features that its path has not bought: one number, one number per depth, or one per
        node of the full tree in level order, where the upper child comes first. None means the total cost divided by
        ``max_depth``, or the price of the most expensive feature if that is larger.
    soft : bool, default=False
        Whether to fit each node on all rows, weighted by the probability of reaching the node, instead of on the rows
        that reach it. The probability is a product of sigmoids, one per split: ``1 / (1 + exp(-(s - t) / d))`` for the
        upper child, with score s, threshold t and standard deviation d of the targets. Prediction is the same in both
        cases: each row follows one path.
    overflow : {"stop", "skip"}, default="stop"
        What to do if the feature with the largest gain per cost exceeds the node budget: "stop" completes the node, as
        in the paper; "skip" continues with the best feature that does not exceed it.
    min_gain : float, default=1e-4
        A feature that costs nothing more, because its units are paid for, is added if it increases R² by more than
        this.
    fit_intercept : bool, default=True
        Whether the linear models of the nodes have an intercept.
    min_samples_leaf : float, default=20
        A node is split only if each child gets at least this number of rows.
    compute_guarantee : bool, default=False
        Whether to compute how good the selection of each node is guaranteed to be; see `NodeReport`. It takes all
        correlations between the columns and their smallest eigenvalue, at each node.
    feature_map : None, forest or BoostedFeatureMap, default=None
        None: nodes are linear in the columns of X. A forest of scikit-learn, LightGBM or XGBoost, a `Forest` or a
        `BoostedFeatureMap`: nodes are linear in the outputs of its trees, as the conclusion of the paper suggests. A
        tree costs what the features that it reads cost, plus its evaluation if the map has evaluation costs. A forest
        that is not fitted is fitted on the training rows.
    device : str or None, default=None
        Where sums over the rows are computed. None: where X is, so that arrays of PyTorch or CuPy stay on their device.
        "cpu": in this process. "cuda" or the name of another device of PyTorch: there; X moves to it. See the page
        about scaling.
    random_state : int, RandomState instance or None, default=None
        Not used, because growing the tree is deterministic. It exists for consistency with other estimators.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes.
    feature_map_ : BoostedFeatureMap or None
        The feature map; None if nodes are linear in the columns of X.
    nodes_ : list of NodeReport
        Features, spend and R² of each node, and its guarantee if ``compute_guarantee`` is set.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of the columns of ``predict_proba``.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns of X. It exists only if all columns have names.

    References
    ----------
    M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen (2014). Feature-Cost Sensitive Learning with
    Submodular Trees of Classifiers. AAAI.

    Examples
    --------
    >>> from thrifty import ASTCClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=5).fit(heart.X, heart.y)
    >>> acquisition = model.acquire(heart.X, cap=10)
    >>> bool(acquisition.spend.max() <= 10)
    True
    """
