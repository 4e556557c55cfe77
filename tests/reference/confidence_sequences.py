"""Waudby-Smith and Ramdas, "Estimating means of bounded random variables by betting" (2024), Theorem 2, as loops."""

import numpy as np


def empirical_bernstein_bounds(x, alpha, sides=2, c=0.5):
    """Return the lower and the upper bound after each row of x in [0, 1], with the running intersection."""
    t_max = len(x)
    log_level = np.log(sides / alpha)
    mean, variance = [0.5], [0.25]
    for t in range(1, t_max + 1):
        mean.append((0.5 + sum(x[:t])) / (t + 1))
        variance.append((0.25 + sum((x[i - 1] - mean[i]) ** 2 for i in range(1, t + 1))) / (t + 1))
    bet = [min(np.sqrt(2 * log_level / (variance[t - 1] * t * np.log(1 + t))), c) for t in range(1, t_max + 1)]
    lower, upper = [], []
    for t in range(1, t_max + 1):
        total = sum(bet[:t])
        centre = sum(bet[i] * x[i] for i in range(t)) / total
        penalty = sum(4 * (x[i] - mean[i]) ** 2 * (-np.log(1 - bet[i]) - bet[i]) / 4 for i in range(t))
        radius = (log_level + penalty) / total
        lower.append(max([0.0, centre - radius, *lower[-1:]]))
        upper.append(min([1.0, centre + radius, *upper[-1:]]))
    return np.array(lower), np.array(upper)
