"""AdaBoostRS: a random sample of the trees of AdaBoost, in which cheap trees are drawn more often.

L. Reyzin. Boosting on a Budget: Sampling for Feature-Efficient Prediction. ICML 2011. This is the version for features
of different costs, as described in Xu et al. (JMLR 15, 2014, section 6.3).

Let a_t be the weight of tree h_t in AdaBoost, and c_t the cost of its features. The tree is drawn with a probability
proportional to a_t / c_t, and its vote has the weight c_t. So the expected vote of the sample is proportional to the
vote of AdaBoost, sum_t a_t h_t(x). The papers have two classes, and h_t(x) = +-1. With more classes, which goes beyond
them, the trees are those of SAMME, and h_t(x) has 1 for one class and 0 for the others. The rest is the same.
"""

from typing import Any, NamedTuple, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.base import drop_single_column
from thrifty.models.boosting.adaboost import Voter, ada_boost, tree_learner
from thrifty.models.boosting.coded_rows import generator_of
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import Forest
from thrifty.models.least_squares.calibration import fit_log_odds, prior_scores
from thrifty.models.parameters import is_whole
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedClassifier
from thrifty.stored import Array, stored

MIN_COST = 1e-2  # least cost of a tree, as a share of the mean; the probability of a free tree would be infinite


@stored(draws_=Array("int64", "n_voters", low=0), _prior=Array("float64", "n_scores", finite=True))
class AdaBoostRSClassifier(ForestEstimator, BudgetedClassifier):
    """A random sample of the trees of AdaBoost, drawn by weight over cost.

    Trees are evaluated in the order in which they were drawn. So the trees that a row can pay for under a cap are a
    smaller sample. Votes are converted to log-odds by a slope and an offset that are fitted to the training rows.

    The papers have two classes. With K > 2 classes the trees are those of SAMME: each is grown by Gini impurity, votes
    for one class per leaf, and has the weight ``log((1 - e) / e) + log(K - 1)``, where e is its error. They are drawn
    in the same way, with a probability proportional to weight over cost.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    n_estimators : int, default=100
        The largest number of trees of AdaBoost.
    n_samples : int, default=50
        The number of draws of trees, with replacement.
    max_depth : int, default=2
        The largest depth of a tree.
    min_samples_leaf : int, default=20
        A leaf must have at least the share ``min_samples_leaf / n`` of the weight of its parent, where n is the number
        of rows of the parent. The weights are those of AdaBoost, so a leaf may have fewer rows if they are heavy.
    random_state : int, RandomState instance or None, default=None
        Draws the trees.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in the order of the columns of ``predict_proba``.
    forest_ : Forest
        The trees that were drawn, each once.
    draws_ : ndarray of int, shape (n_trees,)
        The number of times that each of these trees was drawn.
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
    L. Reyzin. Boosting on a Budget: Sampling for Feature-Efficient Prediction. ICML 2011.

    Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
    Evaluation Cost. JMLR 15, 2014, section 6.3.

    J. Zhu, H. Zou, S. Rosset, T. Hastie. Multi-class AdaBoost. Statistics and Its Interface 2, 2009.

    Examples
    --------
    >>> from thrifty import AdaBoostRSClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> few, many = (
    ...     AdaBoostRSClassifier(costs=heart.costs, n_samples=n, random_state=0).fit(heart.X, heart.y) for n in (5, 500)
    ... )
    >>> bool(few.spend(heart.X).mean() < many.spend(heart.X).mean())
    True
    >>> many.score(heart.X, heart.y) > 0.85
    True
    """

    def __init__(
        self,
        *,
        costs: Any = None,
        n_estimators: int = 100,
        n_samples: int = 50,
        max_depth: int = 2,
        min_samples_leaf: int = 20,
        random_state: Any = None,
    ):
        self.costs = costs
        self.n_estimators = n_estimators
        self.n_samples = n_samples
        self.max_depth = max_depth
        self.min_samples_leaf = min_samples_leaf
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Grow the trees of AdaBoost, and draw a sample of them.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN means missing. Each split learns on which side missing values do best.
        y : array-like of shape (n,)
            The classes.
        sample_weight : array-like of shape (n,), optional
            The weight of each row.
        qid : array-like of shape (n,), optional
            Not used. It is here because all estimators accept queries.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        for name in ("n_estimators", "n_samples", "max_depth", "min_samples_leaf"):
            self._refuse_unless(is_whole(value := getattr(self, name), 1), name, value, "a whole number of at least 1")
        rows = self._validated(X, y, sample_weight, qid)
        targets = self._targets(rows.y)
        random = generator_of(self.random_state)
        learn = tree_learner(self, rows.X, targets, rows.weight, random)
        voters = ada_boost(learn, targets, rows.weight, self.n_estimators)
        drawn = draw_voters(voters, self.cost_model_, self.n_samples, random)
        self.forest_ = _calibrated(drawn, targets, rows.weight, self.n_features_in_)
        self.draws_ = np.array([each.n_draws for each in drawn])
        self._prior = prior_scores(targets, rows.weight, classification=True)
        return self

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        rest = self._priced().remainders[exits + 1]  # of the trees that a row could not pay for
        return drop_single_column(np.where((exits < 0)[:, None], self._prior, sums + rest))

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(len(self._prior) == self._n_scores(), "its prior has another number of scores")


# Sampling


class DrawnVoter(NamedTuple):
    """A tree that was drawn, its share in the vote of the sample, and the number of times that it was drawn."""

    voter: Voter
    share: float
    n_draws: int


def draw_voters(
    voters: list[Voter], cost_model: CostModel, n_samples: int, random: np.random.Generator
) -> list[DrawnVoter]:
    """Draw trees with replacement and return them in the order in which they were first drawn."""
    costs = _tree_costs(voters, cost_model)
    probabilities = np.array([voter.weight for voter in voters]) / costs
    draws = random.choice(len(voters), n_samples, p=probabilities / probabilities.sum())
    drawn, first_draw, n_draws = np.unique(draws, return_index=True, return_counts=True)
    order = np.argsort(first_draw)
    drawn, n_draws = drawn[order], n_draws[order]
    shares = n_draws * costs[drawn] / (n_draws @ costs[drawn])
    columns = (each.tolist() for each in (drawn, shares, n_draws))
    return [DrawnVoter(voters[t], share, times) for t, share, times in zip(*columns, strict=True)]


def _tree_costs(voters: list[Voter], cost_model: CostModel) -> np.ndarray:
    """Return the cost of the features of each tree, at least MIN_COST times the mean; 1 if all trees are free."""
    reads = Forest.from_trees([voter.tree for voter in voters], n_features=cost_model.n_features).tree_reads
    costs = cost_model.of(reads)
    return np.maximum(costs, MIN_COST * costs.mean()) if costs.any() else np.ones(len(costs))


def _calibrated(drawn: list[DrawnVoter], targets: np.ndarray, weight: np.ndarray, n_features: int) -> Forest:
    """Return the trees as a forest whose sums are log-odds: offset + slope * vote."""
    vote = sum(each.share * each.voter.votes for each in drawn)
    slope, offset = fit_log_odds(np.asarray(vote), targets, weight)
    trees = [
        voter.tree._replace(
            value=slope * share * voter.tree.value,
            expected=[slope * share * np.average(column, weights=weight) for column in voter.votes.T],
        )
        for voter, share, _ in drawn
    ]
    return Forest.from_trees(trees, n_features=n_features, base=offset)
