"""The Greedy Miser: gradient boosting that pays for a feature when it is first used.

Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012.

Each round fits a tree of limited depth to the gradient of the loss. In eq. (5) of the paper, tree h_t minimises

    1/2 sum_i (h_t(x_i) - t_i)^2  +  lambda * sum_a c_a / eta * F_{a,t}          over features a that are not used yet

where t_i is the negative gradient of row i, c_a the cost of feature a, eta the learning rate, lambda the cost weight,
and F_{a,t} = 1 if h_t splits on feature a. Features that are used already are free. Here the leaves take Newton steps,
and the loss is a mean over rows, so a data set in which every row is repeated gives the same model.
"""

from typing import Any, ClassVar

import numpy as np

from thrifty.models.boosting.greedy_miser_estimator import GreedyMiserEstimator
from thrifty.models.growing.binning import MAX_BINS
from thrifty.models.growing.losses import LambdaRank, LogLoss, Loss, SoftmaxLoss, SquaredError
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRanker, BudgetedRegressor

MAX_LABEL = 63  # the gain of a document is 2^label - 1


class GreedyMiserRegressor(GreedyMiserEstimator, BudgetedRegressor):
    """Boosted regression trees on the squared error that pay for a feature when it is first used.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    cost_weight : float, default=1e-3
        Weight of the costs, lambda in the paper. A split is made only if it decreases the loss per row by more than
        ``cost_weight / learning_rate`` for each unit of cost that it adds.
        The loss is half the squared error, in units of the variance of y.
    charge : {"ensemble", "row"}, default="ensemble"
        Who pays during training. With "ensemble", as in the paper, the first split on a feature pays for it, and then
        the feature is free in all trees and for all rows. With "row", each row pays for the features on its own paths,
        and a split pays for those rows of its node that have not paid yet. In prediction, rows always pay for the
        features on their own paths.
    lookahead : bool, default=False
        Whether to decide about a purchase by the gain of a whole tree instead of a single split, which goes beyond the
        paper. It finds better features if only few can be bought, but training takes longer. Only with
        ``charge="ensemble"``.
    budget : float or None, default=None
        No feature is bought that would exceed the budget. With ``charge="ensemble"`` it bounds the cost of all
        features together, and therefore the spend of every row. With ``charge="row"`` it bounds the mean spend of all
        training rows, weighted by their weights, also with ``subsample``. Evaluation costs are included.
    evaluation_cost : float, default=0.0
        What evaluating one tree costs a row, in the unit of the costs. A round is kept only if it saves more than its
        evaluation costs. Otherwise its purchases are undone.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float, default=0.1
        Every leaf value is multiplied by this number, eta in the paper.
    max_depth : int or None, default=4
        The largest depth of a tree. None means no limit.
    max_leaf_nodes : int or None, default=None
        The largest number of leaves of a tree. None means no limit.
    min_samples_leaf : int, default=20
        The least number of rows in a leaf. A row of weight w counts as w rows; if some weights are below 1, all are
        first rescaled to a mean of 1. With ``subsample``, only rows that the tree is grown on count.
    l2_regularization : float, default=0.0
        Added to the sum of the Hessians of every leaf, which shrinks leaf values.
    subsample : float, default=1.0
        The share of the rows that each round is grown on, drawn without replacement.
    max_features : float, default=1.0
        The share of the features that each round may split on, drawn without replacement.
    max_bins : int, default=254
        The largest number of bins of a column.
    categorical_features : array-like of str, int or bool, default=None
        Names or positions of the columns that hold categories, or a mask. Categories are whole numbers of at least 0.
    early_stopping : bool, default=False
        Whether to stop when the score of held-out rows has not improved for ``n_iter_no_change`` rounds.
    n_iter_no_change : int, default=20
        The number of rounds without improvement after which early stopping ends the training.
    scoring : "ndcg@k", "precision@k", callable or None, default=None
        How held-out rows are scored: by a ranking metric computed by query, by a function of (y, scores) whose
        larger values are better, or by the loss if None.
    validation_fraction : float, default=0.1
        The share of the rows that early stopping holds out if ``fit`` is not given validation rows.
    random_state : int, RandomState instance or None, default=None
        Draws the rows and features of each round, and the rows that are held out.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    features_ : ndarray of int
        The columns that the model splits on.
    history_ : dict of ndarray
        Numbers after each round: ``loss`` of the training rows, their mean ``spend``, ``cost`` of all features bought
        so far and their number ``n_features``. If rows are held out, also ``validation_score`` and
        ``validation_spend``. Spend and cost include evaluation.
    n_iter_ : int
        The number of rounds boosted.
    best_iteration_ : int
        The number of rounds kept: those up to the best score of the held-out rows, or all if no rows are held out.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, if X has names.

    References
    ----------
    Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012.

    Examples
    --------
    >>> from thrifty import GreedyMiserRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = GreedyMiserRegressor(costs=data.costs, cost_weight=1e-4, charge="row").fit(data.X, data.y)
    >>> bool(model.spend(data.X).mean() < data.costs.total)
    True
    """

    def _loss(self, targets: np.ndarray, weight: np.ndarray, qid: np.ndarray) -> Loss:
        return SquaredError(targets[:, 0], weight)


