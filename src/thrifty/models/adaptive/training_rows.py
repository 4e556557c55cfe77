"""Training rows as the adaptive model uses them: coded once, with folds, a loss and groups of columns."""

from dataclasses import dataclass, replace

import numpy as np

from thrifty.kernels.adaptive.fitting import mask_codes
from thrifty.kernels.adaptive.losses import ERROR_COSTS, LOG_LOSS, SQUARED_LOSS, losses_of
from thrifty.kernels.histograms import MISSING
from thrifty.kernels.threads import over_rows
from thrifty.models.adaptive.boosted_outputs import ClassScores, OneScore
from thrifty.models.adaptive.boosting import Outputs
from thrifty.models.adaptive.policy import group_prices
from thrifty.models.factors import Factors
from thrifty.models.growing.binning import Bins, Codes
from thrifty.models.growing.losses import LogLoss, Loss, SoftmaxLoss, SquaredError

MAX_BINS = 254
STATE_BINS = 64  # of the features that describe a state
FEWEST_OF_CLASS = 100  # rows of each class in a sample
NO_FOLD = -1  # instead of a fold that is left out: all rows are fitted
UNUSED_CODES = 1000  # between the largest code of a category and the code of NaN
NO_COSTS = np.zeros((1, 1))


@dataclass(frozen=True, eq=False)
class Objective:
    """What predictions are judged by.

    Attributes
    ----------
    n_classes : int
        0 if numbers are predicted.
    error_costs : ndarray of shape (n_classes, n_classes) or None
        The cost of each answer (column) for each true class (row); None: the loss is the log-loss or squared error.
    """

    n_classes: int
    error_costs: np.ndarray | None = None

    @property
    def kind(self) -> int:
        """The kind of loss, as the kernels name it."""
        if not self.n_classes:
            return SQUARED_LOSS
        return LOG_LOSS if self.error_costs is None else ERROR_COSTS

    @property
    def cost_matrix(self) -> np.ndarray:
        """The error costs as the kernels take them."""
        return NO_COSTS if self.error_costs is None else np.ascontiguousarray(self.error_costs, dtype=float)

    def training_loss(self, targets: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss that the predictor is fitted with."""
        if not self.n_classes:
            return SquaredError(targets, weight)
        if self.n_classes == 2:
            return LogLoss(targets, weight)
        return SoftmaxLoss(np.eye(self.n_classes)[:, targets.astype(int)], weight)

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Return the losses (n, m) of scores (n, m, n_scores) of rows with targets (n,)."""
        out = np.empty(scores.shape[:2])
        losses_of(np.ascontiguousarray(scores), targets, self.cost_matrix, self.kind, out)
        return out


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Training rows, with their columns sorted by group.

    Attributes
    ----------
    X : ndarray of shape (n, n_columns)
    targets : ndarray of shape (n,)
        Indices of classes, or numbers to predict with mean 0 and variance 1.
    weight : ndarray of shape (n,)
    fold : ndarray of int, shape (n,)
    n_folds : int
    bins : Bins
    codes : Codes
        Of the values that NaN stands for; see `fill`.
    fill : ndarray of shape (n_columns,)
        What NaN in a bought column stands for.
    factors : Factors
        The groups of columns that are bought together.
    objective : Objective
    random : Generator
    """

    X: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    fold: np.ndarray
    n_folds: int
    bins: Bins
    codes: Codes
    fill: np.ndarray
    factors: Factors
    objective: Objective
    random: np.random.Generator

    @classmethod
    def of(
        cls,
        X: np.ndarray,
        targets: np.ndarray,
        weight: np.ndarray,
        fold: np.ndarray,
        factors: Factors,
        categorical: np.ndarray,
        objective: Objective,
        random: np.random.Generator,
    ) -> "TrainingRows":
        """Code the rows; `categorical` are the columns that hold categories."""
        fill = missing_values(X, categorical)
        filled = np.where(np.isnan(X), fill, X)
        bins = Bins.of(filled, weight, MAX_BINS, categorical, random)
        n_folds = int(fold.max()) + 1
        return cls(X, targets, weight, fold, n_folds, bins, bins.codes(filled), fill, factors, objective, random)

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def n_groups(self) -> int:
        """The number of groups of columns."""
        return len(self.factors)

    @property
    def group_of(self) -> np.ndarray:
        """The group of each column."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.factors.starts))

    @property
    def prices(self) -> np.ndarray:
        """What each group costs a row that has bought nothing."""
        return group_prices(self.factors)

    @property
    def n_scores(self) -> int:
        """The number of scores of a row."""
        return self.objective.n_classes if self.objective.n_classes > 2 else 1

    def loss(self, rows: np.ndarray | slice) -> Loss:
        """Return the training loss of some rows."""
        return self.objective.training_loss(self.targets[rows], self.weight[rows])

    def outputs(self, rows: np.ndarray, start: np.ndarray | None = None) -> Outputs:
        """Return the scores of some rows as what trees are fitted to; `start` is what the trees are added to."""
        loss = self.loss(rows)
        if self.n_scores == 1:
            return OneScore(loss, start)
        return ClassScores(self.targets[rows], self.weight[rows], loss.base(slice(None)), start)

    def sample(self, size: int) -> np.ndarray:
        """Draw rows at random, in ascending order. A rare class keeps FEWEST_OF_CLASS rows, or all that it has."""
        if size >= len(self):
            return np.arange(len(self))
        shuffled = self.random.permutation(len(self))
        if self.objective.n_classes:
            classes = self.targets[shuffled]
            first = [np.flatnonzero(classes == k)[:FEWEST_OF_CLASS] for k in range(self.objective.n_classes)]
            is_late = np.ones(len(self), dtype=bool)
            is_late[np.concatenate(first)] = False
            shuffled = shuffled[np.argsort(is_late, kind="stable")]
        return np.sort(shuffled[:size])

    def take(self, index: np.ndarray) -> "TrainingRows":
        """Return some of the rows, with the same folds and bins."""
        of_row = {name: getattr(self, name)[index] for name in ("X", "targets", "weight", "fold")}
        return replace(self, codes=self.codes.take(index), **of_row)

    def masked_codes(self, rows: np.ndarray, bought: np.ndarray) -> Codes:
        """Return the codes of some rows that have bought some groups (len(rows), n_groups)."""
        out = Codes.zeros(len(rows), self.codes.n_features)
        group_of = self.group_of
        over_rows(
            lambda first, last: mask_codes(
                self.codes.bytes, rows, group_of, bought, first, last, np.uint8(MISSING), out.bytes
            ),
            len(out.bytes),
            smallest=max(1, 200_000 // max(8 * len(rows), 1)),
        )
        return out


def missing_values(X: np.ndarray, categorical: np.ndarray) -> np.ndarray:
    """Return what NaN stands for in each column: infinity, or a category of its own; NaN if it never occurs.

    If NaN did not occur in training, nothing was learned about it, and a bought NaN counts as not bought.
    """
    occurs = np.isnan(X).any(axis=0)
    with_categories = occurs & categorical
    fill = np.where(occurs, np.inf, np.nan)
    largest = np.nan_to_num(np.nanmax(X[:, with_categories], axis=0, initial=0.0))
    fill[with_categories] = largest + UNUSED_CODES  # so that a new category is not taken for NaN
    return fill


@dataclass(frozen=True, eq=False)
class States:
    """States of training rows, coded for regression: masked columns, and features that describe the state.

    Attributes
    ----------
    codes : Codes
    bins : Bins
    varying : ndarray of int
        The features that are not the same in all states: columns that some state has bought, and descriptions.
    """

    codes: Codes
    bins: Bins
    varying: np.ndarray

    @classmethod
    def of(cls, rows: TrainingRows, row: np.ndarray, bought: np.ndarray, described: np.ndarray, bins: Bins) -> "States":
        """Code states.

        Parameters
        ----------
        rows : TrainingRows
        row : ndarray of int, shape (n,)
            The row of each state.
        bought : ndarray of bool, shape (n, n_groups)
        described : ndarray of shape (n, n_described)
        bins : Bins
            The bins of `described`.
        """
        masked, own = rows.masked_codes(row, bought), bins.codes(np.ascontiguousarray(described))
        d, n_described = rows.codes.n_features, described.shape[1]
        codes = Codes.zeros(len(row), d + n_described)
        codes.bytes[: len(masked.bytes)] = masked.bytes
        for k in range(n_described):
            codes.column(d + k)[:] = own.column(k)
        joint = Bins(
            np.vstack([rows.bins.edges, bins.edges]),
            np.append(rows.bins.n_edges, bins.n_edges),
            np.append(rows.bins.categorical, bins.categorical),
            rows.bins.categories,
        )
        columns = np.flatnonzero(np.isin(rows.group_of, np.flatnonzero(bought.any(axis=0))))
        return cls(codes, joint, np.append(columns, d + np.arange(n_described)))

    def take(self, index: np.ndarray) -> "States":
        """Return some of the states."""
        return replace(self, codes=self.codes.take(index))


def bins_of_states(described: np.ndarray, random: np.random.Generator) -> Bins:
    """Return the bins of the features that describe states (n, n_described)."""
    table = np.ascontiguousarray(described)
    return Bins.of(table, np.ones(len(table)), STATE_BINS, np.zeros(table.shape[1], dtype=bool), random)
