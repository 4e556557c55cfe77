"""Early exit in ranking: documents that are too far behind the best of their query are not evaluated further.

B. B. Cambazoglu, H. Zaragoza, O. Chapelle, J. Chen, C. Liao, Z. Zheng, J. Degenhardt. Early Exit Optimizations for
Additive Machine Learned Ranking Systems. WSDM 2010.

This is the method with proximity thresholds, as described in Xu et al. (JMLR 15, 2014, section 6.2). At checkpoint i of
K, a document exits if its score is at least

    (K - i) / (K - 1) * s

below the score of the fifth best document of its query. Xu et al. use K = 300.
"""

from inspect import signature
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from thrifty.models.base import BudgetedEstimator, Run
from thrifty.models.forests.converters import is_fitted, reader_of
from thrifty.models.forests.estimator import ForestEstimator
from thrifty.models.forests.forest import Forest
from thrifty.models.parameters import is_number, is_whole
from thrifty.models.rows import Rows
from thrifty.models.soundness import require
from thrifty.models.task_bases import BudgetedRanker
from thrifty.stored import Array, Number, Whole, stored


@stored(checkpoints_=Array("int64", "n_checks", low=0), top=Whole(1), s=Number(0, finite=True))
class EarlyExitRanker(ForestEstimator, BudgetedRanker):
    """A forest that stops evaluating documents that are too far behind the best of their query.

    ``predict``, ``acquire`` and ``spend`` compare the documents of each query if they are given queries. A document
    that exits keeps its score. Without queries no document exits early, and a session, which has a single row, behaves
    in the same way.

    Parameters
    ----------
    estimator : forest or None, default=None
        The model that scores documents: an estimator of thrifty, scikit-learn, LightGBM or XGBoost, or a `Forest`. A
        fitted model is used as it is. An estimator that is not fitted is cloned and fitted. None means a
        `GreedyMiserRanker` with ``cost_weight=0``.
    costs : array-like, dict, CostModel or None, default=None
        What each feature costs to acquire. None means one unit per feature.
    s : float, default=0.3
        The distance to the score of the top-th document at which a document exits at the first checkpoint, in the unit
        of the scores. The distance decreases linearly to 0 at the last checkpoint.
    top : int, default=5
        The rank of the document with which others are compared. A query with fewer documents keeps them all.
    n_checkpoints : int or None, default=None
        The number of checkpoints, spread evenly over the rounds of the forest. None means one after every round.
    evaluation_cost : float, default=0.0
        What evaluating one tree costs a document, in the unit of the costs.

    Attributes
    ----------
    forest_ : Forest
        The trees.
    checkpoints_ : ndarray of int
        The numbers of rounds after which documents are compared.
    evaluation_costs_ : ndarray of shape (n_trees,)
        What evaluating each tree costs a document.
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
    B. B. Cambazoglu, H. Zaragoza, O. Chapelle, J. Chen, C. Liao, Z. Zheng, J. Degenhardt. Early Exit Optimizations for
    Additive Machine Learned Ranking Systems. WSDM 2010.

    Z. Xu, M. J. Kusner, K. Q. Weinberger, M. Chen, O. Chapelle. Classifier Cascades and Trees for Minimizing Feature
    Evaluation Cost. JMLR 15, 2014, section 6.2.

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
        """Fit the forest if it is not fitted, and choose the checkpoints.

        Parameters
        ----------
        X : array-like of shape (n, n_features)
        y : array-like of shape (n,)
            The relevance of each document, 0 if it is irrelevant.
        sample_weight : array-like of shape (n,), optional
            The weight of each document.
        qid : array-like of shape (n,), optional
            The query of each document. By default all documents belong to one query.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        _check_parameters(self)
        rows = self._validated(_with_codes(self.estimator, X), y, sample_weight, qid)
        self.forest_ = _fitted_forest(self, rows, self._targets(rows.y)[:, 0])
        self.evaluation_costs_ = np.full(self.forest_.n_trees, float(self.evaluation_cost))
        self.checkpoints_ = _checkpoints(self.n_checkpoints, self._priced().n_rounds)
        return self

    def _run(self, X: np.ndarray, cap: np.ndarray, qid: np.ndarray | None) -> Run:
        if qid is None:
            return super()._run(X, cap, qid)
        widths = self.s * np.linspace(1.0, 0.0, len(self.checkpoints_))
        run = self._priced().run_queries(X, cap, qid, self.checkpoints_, widths, self.top)
        return run._replace(score=self._score_of_sums(run.score, run.exit))

    def refuse_unsound(self) -> None:
        """Raise ValueError unless a loaded model is complete and consistent; see `BudgetedEstimator`."""
        super().refuse_unsound()
        steps = self.checkpoints_.tolist()
        in_order = all(before <= after for before, after in pairwise(steps))
        complete = bool(steps) and steps[-1] == self._priced().n_rounds
        require(in_order and complete, "its checkpoints are not in ascending order up to the last round")

    def _state_to_store(self) -> dict[str, Any]:
        """Return the attributes; a fitted forest of another library that is the estimator becomes a Forest."""
        state, given = super()._state_to_store(), self.estimator
        is_foreign = given is not None and not isinstance(given, BudgetedEstimator) and is_fitted(given)
        return state | ({"estimator": Forest.from_model(given)} if is_foreign else {})


