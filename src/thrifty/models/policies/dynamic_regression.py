"""Dynamic feature selection for regression: the oracle knows the number to predict.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

The paper has classes. For numbers, minus the squared error takes the place of the margin in the reward, and the
meta-features describe the predicted number; everything else is the same.
"""

from collections.abc import Sequence
from typing import Any

from thrifty.models.policies.dynamic_base import DynamicSelection
from thrifty.models.policies.estimator import PolicyRegressor
from thrifty.models.policies.rewards import Reward


class DynamicSelectionRegressor(DynamicSelection, PolicyRegressor):
    """A regressor with a learned policy that decides for each row which factor to buy next and when to stop.

    A factor is a group of features that are bought together. In each step, the policy sees the values that the row has,
    the number that a data regressor predicts from them, and their cost. It chooses the next factor or stops. It learns
    this by imitation of an oracle that knows the targets of the training rows (DAgger), or of a coach that also
    considers what the policy prefers (Coaching). Every row has free factors from the start. If the choice of the policy
    would exceed the cap, the row is answered with what it has.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    factors : sequence of sequences of str or int, or None, default=None
        Features that are bought together, by name or index. A feature that is not listed is a factor of its own. None
        means that every bundle whose members have no price of their own is a factor.
    cost_weight : float, default=0.5
        Weight of the cost in the reward, ``-(y - prediction)**2 / variance of y - cost_weight * cost``. The cost is a
        share of the cost of all features. So a change of the unit of the costs or of the targets does not change the
        model.
    regressor : scikit-learn regressor or None, default=None
        The data regressor. Its columns are standardised, and 0 where a value is not acquired or unavailable; its
        targets are standardised. None means ridge regression; with masked training, its ``alpha`` is 1 or 30, whichever
        has the smaller squared error on held-out rows. Linear regressors are updated factor by factor and are much
        faster than others, which predict each masked row again.
    masked_training : bool, default=True
        Whether the data regressor is also fitted to copies of the rows with random factors set to 0, and sees a flag
        for each factor that is known. This calibrates it for rows with few factors.
    n_folds : int, default=10
        Number of folds. While the policy is learned, each row is predicted by a data regressor that was fitted to the
        other folds.
    policy : scikit-learn classifier or None, default=None
        Classifier that learns the actions of the oracle from masked rows and meta-features. None means a linear SVM
        that continues from iteration to iteration.
    coaching : float, default=0.5
        Weight of the policy's own scores in the choices of the coach. It decreases by the factor e in each iteration. 0
        means DAgger.
    coach_stops : bool, default=False
        Whether stopping is one of the actions that the coach compares: it then stops if the reward of the current state
        plus the weighted score of stopping is at least the sum of every other action. False: the coach stops where the
        oracle stops.
    stop_biases : sequence of float, default=(0.0, -0.25, -0.5, 0.25)
        Numbers to add to a policy's score of stopping. Each policy is evaluated on the validation rows with each of
        them, and the one with the largest reward is used. ``(0.0,)`` uses policies as they are learned.
    n_iterations : int, default=15
        Number of policies that are learned, each from the states that rows visited in all iterations so far. The policy
        with the largest mean reward on validation rows is used.
    weigh_stakes : bool, default=True
        Whether a state is weighted by ``0.05 + stake``. The stake is the absolute difference between the reward of the
        state and the largest reward of the later states of the oracle. False gives all states the same weight.
    max_states : int, default=40000
        Largest number of states to learn a policy from. If there are more, states are drawn in proportion to their
        weights.
    validation_fraction : float, default=0.2
        Share of the training rows on which the policies are compared.
    random_state : int, RandomState or None, default=None
        Random state of folds, masks, validation rows and states.

    Attributes
    ----------
    policy_ : Policy
        The policy with the largest mean reward on the validation rows.
    learning_curve_ : LearningCurve
        Reward, R² and cost on the validation rows, for each iteration.
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

    The meta-features of a state are: the predicted number, its change by the latest factor, the absolute values of
    both, the cost, and its change by the latest factor. Numbers are in standard deviations of the targets.

    References
    ----------
    He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

    S. Ross, G. J. Gordon, J. A. Bagnell. A Reduction of Imitation Learning and Structured Prediction to No-Regret
    Online Learning. AISTATS 2011 (DAgger).

    Examples
    --------
    >>> from thrifty import DynamicSelectionRegressor
    >>> from thrifty.datasets import make_quadrants
    >>> data = make_quadrants(500, random_state=0)
    >>> model = DynamicSelectionRegressor(costs=data.costs, n_iterations=5, random_state=0).fit(data.X, data.y)
    >>> bool(model.spend(data.X).mean() < data.costs.total)
    True
    >>> len(model.learning_curve_)
    5
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        factors: Any = None,
        cost_weight: float = 0.5,
        regressor: Any = None,
        masked_training: bool = True,
        n_folds: int = 10,
        policy: Any = None,
        coaching: float = 0.5,
        coach_stops: bool = False,
        stop_biases: Sequence[float] = (0.0, -0.25, -0.5, 0.25),
        n_iterations: int = 15,
        weigh_stakes: bool = True,
        max_states: int = 40_000,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ):
        self.costs = costs
        self.factors = factors
        self.cost_weight = cost_weight
        self.regressor = regressor
        self.masked_training = masked_training
        self.n_folds = n_folds
        self.policy = policy
        self.coaching = coaching
        self.coach_stops = coach_stops
        self.stop_biases = stop_biases
        self.n_iterations = n_iterations
        self.weigh_stakes = weigh_stakes
        self.max_states = max_states
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    def _reward(self) -> Reward:
        return Reward("squared_error", self.cost_weight)
