"""Dynamic feature selection: a policy that decides, row by row, which factor to buy next and when to stop.

He He, H. Daumé III, J. Eisner. Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning, 2012.

    factors.py          what is bought together                 data_classifier.py   scores of partial rows
    rollout.py          the states of rows on their way         training.py          distinct rows, folds
    oracle.py           what one does who knows the class       states.py            what is learned from
    policy.py           scores of the actions in a state        imitation.py         DAgger and Coaching
    action_svm.py       how policies are learned                session.py           one lazy row
    static_selection.py one queue for all
"""

from collections.abc import Iterable
from copy import copy, deepcopy
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from thrifty.models.parameters import ascending_cost_weights, is_number
from thrifty.models.policies.data_classifier import refuse_unscored
from thrifty.models.policies.estimator import PolicyClassifier
from thrifty.models.policies.imitation import imitate
from thrifty.models.policies.states import Pupils, Teaching
from thrifty.models.policies.training import hold_out

COST_WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)  # of the paper


class School(NamedTuple):
    """Rows to learn from and rows to be judged by, with their data classifiers, and where chance stands."""

    pupils: Pupils
    judges: Pupils
    random: np.random.RandomState


class DynamicSelectionClassifier(PolicyClassifier):
    """Buys factor after factor as a learned policy says, and answers when the policy says to stop.

    Each step, the policy looks at the values acquired so far, at what the data classifier makes of them and at what
    they have cost, and names the next factor or stops. It is learned by imitating an oracle that knows the classes of
    the training rows (DAgger), or a coach that meets the policy half way (Coaching). Factors that cost nothing are
    acquired at the start. Where the policy's choice would break the cap, the row is answered with what it has.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    factors : sequence of sequences of features, optional
        What is bought together, by name or index; features left out are factors of their own. By default a bundle
        whose members have no price of their own is a factor, and any other feature is one by itself.
    cost_weight : float, default=0.5
        What the cost of everything is worth in margin, the probability of the true class less that of the likeliest
        other. It is relative: prices in another unit leave it as it is.
    classifier : scikit-learn classifier, optional
        The data classifier, on standardised columns with 0 for what is not acquired or missing; multinomial logistic
        regression by default, with masked training the likelier on held-out rows of two that differ in `C`. Linear
        classifiers are updated factor by factor and are much faster than others, which predict masked rows anew.
    masked_training : bool, default=True
        Fit the data classifier to randomly masked copies of the rows too, and show it a flag for each factor that is
        known, so that it is honest on partial rows; see the notes. False is the paper's way.
    n_folds : int, default=10
        While the policy is learned, a row is scored by a data classifier that has not seen its fold.
    policy : scikit-learn classifier, optional
        Learns the policy: the oracle's action from masked values and meta-features. By default a linear SVM that goes
        on from iteration to iteration; ``LinearSVC(dual=False)`` has the same objective and starts anew each time,
        and wants fewer states.
    coaching : float, default=0.5
        How much the policy's own preference counts in the coach's advice at first; it decays by e each iteration. 0 is
        DAgger.
    n_iterations : int, default=15
        Policies learned, each from the states that all before it came through; the best on held-out rows is kept.
    weigh_stakes : bool, default=True
        Weigh states by how much there is to lose between stopping and going on. False weighs all alike.
    max_states : int, default=40000
        States to learn a policy from; if there are more they are drawn, in proportion to their weights.
    validation_fraction : float, default=0.2
        Share of the training rows that the policies are compared on.
    random_state : int, RandomState or None
        Draws folds, held-out rows and states.

    Attributes
    ----------
    learning_curve_ : LearningCurve
        Reward, accuracy and cost on the held-out rows, iteration by iteration.
    policy_ : Policy
        The policy kept.
    classifier_ : estimator
        The fitted data classifier; its columns are standardised and sorted by factor, with masked training each
        factor followed by its flag.
    factors_ : Factors
        What is bought together.
    cost_model_ : CostModel
        The costs, aligned with the columns of X.
    classes_ : ndarray of shape (n_classes,)
        The classes, in the order of ``predict_proba``'s columns.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X had any.

    Notes
    -----
    ``acquire(X).exit`` is the number of factors acquired.

    Masked training is the default because it was measured to be better for the most part. Test accuracy at the share
    of the cost spent, without and with it: usps in 4 x 4 blocks (``cost_weight=0.25``) 0.893 at 0.52 and 0.905 at
    0.44; thyroid 0.960 and 0.962, both at 0.37. Area under the curve of accuracy by cost: ionosphere 0.865 and 0.869,
    segmentation 0.813 and 0.837. The best within half of the cost is higher without it on these two: 0.889 to 0.886
    and 0.937 to 0.931.

    References
    ----------
    He, Daumé, Eisner (2012). Cost-sensitive Dynamic Feature Selection. ICML workshop on Inferning.

    Examples
    --------
    >>> from thrifty import DynamicSelectionClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = DynamicSelectionClassifier(costs=heart.costs, n_iterations=5, random_state=0).fit(heart.X, heart.y)
    >>> bool(model.spend(heart.X).mean() < 0.5 * heart.costs.total)
    True
    >>> len(model.learning_curve_)
    5
    """

    _relative_cost_weight = True  # what the checks read: costs in cents need no other weight

    def __init__(
        self,
        *,
        costs: Any = None,
        factors: Any = None,
        cost_weight: float = 0.5,
        classifier: Any = None,
        masked_training: bool = True,
        n_folds: int = 10,
        policy: Any = None,
        coaching: float = 0.5,
        n_iterations: int = 15,
        weigh_stakes: bool = True,
        max_states: int = 40_000,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ):
        self.costs = costs
        self.factors = factors
        self.cost_weight = cost_weight
        self.classifier = classifier
        self.masked_training = masked_training
        self.n_folds = n_folds
        self.policy = policy
        self.coaching = coaching
        self.n_iterations = n_iterations
        self.weigh_stakes = weigh_stakes
        self.max_states = max_states
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @threadpool_limits.wrap(1, "blas")  # whose idle threads spin, and take the time of those that do the work
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit the data classifier, then learn the policy by imitation.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN where a value could not be had.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Read as numbers of rows; weights below one are first rescaled to a mean of one.
        """
        self._refuse_bad_parameters()
        return self._taught(self._schooled(X, y, sample_weight, qid))

    @threadpool_limits.wrap(1, "blas")
    def path(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        cost_weights: Iterable[float] = COST_WEIGHTS,
        qid: Any = None,
    ) -> list[Self]:
        """Return one fitted model per cost weight, from the largest to the smallest; by default those of the paper.

        The data classifier, which knows nothing of cost weights, is fitted once for all of them.
        """
        template = clone(self)
        template._refuse_bad_parameters()
        ascending = ascending_cost_weights(cost_weights, type(self).__name__)
        school = template._schooled(X, y, sample_weight, qid)
        return [copy(template).set_params(cost_weight=weight)._taught(school) for weight in reversed(ascending)]

    def _schooled(self, X: Any, y: Any, sample_weight: Any, qid: Any = None) -> School:
        rows, random = self._prepare(X, y, sample_weight, qid)
        pupils = self._fit_data_classifier(rows, random)
        learn_from, judge_by = hold_out(rows.labels, self.validation_fraction, random)
        return School(pupils.some(learn_from), pupils.some(judge_by), random)

    def _taught(self, school: School) -> Self:
        teaching = self._teaching(deepcopy(school.random))  # for the next cost weight to find it as this one did
        self.policy_, self.learning_curve_ = imitate(school.pupils, school.judges, teaching)
        return self

    def _teaching(self, random: np.random.RandomState) -> Teaching:
        return Teaching(
            learner=self.policy,
            cost_weight=self.cost_weight,
            coaching=self.coaching,
            n_iterations=int(self.n_iterations),
            max_states=int(self.max_states),
            weigh_stakes=self.weigh_stakes,
            random=random,
        )

    def _refuse_bad_parameters(self) -> None:
        for name in ("cost_weight", "coaching"):
            self._refuse_unless(is_number(value := getattr(self, name), 0), name, value, "a number of at least 0")
        self._refuse_non_whole("n_iterations", 1)
        self._refuse_non_whole("max_states", 1)
        self._refuse_non_bool("weigh_stakes")
        fine = is_number(share := self.validation_fraction, 0) and share < 1
        self._refuse_unless(fine, "validation_fraction", share, "a share from 0 to below 1")
        if self.policy is not None:
            refuse_unscored(self.policy, type(self).__name__, "policy")
