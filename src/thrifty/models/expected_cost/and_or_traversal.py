"""Traversal of an AND-OR cascade in training: every row visits every stage.

Losses and costs therefore count in full at every stage. Whether a row is rejected by a stage matters only for the
fine-tuning of the stages after it, which is why `reach` is still recorded.
"""

import numpy as np

from thrifty.models.expected_cost.topology import UPPER
from thrifty.models.expected_cost.traversal import SoftRows
from thrifty.models.expected_cost.tree_parameters import Parameters


def traverse_stages(parameters: Parameters, scores: np.ndarray) -> SoftRows:
    """Send all rows through all stages.

    Parameters
    ----------
    parameters : Parameters
        Stages with one score each.
    scores : ndarray of shape (n, K)
        The score of each row at each stage.

    Returns
    -------
    SoftRows
        The masses are 1, as all rows visit all stages and leave after the last one. `reach` is 1 for the rows that no
        earlier stage rejects and 0 for all others. `sigma` marks the rows that a stage accepts.
    """
    accepted = parameters.directions[:, 0] * scores > parameters.thresholds
    reach, exit_mass = np.ones(scores.shape), np.zeros((scores.shape[1], 2))
    reach[:, 1:] = np.logical_and.accumulate(accepted[:, :-1], axis=1)
    exit_mass[-1, UPPER] = 1.0
    return SoftRows(scores, accepted, reach, np.ones(len(exit_mass)), exit_mass)
