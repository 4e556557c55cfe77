"""Costs of errors, straight from the definitions: sums over rows and classes, one at a time."""


def expected_cost(probabilities, costs, answer):
    """Return sum_k p_k C[k][answer]."""
    return sum(p * row[answer] for p, row in zip(probabilities, costs, strict=True))


def cheapest_answer(probabilities, costs):
    """Return the answer with the smallest expected cost; of equal ones the first."""
    expected = [expected_cost(probabilities, costs, answer) for answer in range(len(costs))]
    return expected.index(min(expected))


def mean_cost(truth, answers, costs):
    """Return the mean cost of answers; both are codes of classes."""
    return sum(costs[k][c] for k, c in zip(truth, answers, strict=True)) / len(truth)


def cheapest_constant(truth, weight, costs):
    """Return the code of the class that costs least as the answer for every row."""
    totals = [sum(w * costs[k][c] for k, w in zip(truth, weight, strict=True)) for c in range(len(costs))]
    return totals.index(min(totals))


def mean_total_cost(spend, truth, answers, costs):
    """Return the mean of what a case costs: what was acquired for it, and its error."""
    return sum(spend) / len(spend) + mean_cost(truth, answers, costs)
