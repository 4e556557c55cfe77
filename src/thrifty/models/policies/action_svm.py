"""The linear SVM that learns policies by default: one action against all others, for all actions at once.

For each action it minimises the objective of LIBLINEAR (squared hinge loss, L2 penalty, also on the intercept)

    1/2 |w|^2  +  C sum_i weight_i max(0, 1 - y_i w'x_i)^2

where x_i is state i with a constant 1, and y_i is 1 if the state has this action and -1 otherwise.

A fit starts from the weights of the fit before, because most of its states are the same. It takes steps

    w  <-  w - H^-1 gradient,    H = I + 2C X' diag(weight) X

H is the largest possible Hessian: that of states which all violate the margin. So every step decreases the objective,
and one Cholesky factorisation serves all steps and all actions. Nesterov's momentum makes the steps faster; it is
restarted for an action when it leads uphill.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve

C = 1.0
N_STEPS = 10  # enough for a policy that the next iteration improves


class ActionSVM:
    """Linear SVMs of all actions; each fit continues from the one before.

    Parameters
    ----------
    n_inputs : int
        Number of columns of a state.
    n_actions : int
        Number of actions.

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
        """Take some steps towards the minimum.

        Parameters
        ----------
        states : ndarray of shape (n, n_inputs)
        actions : ndarray of int, shape (n,)
        weight : ndarray of shape (n,)
        n_steps : int, default=10

        Returns
        -------
        weights : ndarray of shape (n_actions, n_inputs)
        intercepts : ndarray of shape (n_actions,)
            -infinity for actions that no state has.
        """
        root = np.sqrt(2 * C * weight).astype(np.float32)[:, None]  # rows are scaled by it, so losses by its square
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
    """Return weights after some steps with momentum.

    Parameters
    ----------
    rows : ndarray of shape (n, n_inputs + 1)
        States with a constant 1, scaled by `root`.
    root : ndarray of shape (n, 1)
    signs : ndarray of shape (n, n_actions)
        1 for the action of a state, -1 for the others.
    start : ndarray of shape (n_inputs + 1, n_actions)
    n_steps : int
    """
    hessian = cho_factor((rows.T @ rows).astype(float) + np.eye(rows.shape[1]))
    now, ahead, momentum = start, start, np.ones(start.shape[1])
    for _ in range(n_steps):
        violations = signs * np.maximum(root - signs * (rows @ ahead.astype(np.float32)), 0)
        step = cho_solve(hessian, rows.T @ violations - ahead)
        after = ahead + step
        momentum = np.where((step * (after - now)).sum(axis=0) < 0, 1.0, momentum)
        next_momentum = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = after + (momentum - 1) / next_momentum * (after - now)
        now, momentum = after, next_momentum
    return now
