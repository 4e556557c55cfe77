"""The default models: boosted trees that buy columns row by row, and stop when going on is not worth its cost."""

import numpy as np

from thrifty.costs.error_costs import ClassErrorCosts, NumberErrorCosts
from thrifty.models.adaptive.estimator import AdaptiveEstimator
from thrifty.models.adaptive.training_rows import Objective
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedClassifier, BudgetedRegressor
from thrifty.stored import Array, Number, OrNone, stored


@stored(error_costs_=OrNone(Array("float64", "n_classes", "n_classes", finite=True)))
class ThriftyClassifier(AdaptiveEstimator, BudgetedClassifier):
    """Boosted trees that decide row by row which columns to buy, and when to stop.

    One predictor answers whatever a row has bought: it is boosted on copies of the rows in which columns are masked.
    Every row starts along a default order of the columns, and buys out of order where the expected decrease of the
    loss per price is larger. It stops where going on, with all purchases that would follow, is expected to cost more
    than it saves. All of this is learned on rows that the predictor was not fitted on, and one fit serves every budget.

    Parameters
    ----------
    costs : CostModel, array-like, dict or None
        What the columns cost. None means 1 each.
    budget : float, optional
        Bound on the mean spend per row. The operating point with the smallest loss that keeps it is chosen.
    cost_weight : float, optional
        How much loss, in nats, a purchase must be expected to save for each unit of cost. With error costs, the loss is
        a cost itself, and the default is 1. Otherwise, and without a budget, the default is the largest cost weight
        whose loss is within a standard error of the smallest.
    confidence : float, default=0.95
        How certainly a future batch of at least a quarter as many rows as in training keeps the budget.
    error_costs : array-like of shape (n_classes, n_classes), DataFrame, dict or ErrorCosts, optional
        What a mistake costs, in the unit of the costs: an entry for each true class (row) and answer (column), or
        ``{(true, answer): cost}``, where pairs that are not listed cost 0. The answer is then the one with the smallest
        expected cost, and purchases are made as long as they lower the expected total of costs and error costs.
    factors : sequence of sequences, optional
        Columns that are bought together. By default these are the bundles whose members have no price of their own.
    categorical_features : array-like, optional
        Columns that hold categories, as codes 0, 1, 2, ...: names, positions or a mask.
    n_estimators : int, default=500
        The largest number of rounds of the predictor. It stops earlier when the loss of held-out rows does not fall.
    learning_rate : float, default=0.1
        By how much each tree of the predictor is shrunken.
    max_leaf_nodes : int, optional
        The largest number of leaves of its trees; by default one for each 60 rows, from 4 to 31. Trees of
        rows that have bought many groups may have one for each 160 rows, up to 127.
    min_samples_leaf : int, default=10
        The least number of rows in a leaf of its trees.
    l2_regularization : float, default=5.0
        Added to the Hessian of its leaves.
    n_rounds : int, default=3
        How often the policy is improved at most. A round is kept only if it is better on held-out rows.
    max_steps : int, default=24
        How many groups of columns a row buys one at a time. Then it buys 4, 8, 16, ... at once.
    n_folds : int, optional
        The number of folds; by default 5 for fewer than 2,000 rows, otherwise 3.
    random_state : int, RandomState or None
        Random state of folds, masks and trees.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    policy_ : PurchasePolicy
        The predictor of masked rows, and what rows buy next.
    stopping_rule_ : StoppingRule
        When rows stop, for every cost weight.
    curve_ : OperatingCurve
        Mean spend and loss at every cost weight, on rows that were not fitted.
    cost_weight_ : float
        The cost weight of this operating point.
    expected_spend_ : float
        Mean spend at this operating point, on rows that were not fitted.
    spend_bound_ : float
        Upper confidence bound on the mean spend of a future batch of rows.
    error_costs_ : ndarray of shape (n_classes, n_classes) or None
        The error costs in the order of `classes_`.
    n_rounds_ : int
        How many rounds improved the policy.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        Their names, if X had names.

    References
    ----------
    Z. Xu, K. Q. Weinberger, O. Chapelle. The Greedy Miser: Learning under Test-time Budgets. ICML, 2012 (the default
    order). F. A. Longstaff, E. S. Schwartz. Valuing American options by simulation. Review of Financial Studies 14,
    2001 (the stopping rule). L. Iosipoi, A. Vakhrushev. SketchBoost: Fast Gradient Boosted Decision Tree for
    Multioutput Problems. NeurIPS, 2022 (trees with many outputs).

    Examples
    --------
    >>> from thrifty import ThriftyClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart(as_frame=True)
    >>> model = ThriftyClassifier(costs=heart.costs, budget=50, random_state=0).fit(heart.X, heart.y)
    >>> bool(model.spend(heart.X).mean() <= 50)
    True
    >>> cheaper = model.at_budget(10)
    >>> bool(cheaper.spend(heart.X).mean() <= 10)
    True
    """

    error_costs_: np.ndarray | None

    def _training_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        self._targets(y)
        given, owner = self.error_costs, type(self).__name__
        self.error_costs_ = None if given is None else ClassErrorCosts.parse(given, self.classes_, owner).matrix
        return np.searchsorted(self.classes_, y)

    def _objective(self) -> Objective:
        return Objective(len(self.classes_), self.error_costs_)

    def _strata(self, targets: np.ndarray) -> np.ndarray:
        return targets

    def _default_cost_weight(self) -> float:
        return self.curve_.economical() if self.error_costs_ is None else 1.0

    def _explained_loss(self) -> tuple[str, float]:
        return ("nats", 1.0) if self.error_costs_ is None else (self.cost_model_.unit, 1.0)

    def _answer(self, score: np.ndarray) -> np.ndarray:
        if self.error_costs_ is None:
            return super()._answer(score)
        return ClassErrorCosts(self.classes_, self.error_costs_).cheapest(self._probabilities(score))

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(self.error_costs_ is None or len(self.error_costs_) == len(self.classes_), "its error costs do not fit")
        require(not self.policy_.is_regression, "it predicts numbers")


