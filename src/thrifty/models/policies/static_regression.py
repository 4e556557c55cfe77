"""The static baselines for regression: one order of the factors for all rows.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.
"""

from typing import Any, Literal

from thrifty.models.policies.estimator import PolicyRegressor
from thrifty.models.policies.static_selection import StaticSelection


class StaticSelectionRegressor(StaticSelection, PolicyRegressor):
    """A regressor for which every row buys the same factors in the same order, up to a budget or a number of factors.

    A factor is a group of features that are bought together. Every row has free factors from the start. A row with a
    cap is answered with as many factors of the queue as it can pay for.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    factors : sequence of sequences of str or int, or None, default=None
        Features that are bought together, by name or index. A feature that is not listed is a factor of its own. None
        means that every bundle whose members have no price of their own is a factor.
    ranking : {"forward", "weight_per_cost"}, default="forward"
        Order of the factors. "forward": forward selection by the squared error on held-out folds, without regard to the
        costs. "weight_per_cost": by the largest absolute weight of a factor's features in the data regressor, which
        must be linear, divided by the cost of the factor.
    budget : float or None, default=None
        Buy the longest prefix of this order that costs at most this much. None means no limit.
    n_factors : int or None, default=None
        Buy at most so many factors. None means all.
    regressor : scikit-learn regressor or None, default=None
        The data regressor. Its columns are standardised, and 0 where a value is not acquired or unavailable; its
        targets are standardised. None means ridge regression.
    masked_training : bool, default=True
        Whether the data regressor is also fitted to copies of the rows with random factors set to 0, and sees a flag
        for each factor that is known. Without it, the weights of correlated features can offset one another, and a row
        that has only one of them is predicted badly.
    n_folds : int, default=10
        Number of folds for forward selection.
    random_state : int, RandomState or None, default=None
        Random state of folds and masks.

    Attributes
    ----------
    queue_ : list of tuples
        The features of each factor that is bought, in order.
    policy_ : Policy
        The policy that buys the factors of the queue in order.
    regressor_ : estimator
        The fitted data regressor. Its columns are standardised and sorted by factor; with masked training, a flag
        follows the columns of each factor. It predicts standardised targets.
    target_mean_ : float
        Mean of the training targets.
    target_scale_ : float
        Standard deviation of the training targets.
    factors_ : Factors
        The groups of features that are bought together.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    training_ : Training
        The number of training rows, the date of the fit, and a fingerprint of the data.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X has names.

    Notes
    -----
    ``acquire(X).exit`` is the number of factors that a row has.

    References
    ----------
    He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

    Examples
    --------
    >>> from thrifty import StaticSelectionRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(500, random_state=0)
    >>> model = StaticSelectionRegressor(costs=data.costs, n_factors=2, random_state=0).fit(data.X, data.y)
    >>> model.queue_
    [('sign(z)',), ('sign(x)',)]
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        factors: Any = None,
        ranking: Literal["forward", "weight_per_cost"] = "forward",
        budget: float | None = None,
        n_factors: int | None = None,
        regressor: Any = None,
        masked_training: bool = True,
        n_folds: int = 10,
        random_state: Any = None,
    ):
        self.costs = costs
        self.factors = factors
        self.ranking = ranking
        self.budget = budget
        self.n_factors = n_factors
        self.regressor = regressor
        self.masked_training = masked_training
        self.n_folds = n_folds
        self.random_state = random_state
