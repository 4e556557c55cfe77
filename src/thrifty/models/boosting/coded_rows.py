"""Rows prepared for boosting: codes of their bins, and their loss."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from thrifty.costs import CostModel
from thrifty.metrics.scoring import QUERY_METRICS, query_metric
from thrifty.models.growing.binning import (
    Bins,
    Codes,
    categorical_columns,
    check_categories,
    refuse_category,
    sampled_rows,
    unusable_category,
)
from thrifty.models.growing.growth import RANKED_ROWS
from thrifty.models.growing.losses import Loss
from thrifty.models.homes import Here, Home, Joined, PerBlock, positions_in_blocks
from thrifty.models.rows import Encoder, Rows


@dataclass(frozen=True, eq=False)
class CodedBlock:
    """A block of rows as a booster reads them: training rows, followed by held-out rows.

    It differs from `Rows` in that it holds codes instead of values, and a loss instead of targets and weights.
    Held-out rows are sent down every tree and charged like training rows, but no tree is grown on them.

    Attributes
    ----------
    codes : Codes
        The codes of the rows.
    n_bins : ndarray of int
        The number of bins of each column.
    loss : Loss
        The loss of the rows.
    n_train : int
        The number of training rows.
    held_out : Rows or None
        Targets and queries of the held-out rows; None if the block has none.
    """

    codes: Codes
    n_bins: np.ndarray
    loss: Loss
    n_train: int
    held_out: Rows | None

    @property
    def train(self) -> slice:
        """The training rows."""
        return slice(0, self.n_train)

    @cached_property
    def weight(self) -> np.ndarray:
        """The weight of each row; 0 for held-out rows."""
        return np.where(np.arange(self.codes.n_rows) < self.n_train, self.loss.weight, 0.0)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """The rows that a booster is fitted to. All fits of a path share one object.

    Attributes
    ----------
    home : Home of CodedBlock
        Where the rows live.
    bins : Bins
        The bins of the columns, chosen on the training rows.
    codes : Codes
        The codes of all rows, or at least of the first, which decide between equal gains.
    n_train : tuple of int
        The number of training rows of each block.
    loss : type
        The type of the loss.
    has_held_out : bool
        Whether rows are held out.
    scoring : object
        How held-out rows are scored.
    cost_model : CostModel
        What the columns cost.
    """

    home: Home[CodedBlock]
    bins: Bins
    codes: Codes
    n_train: tuple[int, ...]
    loss: type[Loss]
    has_held_out: bool
    scoring: Any
    cost_model: CostModel


def code_rows(estimator: Any, rows: Home[Rows], held_out: Rows | None = None) -> CodedRows:
    """Return the training rows and held-out rows of a Greedy Miser, which has validated them, as coded rows."""
    categorical = categorical_columns(estimator)
    _refuse_other_categories(estimator, rows, held_out, categorical)
    n_train = tuple(rows.collect(len))
    chosen = sampled_rows(sum(n_train), generator_of(estimator.random_state))
    samples = rows.collect(_values_and_weights, None if chosen is None else positions_in_blocks(chosen, n_train))
    X, weight = (_joined(parts) for parts in zip(*samples, strict=True))
    bins = Bins.of_sample(X, weight, estimator.max_bins, categorical)
    coding = estimator._encoder(rows), bins, estimator
    if isinstance(rows, Here):
        home: Home[CodedBlock] = rows.map(_coded_block, *coding, held_out)
    else:
        home = rows.replaced_by(_coded_block, *coding, None).in_larger_blocks(_joined_blocks, n_train)
        if held_out is not None:  # few rows, which stay here
            nobody = held_out.take(np.arange(0))
            home = Joined(home, Here(nobody).map(_coded_block, *coding, held_out))
        n_train = tuple(home.collect(_number_to_train))
    return CodedRows(
        home,
        bins,
        _first_codes(home, n_train),
        n_train,
        home.collect(_type_of_loss)[0],
        held_out is not None,
        estimator.scoring,
        estimator.cost_model_,
    )


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a random generator for a random state of scikit-learn."""
    return np.random.default_rng(check_random_state(random_state).randint(2**31))


