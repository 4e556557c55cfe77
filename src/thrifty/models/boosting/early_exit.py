"""Early exit: documents that fall too far behind the best of their query are not evaluated further.

B. B. Cambazoglu, H. Zaragoza, O. Chapelle, J. Chen, C. Liao, Z. Zheng, J. Degenhardt. Early Exit Optimizations for
Additive Machine Learned Ranking Systems. WSDM 2010; the proximity threshold, as Xu et al. (JMLR 15, 2014, section 6.2)
compare with it: at the i-th of K checkpoints a document leaves whose score is at least

    (K - i) / (K - 1) * s

below that of the fifth best document of its query. They had K = 300.
"""

from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from thrifty.models.base import Run
from thrifty.models.forests.converters import is_fitted, reader_of
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import Forest
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.soundness import is_whole_numbers, require
from thrifty.models.tasks import BudgetedRanker


class EarlyExitRanker(ForestEstimator, BudgetedRanker):
    """A forest that stops evaluating documents which are too far behind the best of their query.

    ``predict``, ``acquire`` and ``spend`` take the query of each document and decide query by query. A document that
    leaves keeps the score it left with. Without queries every row stands alone and nobody leaves, as in a session.

    Parameters
    ----------
    estimator : forest or None
        What scores the documents. A fitted forest (ours, of scikit-learn, LightGBM or XGBoost, or a `Forest`) is
        used as it is; one that is not fitted is cloned and fitted. None: a `GreedyMiserRanker` that does not look at
        costs.
    costs : array-like, dict, CostModel or None
        What each feature costs to acquire; ``None`` means one unit each.
    s : float, default=0.3
        How far behind a document may fall at the first checkpoint, in the unit of the scores; the distance allowed
        shrinks in equal steps to nothing at the last.
    top : int, default=5
        The document that others are compared with: the fifth best. A query of fewer documents keeps them all.
    n_checkpoints : int or None
        How many there are, spread evenly over the rounds of the forest; one after every round by default.
    evaluation_cost : float, default=0
        What evaluating a tree costs each document that enters it.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    checkpoints_ : ndarray of int
        The numbers of rounds after which documents are compared.

    Examples
    --------
    >>> from thrifty import EarlyExitRanker
    >>> from thrifty.datasets import make_ltr
    >>> data = make_ltr(30, 20, 40, random_state=0)
    >>> model = EarlyExitRanker(costs=data.costs, s=0.5, evaluation_cost=0.1).fit(data.X, data.y, qid=data.qid)
    >>> alone, compared = model.spend(data.X).mean(), model.spend(data.X, qid=data.qid).mean()
    >>> bool(compared < 0.9 * alone)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        costs: Any = None,
        s: float = 0.3,
        top: int = 5,
        n_checkpoints: int | None = None,
        evaluation_cost: float = 0.0,
    ):
        self.estimator = estimator
        self.costs = costs
        self.s = s
        self.top = top
        self.n_checkpoints = n_checkpoints
        self.evaluation_cost = evaluation_cost

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> Self:
        """Fit the forest, unless it is fitted.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            Relevance of each document, 0 for irrelevant.
        sample_weight : array-like of shape (n,), optional
        qid : array-like of shape (n,), optional
            The query each document belongs to; all to one by default.
        """
        self._refuse_bad_parameters()
        rows = self._validated(X, y, sample_weight, qid)
        queries = np.zeros(len(rows), dtype=int) if rows.qid is None else rows.qid
        self.forest_ = self._grown(rows.X, self._targets(rows.y)[:, 0], rows.weight, queries)
        self.evaluation_costs_ = np.full(self.forest_.n_trees, float(self.evaluation_cost))
        self.checkpoints_ = self._checkpoints()
        return self

    def _grown(self, X: np.ndarray, y: np.ndarray, count: np.ndarray, queries: Any) -> Forest:
        model = _default_ranker() if self.estimator is None else self.estimator
        if reader_of(model) and not is_fitted(model):
            order = np.argsort(queries, kind="stable")  # LightGBM and XGBoost want queries one after another
            given = _queries_as_wanted(model, queries[order])
            if np.ptp(count):  # XGBoost weighs no documents
                given["sample_weight"] = count[order]
            model = clone(model).fit(X[order], y[order], **given)
        forest = Forest.from_model(model)
        if forest.n_features != self.n_features_in_ or len(forest.base) != 1:
            raise ValueError(
                f"{type(self).__name__}: estimator has {forest.n_features} columns and {len(forest.base)} scores, X "
                f"has {self.n_features_in_} columns. Pass a forest of one score that was fitted on these columns."
            )
        return forest

    def _checkpoints(self) -> np.ndarray:
        n_rounds = self._priced().n_rounds
        wanted = n_rounds if self.n_checkpoints is None else min(self.n_checkpoints, n_rounds)
        return np.rint(np.linspace(0, n_rounds, wanted + 1)[1:]).astype(np.int64)

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        if qid is None:
            return super()._run(X, cap, qid)
        widths = self.s * np.linspace(1.0, 0.0, len(self.checkpoints_))
        run = self._priced().run_queries(X, cap, qid, self.checkpoints_, widths, self.top)
        return run._replace(score=self._score_of_sums(run.score, run.exit))

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        steps, n_rounds = self.checkpoints_, self._priced().n_rounds
        whole = is_whole_numbers(steps, len(steps)) and steps.dtype == np.int64
        require(whole, "its checkpoints are not whole numbers")
        in_order = (np.diff(steps, prepend=0) >= 0).all() and steps[-1] == n_rounds
        require(in_order, "its checkpoints are not in ascending order up to the last round")
        require(is_whole(self.top, 1) and is_number(self.s, 0), "its parameter top or s is not valid")

    def _refuse_bad_parameters(self) -> None:
        for name in ("s", "evaluation_cost"):
            self._refuse_unless(is_number(value := getattr(self, name), 0), name, value, "a number of at least 0")
        self._refuse_unless(is_whole(self.top, 1), "top", self.top, "a whole number of at least 1")
        fine = self.n_checkpoints is None or is_whole(self.n_checkpoints, 1)
        self._refuse_unless(fine, "n_checkpoints", self.n_checkpoints, "a whole number of at least 1, or None")


def _default_ranker() -> Any:
    from thrifty.models.boosting.greedy_miser import GreedyMiserRanker

    return GreedyMiserRanker(cost_weight=0.0)


def _queries_as_wanted(model: Any, queries: np.ndarray) -> dict[str, Any]:
    """Return the queries as the model's fit takes them: one per row, the size of each group, or not at all."""
    wanted = signature(model.fit).parameters
    if "qid" in wanted:
        return {"qid": np.unique(queries, return_inverse=True)[1]}
    return {"group": np.unique(queries, return_counts=True)[1]} if "group" in wanted else {}
