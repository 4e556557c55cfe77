"""Plain transcriptions of Pelossof and Ying (2012), Focus of Attention for Linear Predictors. Loops, nothing clever."""

import math


def constant_threshold(variance, delta):
    """Theorem 1: tau = sqrt(var(S_n)) sqrt(log(1 / sqrt(delta)))."""
    return math.sqrt(variance) * math.sqrt(math.log(1 / math.sqrt(delta)))


def crossing_probability(tau, theta, variance):
    """Lemma 1: the probability that a walk which ends at theta has crossed tau."""
    return math.exp(-2 * tau * (tau - theta) / variance)


def centred_partial_scores(values, weights, intercept, centre):
    """Section 4: S_t = sum over i <= t of alpha_i (K_i - mu_i), here with what makes the decision fall at 0."""
    start = intercept + sum(w * m for w, m in zip(weights, centre, strict=True))
    scores, total = [], start
    for value, weight, mean in zip(values, weights, centre, strict=True):
        total += weight * (value - mean)
        scores.append(total)
    return scores


def attentive_predict(partial_scores, lower, upper):
    """Algorithm 1, on either side: the first partial score beyond a threshold, else the full one; and where."""
    for t, score in enumerate(partial_scores):
        if score < lower or score > upper:
            return score, t + 1
    return partial_scores[-1], len(partial_scores)


def budgeted_predict(partial_scores, budget):
    """Algorithm 2: the score after a fixed number of terms."""
    return partial_scores[budget - 1]


def kernel(name, x, s, gamma, coef0, degree):
    """The kernels of support vector machines."""
    product = sum(a * b for a, b in zip(x, s, strict=True))
    return {
        "linear": lambda: product,
        "poly": lambda: (gamma * product + coef0) ** degree,
        "rbf": lambda: math.exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, s, strict=True))),
        "sigmoid": lambda: math.tanh(gamma * product + coef0),
    }[name]()


def greedy_order(columns, target):
    """Add the column whose least-squares fit together with those before it leaves the least of the target."""
    import numpy as np

    chosen, centred = [], target - target.mean()
    while len(chosen) < columns.shape[1]:
        left = {}
        for j in set(range(columns.shape[1])) - set(chosen):
            A = columns[:, [*chosen, j]] - columns[:, [*chosen, j]].mean(axis=0)
            left[j] = np.sum((centred - A @ np.linalg.lstsq(A, centred, rcond=None)[0]) ** 2)
        chosen.append(min(left, key=left.get))
    return chosen


def is_stop_error(ratios, errors, factor):
    """Whether a row that stops at the first ratio above the factor stops with an error."""
    return bool(errors[next(k for k, ratio in enumerate(ratios) if ratio > factor)])


def conformal_factor(ratios, errors, delta):
    """The smallest factor such that 1 + the rows that can err at this factor or a larger one <= delta (n + 1)."""
    factors = sorted({0.0, *(ratio for line in ratios for ratio in line if ratio < math.inf)}, reverse=True)
    smallest, can_err = math.inf, set()
    for factor in factors:
        can_err |= {i for i, line in enumerate(ratios) if is_stop_error(line, errors[i], factor)}
        if 1 + len(can_err) > delta * (len(ratios) + 1):
            return smallest
        smallest = factor
    return smallest


def certified(ratios, errs, delta, confidence, factors):
    """Fixed-sequence testing: go from strict to lax as long as the binomial test rejects "errs more than delta"."""
    passed = math.inf
    for factor in factors:
        wrong = 0
        for line, bad in zip(ratios, errs, strict=True):
            stop = next(k for k, ratio in enumerate(line) if ratio > factor)
            wrong += bool(bad[stop])
        n = len(ratios)
        tail = sum(math.comb(n, k) * delta**k * (1 - delta) ** (n - k) for k in range(wrong + 1))
        if tail > 1 - confidence:
            return passed
        passed = factor
    return passed
