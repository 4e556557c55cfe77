"""AdaBoostRS: a sample of AdaBoost's trees, cheap ones drawn more often.

L. Reyzin. Boosting on a Budget: Sampling for Feature-Efficient Prediction. ICML 2011; the version for features that
differ in cost, as Xu et al. (JMLR 15, 2014, section 6.3) compare with it. Trees h_t with weights a_t come from

Y. Freund, R. E. Schapire. A Decision-Theoretic Generalization of On-Line Learning and an Application to Boosting.
Journal of Computer and System Sciences 55, 1997.

A tree that costs c_t is drawn with a probability proportional to a_t / c_t, and what it votes counts c_t: then the
vote of the sample is, up to a factor, what AdaBoost would vote on average over samples.
"""

from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils import check_random_state

from thrifty.models.boosting.accounts import EnsembleAccounts
from thrifty.models.boosting.binning import MAX_BINS, Bins
from thrifty.models.boosting.growth import Grower, Limits
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.least_squares.calibration import fit_log_odds, prior_log_odds
from thrifty.models.parameters import is_whole
from thrifty.models.soundness import is_numbers, require
from thrifty.models.tasks import BudgetedClassifier

# A tree that costs nothing would be drawn always: it is drawn as if it cost this share of the mean.
SMALLEST_COST = 1e-2
SMALLEST_ERROR = 1e-10  # of a tree, so that one without any has a finite weight


class Voter(NamedTuple):
    """A tree of AdaBoost: its leaves vote +-1."""

    tree: Tree
    votes: np.ndarray  # (n,) int8, what it votes on the training rows
    weight: float


class AdaBoostRSClassifier(ForestEstimator, BudgetedClassifier):
    """A sample of AdaBoost's trees, drawn by weight over cost; for two classes.

    Trees are evaluated in the order in which they were drawn, so what a capped row gets through is a smaller sample.
    Votes are turned into log-odds by a slope and an offset fitted to the training rows.

    Parameters
    ----------
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    n_estimators : int, default=100
        How many trees AdaBoost grows, at most.
    n_samples : int, default=50
        How many times a tree is drawn, with replacement.
    max_depth : int, default=2
        Depth of the trees.
    min_samples_leaf : int, default=20
        A leaf has at least the weight of so many average rows.
    random_state : int, RandomState instance or None
        Decides which trees are drawn.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    forest_ : Forest
        The trees drawn, each once.
    draws_ : ndarray of int
        How many times each of them was drawn.

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
        """Boost, then draw.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
            NaN is a value like any other: at each split it goes where it does best.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        for name in ("n_estimators", "n_samples", "max_depth", "min_samples_leaf"):
            self._refuse_unless(is_whole(value := getattr(self, name), 1), name, value, "a whole number of at least 1")
        rows = self._validated(X, y, sample_weight, qid)
        X, count, targets = rows.X, rows.weight, self._targets(rows.y)
        if targets.shape[1] > 1:
            raise ValueError(
                f"{type(self).__name__}: y has {len(self.classes_)} classes. Only binary classification is supported. "
                "The type of the target is multiclass."
            )
        random = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        limits = Limits(self.max_depth, None, self.min_samples_leaf, 0.0)
        bins = Bins.of(X, count, MAX_BINS, np.zeros(X.shape[1], dtype=bool), random)
        nothing_charged = EnsembleAccounts(self.cost_model_, count, 0.0)
        grower = Grower(
            bins.codes(X), bins, nothing_charged, limits, constant_curvature=False, all_weight=float(count.sum())
        )
        self._settle(ada_boost(grower, targets[:, 0], count, self.n_estimators), targets, count, random)
        return self

    def _settle(self, voters: list[Voter], targets: np.ndarray, count: np.ndarray, random: np.random.Generator) -> None:
        """Draw trees, and keep them in the order in which they came up, with votes scaled to log-odds."""
        costs = self._tree_costs(voters)
        chances = np.array([voter.weight for voter in voters]) / costs
        draws = random.choice(len(voters), self.n_samples, p=chances / chances.sum())
        drawn, first_time, times = np.unique(draws, return_index=True, return_counts=True)
        order = np.argsort(first_time)
        drawn, self.draws_ = drawn[order], times[order]
        shares = self.draws_ * costs[drawn] / (self.draws_ @ costs[drawn])
        picked = [(voters[t], share) for t, share in zip(drawn.tolist(), shares.tolist(), strict=True)]
        vote = sum(share * voter.votes for voter, share in picked)
        slope, offset = fit_log_odds(np.reshape(vote, (-1, 1)), targets, count)
        trees = [voter.tree._replace(value=slope * share * voter.tree.value) for voter, share in picked]
        self.forest_ = Forest.from_trees(trees, n_features=self.n_features_in_, base=offset)
        self._prior = prior_log_odds(targets, count)

    def _tree_costs(self, voters: list[Voter]) -> np.ndarray:
        """Return what the features of each tree cost, never nothing."""
        reads = Forest.from_trees([voter.tree for voter in voters], n_features=self.n_features_in_).tree_reads
        costs = self.cost_model_.of(reads)
        return np.maximum(costs, SMALLEST_COST * costs.mean()) if costs.any() else np.ones(len(costs))

    def _score_of_sums(self, sums: np.ndarray, exits: np.ndarray) -> np.ndarray:
        return np.where(exits < 0, self._prior, sums[:, 0])

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        require(is_numbers(self._prior, 1), "its prior is not a number")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def ada_boost(grower: Grower, targets: np.ndarray, count: np.ndarray, n_estimators: int) -> list[Voter]:
    """Return trees that vote on targets of +-1, each grown on rows weighed by how the ones before got them wrong.

    A tree that votes the same on all rows only shifts them, which the offset of the log-odds does too: it is left out,
    unless there is no other.
    """
    everyone, nobody = np.arange(len(targets), dtype=np.uint32), np.arange(0, dtype=np.uint32)
    features = np.arange(grower.codes.n_features)
    voters: list[Voter] = []
    constants: list[Voter] = []
    weight = count.copy()
    for _ in range(n_estimators):
        grown = grower.grow(-weight * targets, weight, everyone.copy(), nobody, features)
        leaning = np.zeros(len(targets))
        grown.add_to(leaning, 1.0)
        votes = np.where(leaning > 0, 1, -1).astype(np.int8)
        error = max(weight @ (votes != targets) / weight.sum(), SMALLEST_ERROR)
        voter = Voter(_voting(grown.as_tree(1.0)), votes, 0.5 * np.log(1 / error - 1))
        decides = voter.tree.feature[0] != LEAF and error < 0.5
        (voters if decides else constants).append(voter)
        if error >= 0.5 or error == SMALLEST_ERROR:
            break
        weight *= np.exp(-voter.weight * votes * targets)
        weight *= count.sum() / weight.sum()
    return voters or [constants[0]._replace(weight=1.0)]


def _voting(tree: Tree) -> Tree:
    """Let leaves vote +-1, and make leaves of splits both sides of which vote alike: nobody should pay for these."""
    value, feature = np.where(tree.value > 0, 1.0, -1.0), tree.feature.copy()
    for node in np.flatnonzero(feature != LEAF)[::-1]:  # children come behind their parents
        left, right = tree.left[node], tree.right[node]
        if feature[left] == feature[right] == LEAF and value[left] == value[right]:
            feature[node], value[node] = LEAF, value[left]
    return tree._replace(feature=feature, value=value)
