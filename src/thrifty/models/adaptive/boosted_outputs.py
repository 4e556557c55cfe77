"""What boosted trees are fitted to: one score, the scores of several classes, or many numbers at once."""

import numpy as np

from thrifty.kernels.adaptive.fitting import step_numbers
from thrifty.kernels.softmax import class_losses, softmax_along, step_classes
from thrifty.kernels.threads import over_rows
from thrifty.models.adaptive.boosting import Plan
from thrifty.models.forests.forest import Tree
from thrifty.models.growing.grown_tree import GrownTree
from thrifty.models.growing.losses import Loss


class OneScore:
    """One score per row: the log-odds of two classes, or a number.

    Parameters
    ----------
    loss : Loss
        Of all rows.
    start : ndarray of shape (n, 1), optional
        The scores that the trees are added to; by default a constant.
    """

    def __init__(self, loss: Loss, start: np.ndarray | None = None):
        self._loss, self.weight, self.constant_hessian = loss, loss.weight, loss.constant_hessian
        self.base = loss.base(slice(None)) if start is None else np.zeros(1)
        self._scores = np.repeat(self.base[:, None], len(self.weight), axis=1) if start is None else start.T.copy()

    def derivatives(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives of the loss."""
        gradient, hessian = self._loss.derivatives(self._scores)
        return gradient[0], hessian[0]

    def take_steps(self, grown: GrownTree, plan: Plan) -> Tree:
        """Add Newton steps, which the growth of the tree has computed."""
        grown.add_to(self._scores[0], plan.learning_rate)
        return grown.as_tree(plan.learning_rate)

    def loss(self, rows: np.ndarray) -> float:
        """Return the mean loss of some rows."""
        return self._loss.value(self._scores, rows)


class ClassScores:
    """The scores of three or more classes, with the log-loss of their softmax.

    Along a direction u, the derivatives of the loss of a row of class y with probabilities p are u . p - u_y and the
    variance of u under p. The Newton step of class k has the Hessian K / (K - 1) p_k (1 - p_k); see `SoftmaxLoss`.

    Parameters
    ----------
    classes : ndarray of int, shape (n,)
        The class of each row.
    weight : ndarray of shape (n,)
    base : ndarray of shape (n_classes,)
        What the scores start from.
    start : ndarray of shape (n, n_classes), optional
        The scores that the trees are added to; by default `base`.
    """

    constant_hessian = False

    def __init__(self, classes: np.ndarray, weight: np.ndarray, base: np.ndarray, start: np.ndarray | None = None):
        self._classes, self.weight = classes.astype(np.int64), weight
        self.base = base if start is None else np.zeros_like(base)
        self._scores = np.tile(base, (len(classes), 1)) if start is None else np.ascontiguousarray(start).copy()
        self._probabilities = np.empty_like(self._scores)

    def derivatives(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives along a random direction."""
        direction, along = random.standard_normal(len(self.base)), np.empty((2, len(self.weight)))
        arrays = self._scores, self._classes, self.weight, direction
        over_rows(
            lambda first, last: softmax_along(*arrays, first, last, self._probabilities, *along), len(self.weight)
        )
        return along[0], along[1]

    def take_steps(self, grown: GrownTree, plan: Plan) -> Tree:
        """Add a Newton step of every class."""
        steps, ridge = np.zeros((grown.n_nodes, len(self.base))), plan.limits.l2_regularization
        rows = self._probabilities, self._classes, self.weight
        step_classes(grown.leaves, *rows, ridge, plan.learning_rate, self._scores, steps)
        return grown.with_values(steps)

    def loss(self, rows: np.ndarray) -> float:
        """Return the mean log-loss of some rows."""
        losses = np.empty(len(rows))
        over_rows(lambda first, last: class_losses(self._scores, self._classes, rows, first, last, losses), len(rows))
        return float(np.average(losses, weights=self.weight[rows]))


class Numbers:
    """Many numbers per row, fitted by least squares.

    Parameters
    ----------
    labels : ndarray of shape (n, n_outputs)
        NaN in an output that does not count for a row.
    weight : ndarray of shape (n,)
    bag : ndarray of uint32
        The rows to fit.

    Attributes
    ----------
    residual : ndarray of shape (n, n_outputs)
        What the trees have left of each label; 0 if it does not count.
    """

    constant_hessian = True

    def __init__(self, labels: np.ndarray, weight: np.ndarray, bag: np.ndarray):
        self._known, self.weight = np.isfinite(labels), weight
        self.base = _means(labels[bag], self._known[bag], weight[bag])
        self.residual = np.where(self._known, labels - self.base, 0.0)
        self._spread = np.sqrt(_means(self.residual[bag] ** 2, self._known[bag], weight[bag]))

    def derivatives(self, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Return the derivatives along a random direction, in which every output counts by its deviation."""
        direction = random.standard_normal(len(self.base)) * self._spread
        return -self.weight * (self.residual @ direction), self.weight

    def take_steps(self, grown: GrownTree, plan: Plan) -> Tree:
        """Add the mean residual of every output, shrunken as if `l2_regularization` rows had a residual of 0."""
        steps, ridge = np.zeros((grown.n_nodes, len(self.base))), plan.limits.l2_regularization
        rows = self.residual, self._known, self.weight
        step_numbers(grown.leaves, *rows, ridge, plan.learning_rate, steps)
        return grown.with_values(steps)

    def loss(self, rows: np.ndarray) -> float:
        """Return half the mean squared residual of some rows, summed over the outputs."""
        return 0.5 * float(np.average(np.square(self.residual[rows]).sum(axis=1), weights=self.weight[rows]))


def _means(values: np.ndarray, known: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weighted mean of the known values of each column; 0 if there are none."""
    total = weight @ known
    return np.divide(weight @ np.where(known, values, 0.0), total, out=np.zeros(len(total)), where=total > 0)
