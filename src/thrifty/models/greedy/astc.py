"""ASTC: approximately submodular trees of classifiers.

M. J. Kusner, W. Chen, Q. Zhou, Z. Xu, K. Q. Weinberger, Y. Chen. Feature-Cost Sensitive Learning with Submodular
Trees of Classifiers. AAAI 2014.

The tree is built top-down, one node at a time and never revised. A node is a least-squares model of the rows that
reach it. It holds what its path has bought, and buys further features greedily by gain in R² per cost (eq. 7, 11)
up to its own allowance; then the median of its scores sends half of its rows to either child.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from sklearn.base import is_classifier

from thrifty.costs import Ledger
from thrifty.models.greedy.answers import log_odds_answer, plain_answer
from thrifty.models.greedy.tree_growth import GrownNode, Rules, grow
from thrifty.models.least_squares.calibration import prior_scores
from thrifty.models.least_squares.moments import TrainingRows
from thrifty.models.linear_nodes.estimator import TreeEstimator
from thrifty.models.linear_nodes.tree import LinearTree
from thrifty.models.parameters import is_number
from thrifty.models.session import Feature
from thrifty.models.tasks import BudgetedClassifier, BudgetedRegressor


@dataclass(frozen=True)
class NodeReport:
    """What a node of a fitted ASTC is made of, and how good its greedy choice is guaranteed to be.

    ``features`` are all in its model, in the order selected, those of the path first; ``bought`` are the ones it
    acquires itself, for ``spend`` on top of what the path has paid. ``n_samples`` is the number of training rows, a
    sum of probabilities if the tree is soft.

    ``gamma`` is lambda_min of the correlation matrix of the node's features, a lower bound on the submodularity
    ratio (Das and Kempe, 2011): greedy selection reaches at least the share ``guarantee`` = 1 - exp(-gamma) of the
    R² of the best feature set of the same cost (Grubb and Bagnell, 2012).
    """

    node: int
    depth: int
    n_samples: float
    features: tuple[Feature, ...]
    bought: tuple[Feature, ...]
    spend: float
    r2: float
    gamma: float
    guarantee: float


class _ASTC(TreeEstimator):
    """The algorithm, whatever the targets."""

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
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Grow the tree.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Read as numbers of rows; weights below one are first rescaled to a mean of one.
        qid : array-like of shape (n,), optional
            The query of each row. The tree is fitted to the relevance labels in y and does not use the queries.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._refuse_bad_parameters()
        rows = self._validated(X, y, sample_weight, qid)
        targets = self._targets(rows.y)
        data = TrainingRows(rows.X, targets, rows.weight, centred=self.fit_intercept)
        grown = grow(data, self.cost_model_, self._rules(), log_odds_answer if is_classifier(self) else plain_answer)
        prior = prior_scores(targets, rows.weight, is_classifier(self))
        self.tree_ = LinearTree([node.linear for node in grown], prior, self.cost_model_, data.fill)
        self.nodes_ = [self._report(k, node) for k, node in enumerate(grown)]
        return self

    def _report(self, k: int, node: GrownNode) -> NodeReport:
        ids = self._feature_ids()
        return NodeReport(
            node=k,
            depth=int(self.tree_.depth[k]),
            n_samples=node.n_samples,
            features=tuple(ids[f] for f in node.features),
            bought=tuple(ids[f] for f in node.bought),
            spend=float(self.tree_.step_cost[k]),
            r2=node.r2,
            gamma=node.gamma,
            guarantee=1.0 - math.exp(-node.gamma),
        )

    def _rules(self) -> Rules:
        node_budget = self._usual_node_budget() if self.node_budget is None else self.node_budget
        return Rules(
            self.max_depth,
            np.asarray(node_budget, dtype=float),
            self.soft,
            self.overflow,
            self.min_gain,
            self.min_samples_leaf,
        )

    def _usual_node_budget(self) -> float:
        """Return an equal share of everything for each level, but no less than any one feature costs."""
        dearest = Ledger(self.cost_model_).prices.max()
        return max(self.cost_model_.total / self.max_depth, dearest)

    def _refuse_bad_parameters(self) -> None:
        owner = type(self).__name__
        if not isinstance(self.max_depth, int | np.integer) or self.max_depth is True or self.max_depth < 1:
            raise ValueError(
                f"{owner}: max_depth is {self.max_depth!r}; expected a whole number of levels, at least 1."
            )
        for name in ("soft", "fit_intercept"):
            if not isinstance(value := getattr(self, name), bool | np.bool_):
                raise ValueError(f"{owner}: {name} is {value!r}; expected True or False.")
        if self.overflow not in ("stop", "skip"):
            raise ValueError(f"{owner}: overflow is {self.overflow!r}; expected 'stop' or 'skip'.")
        for name, minimum in (("min_gain", 0), ("min_samples_leaf", 1)):
            if not is_number(value := getattr(self, name), minimum):
                raise ValueError(f"{owner}: {name} is {value!r}; expected a number of at least {minimum}.")
        if self.node_budget is not None:
            self._refuse_bad_node_budget(owner)

    def _refuse_bad_node_budget(self, owner: str) -> None:
        try:
            budgets = np.asarray(self.node_budget, dtype=float)
        except (TypeError, ValueError):
            budgets = np.array(np.nan)
        lengths = (self.max_depth, 2**self.max_depth - 1)
        if not (budgets >= 0).all() or budgets.shape not in ((), *((n,) for n in lengths)):
            raise ValueError(
                f"{owner}: node_budget is {self.node_budget!r}; expected one allowance of at least 0, "
                f"one per depth ({lengths[0]}), or one per node of the full tree ({lengths[1]})."
            )


class ASTCRegressor(_ASTC, BudgetedRegressor):
    """Approximately submodular tree of linear regressors: each node buys what explains its rows best for its price.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    max_depth : int, default=5
        Levels of the tree: at most ``2**max_depth - 1`` nodes, ``max_depth`` of them on a path.
    node_budget : float, sequence or None
        What a node may spend on features its path has not bought: one number, one per depth, or one per node of the
        full tree in level order (the upper child first). ``None`` allows the total cost divided by ``max_depth``, or
        the price of the dearest feature if that is more.
    soft : bool, default=False
        Train each node on all rows, weighted by the product of sigmoids of reaching it, instead of on the rows
        that do. The sigmoid is taken of the score in standard deviations of the target. Prediction is hard.
    overflow : {"stop", "skip"}, default="stop"
        When the best candidate does not fit into the node's allowance: end there, as in the paper, or go on with the
        best that does.
    min_gain : float, default=1e-4
        A feature whose units are all paid is taken at no charge while it adds more than this to R².
    fit_intercept : bool, default=True
        Whether the nodes' models have an intercept.
    min_samples_leaf : float, default=20
        A node is split only if each child gets this many rows.
    random_state : int, RandomState or None
        Not used: growing the tree leaves nothing to chance. Here because users expect it.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes.
    nodes_ : list of NodeReport
        Per node its features, spend, R² and the guarantee of its greedy selection.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    References
    ----------
    Kusner, Chen, Zhou, Xu, Weinberger, Chen (2014). Feature-Cost Sensitive Learning with Submodular Trees of
    Classifiers. AAAI.

    Examples
    --------
    A perfect model of the quadrants needs two signs at 1 and one dear feature at 10 for every row, 12 in all:

    >>> from thrifty import ASTCRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = ASTCRegressor(costs=data.costs, max_depth=3, node_budget=[1, 1, 10]).fit(data.X, data.y)
    >>> float(model.spend(data.X).max())
    12.0
    """


class ASTCClassifier(_ASTC, BudgetedClassifier):
    """Approximately submodular tree of classifiers: each node buys what separates its rows best for its price.

    Two classes are fitted as targets of +-1; more share one selection over one-hot targets, and are routed by the
    direction in which their scores vary most.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    max_depth : int, default=5
        Levels of the tree: at most ``2**max_depth - 1`` nodes, ``max_depth`` of them on a path.
    node_budget : float, sequence or None
        What a node may spend on features its path has not bought: one number, one per depth, or one per node of the
        full tree in level order (the upper child first). ``None`` allows the total cost divided by ``max_depth``, or
        the price of the dearest feature if that is more.
    soft : bool, default=False
        Train each node on all rows, weighted by the product of sigmoids of reaching it, instead of on the rows
        that do. The sigmoid is taken of the score in standard deviations of the target. Prediction is hard.
    overflow : {"stop", "skip"}, default="stop"
        When the best candidate does not fit into the node's allowance: end there, as in the paper, or go on with the
        best that does.
    min_gain : float, default=1e-4
        A feature whose units are all paid is taken at no charge while it adds more than this to R².
    fit_intercept : bool, default=True
        Whether the nodes' models have an intercept.
    min_samples_leaf : float, default=20
        A node is split only if each child gets this many rows.
    random_state : int, RandomState or None
        Not used: growing the tree leaves nothing to chance. Here because users expect it.

    Attributes
    ----------
    tree_ : LinearTree
        The fitted nodes.
    nodes_ : list of NodeReport
        Per node its features, spend, R² and the guarantee of its greedy selection.
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
    Kusner, Chen, Zhou, Xu, Weinberger, Chen (2014). Feature-Cost Sensitive Learning with Submodular Trees of
    Classifiers. AAAI.

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