def held_out_score(block: CodedBlock, scores: np.ndarray, scoring: Any) -> float | None:
    """Return the score of the held-out rows of a block, larger is better, given the scores (n_scores, n) of its rows.

    None if it has no held-out rows.
    """
    held_out, where = block.held_out, slice(block.n_train, None)
    if held_out is None:
        return None
    if (by_query := query_metric(scoring)) and held_out.qid is not None:
        metric, k = QUERY_METRICS[by_query[0]], by_query[1]
        return float(metric(held_out.y, scores[0, where], qid=held_out.qid, k=k))
    if scoring is None:
        return -block.loss.value(scores, where)
    return float(scoring(held_out.y, scores[:, where].T if len(scores) > 1 else scores[0, where]))


def _refuse_other_categories(estimator: Any, rows: Home[Rows], held_out: Rows | None, categorical: np.ndarray) -> None:
    owner, ids = type(estimator).__name__, list(estimator._feature_ids())
    found = rows.collect(_unusable_category, categorical) if categorical.any() else []
    for k, problem in enumerate(found):
        if problem is not None:
            column, value = problem
            refuse_category(column, value, owner if isinstance(rows, Here) else f"{owner}: partition {k}", ids)
    if held_out is not None:
        check_categories(held_out.X, categorical, owner, ids)


def _first_codes(home: Home[CodedBlock], lengths: Sequence[int]) -> Codes:
    """Return the codes of all rows if they are here, otherwise those of the first rows."""
    if isinstance(home, Here):
        return home.block.codes
    before = np.cumsum([0, *lengths[:-1]])
    wanted = [max(0, RANKED_ROWS - each) for each in before.tolist()]
    parts = home.collect(_head_of_codes, PerBlock(wanted))
    return Codes(np.concatenate([part.bytes for part in parts], axis=1), parts[0].n_features)


def _joined(arrays: Sequence[np.ndarray]) -> np.ndarray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _joined_queries(parts: list[Rows]) -> np.ndarray:
    """Return the query of each row; rows without queries are one query, and no query has rows of two parts."""
    queries = [np.zeros(len(part), dtype=int) if part.qid is None else part.qid for part in parts]
    if len(queries) == 1:
        return queries[0]
    first, second = (np.unique(each, return_inverse=True)[1] for each in queries)
    return np.concatenate([first, second + len(first)])


# Functions of one block


def _values_and_weights(rows: Rows, chosen: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return X and the weights of some rows, or of all."""
    return (rows.X, rows.weight) if chosen is None else (rows.X[chosen], rows.weight[chosen])


def _unusable_category(rows: Rows, categorical: np.ndarray) -> tuple[int, float] | None:
    """Return a column and a value of a block that is not a category, if there is one."""
    return unusable_category(rows.X, categorical)


def _coded_block(rows: Rows, encode: Encoder, bins: Bins, estimator: Any, held_out: Rows | None) -> CodedBlock:
    """Return a block of rows as a booster reads them."""
    parts = [rows] if held_out is None else [rows, held_out]
    targets = _joined([encode(part.y) for part in parts])
    loss = estimator._loss(targets, _joined([part.weight for part in parts]), _joined_queries(parts))
    answers = None if held_out is None else Rows(None, held_out.y, None, held_out.qid)
    return CodedBlock(bins.codes(_joined([part.X for part in parts])), bins.n_bins, loss, len(rows), answers)


def _joined_blocks(*blocks: CodedBlock) -> CodedBlock:
    """Return one block with the rows of several blocks, which have no held-out rows."""
    codes = Codes(np.concatenate([block.codes.bytes for block in blocks], axis=1), blocks[0].codes.n_features)
    losses = [block.loss for block in blocks]
    return CodedBlock(codes, blocks[0].n_bins, type(losses[0]).joined(losses), codes.n_rows, None)


def _number_to_train(block: CodedBlock) -> int:
    return block.n_train


def _type_of_loss(block: CodedBlock) -> type[Loss]:
    return type(block.loss)


def _head_of_codes(block: CodedBlock, n_rows: int) -> Codes:
    """Return the codes of the first rows of a block."""
    return Codes(np.ascontiguousarray(block.codes.bytes[:, :n_rows]), block.codes.n_features)