class GreedyMiserClassifier(GreedyMiserEstimator, BudgetedClassifier):
    """Boosted trees on the log-loss that pay for a feature when it is first used.

    A round has one tree for two classes, and one tree per class for more classes.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    cost_weight : float, default=1e-3
        Weight of the costs, lambda in the paper. A split is made only if it decreases the loss per row by more than
        ``cost_weight / learning_rate`` for each unit of cost that it adds.
        The loss is the negative log-likelihood, with natural logarithms.
    charge : {"ensemble", "row"}, default="ensemble"
        Who pays during training. With "ensemble", as in the paper, the first split on a feature pays for it, and then
        the feature is free in all trees and for all rows. With "row", each row pays for the features on its own paths,
        and a split pays for those rows of its node that have not paid yet. In prediction, rows always pay for the
        features on their own paths.
    lookahead : bool, default=False
        Whether to decide about a purchase by the gain of a whole tree instead of a single split, which goes beyond the
        paper. It finds better features if only few can be bought, but training takes longer. Only with
        ``charge="ensemble"``.
    budget : float or None, default=None
        No feature is bought that would exceed the budget. With ``charge="ensemble"`` it bounds the cost of all
        features together, and therefore the spend of every row. With ``charge="row"`` it bounds the mean spend of all
        training rows, weighted by their weights, also with ``subsample``. Evaluation costs are included.
    evaluation_cost : float, default=0.0
        What evaluating one tree costs a row, in the unit of the costs. A round is kept only if it saves more than its
        evaluation costs. Otherwise its purchases are undone.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float, default=0.1
        Every leaf value is multiplied by this number, eta in the paper.
    max_depth : int or None, default=4
        The largest depth of a tree. None means no limit.
    max_leaf_nodes : int or None, default=None
        The largest number of leaves of a tree. None means no limit.
    min_samples_leaf : int, default=20
        The least number of rows in a leaf. A row of weight w counts as w rows; if some weights are below 1, all are
        first rescaled to a mean of 1. With ``subsample``, only rows that the tree is grown on count.
        A leaf must also have at least the same share of the sum of the Hessians of its parent, so that no leaf value
        is very large.
    l2_regularization : float, default=0.0
        Added to the sum of the Hessians of every leaf, which shrinks leaf values.
    subsample : float, default=1.0
        The share of the rows that each round is grown on, drawn without replacement.
    max_features : float, default=1.0
        The share of the features that each round may split on, drawn without replacement.
    max_bins : int, default=254
        The largest number of bins of a column.
    categorical_features : array-like of str, int or bool, default=None
        Names or positions of the columns that hold categories, or a mask. Categories are whole numbers of at least 0.
    early_stopping : bool, default=False
        Whether to stop when the score of held-out rows has not improved for ``n_iter_no_change`` rounds.
    n_iter_no_change : int, default=20
        The number of rounds without improvement after which early stopping ends the training.
    scoring : "ndcg@k", "precision@k", callable or None, default=None
        How held-out rows are scored: by a ranking metric computed by query, by a function of (y, scores) whose
        larger values are better, or by the loss if None.
    validation_fraction : float, default=0.1
        The share of the rows that early stopping holds out if ``fit`` is not given validation rows.
    random_state : int, RandomState instance or None, default=None
        Draws the rows and features of each round, and the rows that are held out.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in the order of the columns of ``predict_proba``.
    forest_ : Forest
        The trees.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    features_ : ndarray of int
        The columns that the model splits on.
    history_ : dict of ndarray
        Numbers after each round: ``loss`` of the training rows, their mean ``spend``, ``cost`` of all features bought
        so far and their number ``n_features``. If rows are held out, also ``validation_score`` and
        ``validation_spend``. Spend and cost include evaluation.
    n_iter_ : int
        The number of rounds boosted.
    best_iteration_ : int
        The number of rounds kept: those up to the best score of the held-out rows, or all if no rows are held out.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, if X has names.

    References
    ----------
    Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012.

    Examples
    --------
    >>> from thrifty import GreedyMiserClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> cheap, expensive = (
    ...     GreedyMiserClassifier(costs=heart.costs, cost_weight=weight).fit(heart.X, heart.y) for weight in (1e-3, 0)
    ... )
    >>> bool(cheap.spend(heart.X).mean() < expensive.spend(heart.X).mean())
    True
    """

    def _loss(self, targets: np.ndarray, weight: np.ndarray, qid: np.ndarray) -> Loss:
        if targets.shape[1] == 1:
            return LogLoss((targets[:, 0] + 1) / 2, weight)
        return SoftmaxLoss(np.ascontiguousarray(targets.T), weight)