def _check_parameters(ranker: EarlyExitRanker) -> None:
    for name in ("s", "evaluation_cost"):
        ranker._refuse_unless(is_number(value := getattr(ranker, name), 0), name, value, "a number of at least 0")
    ranker._refuse_unless(is_whole(ranker.top, 1), "top", ranker.top, "a whole number of at least 1")
    valid = (given := ranker.n_checkpoints) is None or is_whole(given, 1)
    ranker._refuse_unless(valid, "n_checkpoints", given, "a whole number of at least 1, or None")


def _fitted_forest(ranker: EarlyExitRanker, rows: Rows, labels: np.ndarray) -> Forest:
    """Return the forest of the ranker's estimator, which is fitted to the rows unless it is fitted already."""
    model = _default_ranker() if ranker.estimator is None else ranker.estimator
    if reader_of(model) and not is_fitted(model):
        model = _fitted_clone(model, rows, labels)
    forest = Forest.from_model(model)
    if forest.n_features != ranker.n_features_in_ or len(forest.base) != 1:
        raise ValueError(
            f"{type(ranker).__name__}: estimator has {forest.n_features} columns and {len(forest.base)} scores, X "
            f"has {ranker.n_features_in_} columns. Pass a forest with one score that was fitted on these columns."
        )
    return forest


def _with_codes(model: Any, X: Any) -> Any:
    """Return X with codes in place of the levels that a fitted forest knows."""
    is_forest = isinstance(model, Forest) or (reader_of(model) is not None and is_fitted(model))
    return Forest.from_model(model).coded(X) if is_forest else X


def _default_ranker() -> Any:
    from thrifty.models.boosting.greedy_miser import GreedyMiserRanker

    return GreedyMiserRanker(cost_weight=0.0)


def _fitted_clone(model: Any, rows: Rows, labels: np.ndarray) -> Any:
    queries = np.zeros(len(rows), dtype=int) if rows.qid is None else rows.qid
    order = np.argsort(queries, kind="stable")  # LightGBM and XGBoost need the rows of a query together
    arguments = _query_arguments(model, queries[order])
    if np.ptp(rows.weight):  # XGBoost has weights of queries instead of documents, so equal weights are not passed
        arguments["sample_weight"] = rows.weight[order]
    return clone(model).fit(rows.X[order], labels[order], **arguments)


def _query_arguments(model: Any, queries: np.ndarray) -> dict[str, Any]:
    """Return the queries in the form that the model's fit takes: ``qid`` of each row, sizes ``group``, or nothing."""
    wanted = signature(model.fit).parameters
    if "qid" in wanted:
        return {"qid": np.unique(queries, return_inverse=True)[1]}
    return {"group": np.unique(queries, return_counts=True)[1]} if "group" in wanted else {}


def _checkpoints(n_checkpoints: int | None, n_rounds: int) -> np.ndarray:
    """Return the numbers of rounds after which documents are compared, spread evenly."""
    wanted = n_rounds if n_checkpoints is None else min(n_checkpoints, n_rounds)
    return np.rint(np.linspace(0, n_rounds, wanted + 1)[1:]).astype(np.int64)
