"""AdaBoostRS: a random sample of the trees of AdaBoost, in which cheap trees are drawn more often.

L. Reyzin. Boosting on a Budget: Sampling for Feature-Efficient Prediction. ICML 2011. This is the version for features
of different costs, as described in Xu et al. (JMLR 15, 2014, section 6.3). The trees h_t and their weights a_t are
those of

Y. Freund, R. E. Schapire. A Decision-Theoretic Generalization of On-Line Learning and an Application to Boosting.
Journal of Computer and System Sciences 55, 1997.

A tree whose features cost c_t is drawn with a probability proportional to a_t / c_t, and its vote has the weight c_t.
So the expected vote of the sample is proportional to the vote of AdaBoost, sum_t a_t h_t(x).
"""

from typing import Any, NamedTuple, Self

import numpy as np

from thrifty.costs import CostModel
from thrifty.models.boosting.binning import MAX_BINS, Bins
from thrifty.models.boosting.coded_rows import generator_of
from thrifty.models.boosting.growth import Grower, Limits
from thrifty.models.boosting.payments import EnsemblePayments
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.least_squares.calibration import fit_log_odds, prior_log_odds
from thrifty.models.parameters import is_whole
from thrifty.models.task_bases import BudgetedClassifier
from thrifty.stored import Array, stored

MIN_COST = 1e-2  # least cost of a tree, as a share of the mean; the probability of a free tree would be infinite
MIN_ERROR = 1e-10  # least error of a tree; the weight of a tree without errors would be infinite


@stored(draws_=Array("int64", "n_voters", low=0), _prior=Array("float64", 1))
class AdaBoostRSClassifier(ForestEstimator, BudgetedClassifier):
    """A random sample of the trees of AdaBoost, drawn by weight over cost; for two classes.

    Trees are evaluated in the order in which they were drawn. So the trees that a row can pay for under a cap are a
    smaller sample. Votes are converted to log-odds by a slope and an offset that are fitted to the training rows.

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
        The least weight of the rows of a leaf, as a number of rows of average weight.
    random_state : int, RandomState instance or None, default=None
        Draws the trees.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
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
            The classes; there must be two.
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
        if targets.shape[1] > 1:
            raise ValueError(
                f"{type(self).__name__}: y has {len(self.classes_)} classes. Only binary classification is supported. "
                "The type of the target is multiclass."
            )
        random = generator_of(self.random_state)
        grower = _grower(self, rows.X, rows.weight, random)
        voters = ada_boost(grower, targets[:, 0], rows.weight, self.n_estimators)
        drawn = draw_voters(voters, self.cost_model_, self.n_samples, random)
        self.forest_ = _calibrated(drawn, targets, rows.weight, self.n_features_in_)
        self.draws_ = np.array([each.n_draws for each in drawn])
        self._prior = prior_log_odds(targets, rows.weight)
        return self

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        rest = self._priced().remainders[exits + 1]  # of the trees that a row could not pay for
        return np.where(exits < 0, self._prior, (sums + rest)[:, 0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


# AdaBoost


class Voter(NamedTuple):
    """A tree of AdaBoost, whose leaves vote +1 or -1.

    Attributes
    ----------
    tree : Tree
    votes : ndarray of int8, shape (n,)
        The votes on the training rows.
    weight : float
        The weight of the tree in AdaBoost.
    """

    tree: Tree
    votes: np.ndarray
    weight: float


def ada_boost(grower: Grower, targets: np.ndarray, count: np.ndarray, n_estimators: int) -> list[Voter]:
    """Return the trees of AdaBoost for targets of +-1; `count` are the initial weights of the rows.

    A tree with error e (weighted share of wrong votes) has the weight a = log((1 - e) / e) / 2. Then the weight of each
    row is multiplied by exp(-a * vote * target).

    A tree that votes the same on all rows has no effect other than the offset of the log-odds. It is left out unless
    there is no other tree.
    """
    all_rows, no_rows = np.arange(len(targets), dtype=np.uint32), np.arange(0, dtype=np.uint32)
    features = np.arange(grower.codes.n_features)
    voters: list[Voter] = []
    constants: list[Voter] = []
    weight = count.copy()
    for _ in range(n_estimators):
        grown = grower.grow(-weight * targets, weight, all_rows.copy(), no_rows, features)
        scores = np.zeros(len(targets))
        grown.add_to(scores, 1.0)
        votes = np.where(scores > 0, 1, -1).astype(np.int8)
        error = max(weight @ (votes != targets) / weight.sum(), MIN_ERROR)
        voter = Voter(_voting_tree(grown.as_tree(1.0)), votes, 0.5 * np.log(1 / error - 1))
        useful = voter.tree.feature[0] != LEAF and error < 0.5
        (voters if useful else constants).append(voter)
        if error >= 0.5 or error == MIN_ERROR:
            break
        weight *= np.exp(-voter.weight * votes * targets)
        weight *= count.sum() / weight.sum()
    return voters or [constants[0]._replace(weight=1.0)]


def _grower(model: AdaBoostRSClassifier, X: np.ndarray, weight: np.ndarray, random: np.random.Generator) -> Grower:
    """Return a grower for which all features are free."""
    limits = Limits(model.max_depth, None, model.min_samples_leaf, 0.0, by_hessian=True)
    bins = Bins.of(X, weight, MAX_BINS, np.zeros(X.shape[1], dtype=bool), random)
    payments = EnsemblePayments(model.cost_model_, weight, 0.0)
    return Grower(bins.codes(X), bins, payments, limits, constant_hessian=False, all_weight=float(weight.sum()))


def _voting_tree(tree: Tree) -> Tree:
    """Return a tree whose leaves vote +-1.

    A split with the same vote on both sides becomes a leaf, so that no row pays for it.
    """
    value, feature = np.where(tree.value > 0, 1.0, -1.0), tree.feature.copy()
    for node in np.flatnonzero(feature != LEAF)[::-1]:  # children come after their parents
        left, right = tree.left[node], tree.right[node]
        if feature[left] == feature[right] == LEAF and value[left] == value[right]:
            feature[node], value[node] = LEAF, value[left]
    return tree._replace(feature=feature, value=value)


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
    slope, offset = fit_log_odds(np.reshape(vote, (-1, 1)), targets, weight)
    trees = [
        voter.tree._replace(
            value=slope * share * voter.tree.value,
            expected=slope * share * np.average(voter.votes, weights=weight),
        )
        for voter, share, _ in drawn
    ]
    return Forest.from_trees(trees, n_features=n_features, base=offset)