class GreedyMiserRanker(GreedyMiserEstimator, BudgetedRanker):
    """Boosted trees that rank the documents of each query and pay for a feature when it is first used.

    Parameters
    ----------
    loss : {"lambdarank", "squared_error"}, default="lambdarank"
        What is minimised. LambdaRank improves NDCG by comparing pairs of documents of a query. The squared error of
        the labels is the loss of the paper.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    cost_weight : float, default=1e-3
        Weight of the costs, lambda in the paper. A split is made only if it decreases the loss per row by more than
        ``cost_weight / learning_rate`` for each unit of cost that it adds.
        With ``loss="squared_error"`` the loss is half the squared error, in units of the variance of y. The loss per
        row of LambdaRank is the sum over the pairs of the document, normalised by query.
    charge : {"ensemble", "row"}, default="ensemble"
        Who pays during training. With "ensemble", as in the paper, the first split on a feature pays for it, and then
        the feature is free in all trees and for all rows. With "row", each row pays for the features on its own paths,
        and a split pays for those rows of its node that have not paid yet. In prediction, rows always pay for the
        features on their own paths.
    lookahead : bool, default=False
        Whether to decide about a purchase by the gain of a whole tree instead of a single split, which goes beyond the
        paper. It finds better features if only few can be bought, but training takes longer. Only with
        ``charge="ensemble"``.
    budget : float or None, default=None
        No feature is bought that would exceed the budget. With ``charge="ensemble"`` it bounds the cost of all
        features together, and therefore the spend of every row. With ``charge="row"`` it bounds the mean spend of all
        training rows, weighted by their weights, also with ``subsample``. Evaluation costs are included.
    evaluation_cost : float, default=0.0
        What evaluating one tree costs a row, in the unit of the costs. A round is kept only if it saves more than its
        evaluation costs. Otherwise its purchases are undone.
    n_estimators : int, default=100
        The largest number of rounds.
    learning_rate : float, default=0.1
        Every leaf value is multiplied by this number, eta in the paper.
    max_depth : int or None, default=4
        The largest depth of a tree. None means no limit.
    max_leaf_nodes : int or None, default=None
        The largest number of leaves of a tree. None means no limit.
    min_samples_leaf : int, default=20
        The least number of rows in a leaf. A row of weight w counts as w rows; if some weights are below 1, all are
        first rescaled to a mean of 1. With ``subsample``, only rows that the tree is grown on count.
        A leaf must also have at least the same share of the sum of the Hessians of its parent, so that no leaf value
        is very large.
    l2_regularization : float, default=0.0
        Added to the sum of the Hessians of every leaf, which shrinks leaf values.
    subsample : float, default=1.0
        The share of the rows that each round is grown on, drawn without replacement.
    max_features : float, default=1.0
        The share of the features that each round may split on, drawn without replacement.
    max_bins : int, default=254
        The largest number of bins of a column.
    categorical_features : array-like of str, int or bool, default=None
        Names or positions of the columns that hold categories, or a mask. Categories are whole numbers of at least 0.
    early_stopping : bool, default=False
        Whether to stop when the score of held-out rows has not improved for ``n_iter_no_change`` rounds.
    n_iter_no_change : int, default=20
        The number of rounds without improvement after which early stopping ends the training.
    scoring : "ndcg@k", "precision@k", callable or None, default=None
        How held-out rows are scored: by a ranking metric computed by query, by a function of (y, scores) whose
        larger values are better, or by the loss if None.
    validation_fraction : float, default=0.1
        The share of the rows that early stopping holds out if ``fit`` is not given validation rows.
    random_state : int, RandomState instance or None, default=None
        Draws the rows and features of each round, and the rows that are held out.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a row.
    features_ : ndarray of int
        The columns that the model splits on.
    history_ : dict of ndarray
        Numbers after each round: ``loss`` of the training rows, their mean ``spend``, ``cost`` of all features bought
        so far and their number ``n_features``. If rows are held out, also ``validation_score`` and
        ``validation_spend``. Spend and cost include evaluation.
    n_iter_ : int
        The number of rounds boosted.
    best_iteration_ : int
        The number of rounds kept: those up to the best score of the held-out rows, or all if no rows are held out.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : ndarray of str
        The names of the columns, if X has names.

    References
    ----------
    Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML 2012.

    C. J. C. Burges. From RankNet to LambdaRank to LambdaMART: an overview. Microsoft Research, 2010.

    Examples
    --------
    >>> from thrifty import GreedyMiserRanker
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(30, 20, 40, random_state=0)
    >>> model = GreedyMiserRanker(costs=data.costs, cost_weight=1e-5).fit(data.X, data.y, qid=data.qid)
    >>> model.score(data.X, data.y, qid=data.qid) > 0.6
    True
    """

    _choices: ClassVar[dict[str, tuple[str, ...]]] = GreedyMiserEstimator._choices | {
        "loss": ("lambdarank", "squared_error")
    }

    def __init__(
        self,
        *,
        loss: str = "lambdarank",
        costs: Any = None,
        cost_weight: float = 1e-3,
        charge: str = "ensemble",
        lookahead: bool = False,
        budget: float | None = None,
        evaluation_cost: float = 0.0,
        n_estimators: int = 100,
        learning_rate: float = 0.1,
        max_depth: int | None = 4,
        max_leaf_nodes: int | None = None,
        min_samples_leaf: int = 20,
        l2_regularization: float = 0.0,
        subsample: float = 1.0,
        max_features: float = 1.0,
        max_bins: int = MAX_BINS,
        categorical_features: Any = None,
        early_stopping: bool = False,
        n_iter_no_change: int = 20,
        scoring: Any = None,
        validation_fraction: float = 0.1,
        random_state: Any = None,
        verbose: bool = False,
    ):
        super().__init__(
            costs=costs,
            cost_weight=cost_weight,
            charge=charge,
            lookahead=lookahead,
            budget=budget,
            evaluation_cost=evaluation_cost,
            n_estimators=n_estimators,
            learning_rate=learning_rate,
            max_depth=max_depth,
            max_leaf_nodes=max_leaf_nodes,
            min_samples_leaf=min_samples_leaf,
            l2_regularization=l2_regularization,
            subsample=subsample,
            max_features=max_features,
            max_bins=max_bins,
            categorical_features=categorical_features,
            early_stopping=early_stopping,
            n_iter_no_change=n_iter_no_change,
            scoring=scoring,
            validation_fraction=validation_fraction,
            random_state=random_state,
            verbose=verbose,
        )
        self.loss = loss

    def _targets(self, y: np.ndarray) -> np.ndarray:
        labels = super()._targets(y)
        valid = (labels >= 0) & (labels < MAX_LABEL + 1)
        if self.loss == "lambdarank" and not valid.all():
            raise ValueError(
                f"{type(self).__name__}: y holds {labels[~valid][0]:g}; expected relevance labels from 0 to "
                f"{MAX_LABEL}, because the gain is 2^label - 1. Pass loss='squared_error' for other targets."
            )
        return labels

    def _loss(self, targets: np.ndarray, weight: np.ndarray, qid: np.ndarray) -> Loss:
        if self.loss == "squared_error":
            return SquaredError(targets[:, 0], weight)
        return LambdaRank(targets[:, 0], weight, qid)