@stored(target_mean_=Number(finite=True), target_scale_=Number(0, finite=True))
class ThriftyRegressor(AdaptiveEstimator, BudgetedRegressor):
    """Boosted trees that decide row by row which columns to buy, and when to stop, to predict a number.

    See `ThriftyClassifier`; here the loss is half the squared error, in units of the variance of the targets.

    Parameters
    ----------
    costs : CostModel, array-like, dict or None
        What the columns cost. None means 1 each.
    budget : float, optional
        Bound on the mean spend per row. The operating point with the smallest loss that keeps it is chosen.
    cost_weight : float, optional
        How much loss a purchase must be expected to save for each unit of cost. Without a cost weight, a budget and
        error costs it is the largest one whose loss is within a standard error of the smallest.
    confidence : float, default=0.95
        How certainly a future batch of at least a quarter as many rows as in training keeps the budget.
    error_costs : float, dict or ErrorCosts, optional
        What an error of e costs, divided by e², in the unit of the costs; ``{"squared": cost}`` says the same. Then the
        default cost weight is the one that minimises the expected total of costs and error costs.
    factors : sequence of sequences, optional
        Columns that are bought together. By default these are the bundles whose members have no price of their own.
    categorical_features : array-like, optional
        Columns that hold categories, as codes 0, 1, 2, ...: names, positions or a mask.
    n_estimators : int, default=500
        The largest number of rounds of the predictor. It stops earlier when the loss of held-out rows does not fall.
    learning_rate : float, default=0.1
        By how much each tree of the predictor is shrunken.
    max_leaf_nodes : int, optional
        The largest number of leaves of its trees; by default one for each 60 rows, from 4 to 31. Trees of
        rows that have bought many groups may have one for each 160 rows, up to 127.
    min_samples_leaf : int, default=10
        The least number of rows in a leaf of its trees.
    l2_regularization : float, default=5.0
        Added to the number of rows of its leaves.
    n_rounds : int, default=3
        How often the policy is improved at most. A round is kept only if it is better on held-out rows.
    max_steps : int, default=24
        How many groups of columns a row buys one at a time. Then it buys 4, 8, 16, ... at once.
    n_folds : int, optional
        The number of folds; by default 5 for fewer than 2,000 rows, otherwise 3.
    random_state : int, RandomState or None
        Random state of folds, masks and trees.
    verbose : bool, default=False
        Whether to show a progress bar.

    Attributes
    ----------
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    policy_ : PurchasePolicy
        The predictor of masked rows, and what rows buy next.
    stopping_rule_ : StoppingRule
        When rows stop, for every cost weight.
    curve_ : OperatingCurve
        Mean spend and loss at every cost weight, on rows that were not fitted.
    cost_weight_ : float
        The cost weight of this operating point.
    expected_spend_ : float
        Mean spend at this operating point, on rows that were not fitted.
    spend_bound_ : float
        Upper confidence bound on the mean spend of a future batch of rows.
    target_mean_ : float
        Mean of the training targets.
    target_scale_ : float
        Standard deviation of the training targets.
    n_rounds_ : int
        How many rounds improved the policy.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of str
        Their names, if X had names.

    References
    ----------
    As in `ThriftyClassifier`.

    Examples
    --------
    >>> from thrifty import ThriftyRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(2000, random_state=0)
    >>> model = ThriftyRegressor(costs=data.costs, budget=14, random_state=0).fit(data.X, data.y)
    >>> bool(model.spend(data.X).mean() <= 14), bool(model.score(data.X, data.y) > 0.9)
    (True, True)
    """

    target_mean_: float
    target_scale_: float

    def _training_targets(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        if self.error_costs is not None:
            self._squared_error_cost()
        targets = self._targets(y)[:, 0]
        self.target_mean_ = float(np.average(targets, weights=weight))
        deviation = targets - self.target_mean_
        spread = float(np.sqrt(np.average(deviation**2, weights=weight)))
        negligible = spread <= 1e-12 * max(abs(self.target_mean_), 1e-300)
        self.target_scale_ = 0.0 if negligible else spread
        return deviation / spread if not negligible else np.zeros_like(deviation)

    def _objective(self) -> Objective:
        return Objective(0)

    def _strata(self, targets: np.ndarray) -> np.ndarray:
        return np.zeros(len(targets), dtype=np.int64)

    def _default_cost_weight(self) -> float:
        if self.error_costs is None:
            return self.curve_.economical()
        return 0.5 / (self._squared_error_cost() * max(self.target_scale_**2, 1e-300))

    def _squared_error_cost(self) -> float:
        """Return what an error of 1 costs; the model minimises squared errors, so costs of other errors are refused."""
        costs = NumberErrorCosts.parse(self.error_costs, type(self).__name__)
        expected = "a cost for each squared unit of error; a search takes costs of absolute errors too"
        self._refuse_unless(costs.power == 2, "error_costs", self.error_costs, expected)
        return costs.cost

    def _explained_loss(self) -> tuple[str, float]:
        return "of the squared error", 2.0 * self.target_scale_**2

    def _final_score(self, scores: np.ndarray) -> np.ndarray:
        return self.target_mean_ + self.target_scale_ * scores[:, 0]

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(self.policy_.is_regression, "it predicts classes")
