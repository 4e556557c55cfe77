"""The linear SVM that learns policies by default: one action against the others, all actions at once, warm.

It has LIBLINEAR's objective (squared hinge loss, L2 penalty, the intercept penalised too)

    1/2 |w|^2  +  C sum_i max(0, 1 - y_i w'x_i)^2

but goes on from the policy before, whose states it shares for the most part, and takes the same few steps for all
actions together. Were no state on its right side of the margin, the curvature would be I + 2C X'X whatever the action;
it is never more, so steps by this one matrix always descend, and with momentum they do so quickly.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

C = 1.0
N_STEPS = 10  # a policy on the way need not be learned to the last digit


class ActionSVM:
    """Weights of the inputs and of a constant for every action, improved fit by fit.

    Parameters
    ----------
    n_inputs, n_actions : int

    Examples
    --------
    >>> import numpy as np
    >>> svm = ActionSVM(n_inputs=1, n_actions=3)
    >>> weights, intercepts = svm.fit(np.array([[-1.0], [1.0]]), np.array([0, 2]), np.ones(2))
    >>> weights.round(1).ravel()
    array([-0.8,  0. ,  0.8])
    >>> np.isfinite(intercepts)
    array([ True, False,  True])
    """

    def __init__(self, n_inputs: int, n_actions: int):
        self._weights = np.zeros((n_inputs + 1, n_actions))

    def fit(
        self, states: np.ndarray, actions: np.ndarray, weight: np.ndarray, n_steps: int = N_STEPS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (n_actions, n_inputs) and intercepts (n_actions,), -inf for actions that no state shows."""
        root = np.sqrt(2 * C * weight).astype(np.float32)[:, None]  # weighs rows here, and losses when squared
        rows = np.empty((len(states), states.shape[1] + 1), dtype=np.float32)
        rows[:, :-1], rows[:, -1] = states, 1.0
        rows *= root
        shown = np.unique(actions)
        signs = np.where(actions[:, None] == shown, np.float32(1), np.float32(-1))
        self._weights[:, shown] = _descend(rows, root, signs, self._weights[:, shown], n_steps)
        intercepts = np.full(self._weights.shape[1], -np.inf)
        intercepts[shown] = self._weights[-1, shown]
        return self._weights[:-1].T.copy(), intercepts


def _descend(rows: np.ndarray, root: np.ndarray, signs: np.ndarray, start: np.ndarray, n_steps: int) -> np.ndarray:
    """Take steps by the largest curvature, with momentum that starts anew, action by action, where it leads uphill."""
    curvature = cho_factor((rows.T @ rows).astype(float) + np.eye(rows.shape[1]))
    now, ahead, pace = start, start, np.ones(start.shape[1])
    for _ in range(n_steps):
        missed = signs * np.maximum(root - signs * (rows @ ahead.astype(np.float32)), 0)
        step = cho_solve(curvature, rows.T @ missed - ahead)
        then = ahead + step
        pace = np.where((step * (then - now)).sum(axis=0) < 0, 1.0, pace)
        faster = (1 + np.sqrt(1 + 4 * pace**2)) / 2
        ahead = then + (pace - 1) / faster * (then - now)
        now, pace = then, faster
    return now
