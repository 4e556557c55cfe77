"""A network that buys greedily what tells most about the target per price: a policy and a predictor, learned together.

    purchases   what can be bought, and what is known after a purchase
    networks    the predictor and the policy, and how they are trained
    trace       what rows buy step by step, and where they stop

The predictor answers from any set of known columns. The policy chooses the next purchase. In expectation, the purchase
after which the best predictor has the least loss is the one with the largest conditional mutual information with the
target. So the policy is trained to reduce the loss one step ahead. The choice is relaxed by the concrete distribution.

I. Covert, W. Qiu, M. Lu, N. Kim, N. White, S.-I. Lee. Learning to Maximize Mutual Information for Dynamic Feature
Selection. ICML 2023. Prices divide the reduction of the loss, and rows may stop once the predictor is confident, as in
S. Gadgil, I. Covert, S.-I. Lee. Estimating Conditional Mutual Information for Dynamic Feature Selection. ICLR 2024.

It needs torch, and uses a GPU where torch finds one.
"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from thrifty.bench.contenders.contender import Contender, Model, Setting, Training, missing_package
from thrifty.bench.contenders.greedy_network.trace import Trace, Traced
from thrifty.bench.problems.problem import Answers, Table
from thrifty.tuning.problem import Task

BUDGETS = np.geomspace(0.01, 1.0, 16)  # in shares of the cost of all columns
CONFIDENCES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98)  # of the predicted class
LEARNING: list[Setting] = [
    {},
    {"dropout": 0.3},
    {"width": 32},
    {"width": 128},
    {"learning_rate": 0.001},
    {"width": 32, "dropout": 0.3},
    {"width": 128, "dropout": 0.3},
    {"learning_rate": 0.001, "dropout": 0.3},
]


def trials(n: int) -> list[Setting]:
    """Return settings of the networks; each fit is run with all budgets and confidences."""
    return LEARNING[:n]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield a model for each budget and each confidence. A ranker learns to predict the relevance."""
    try:
        import torch  # noqa: F401
    except ImportError as error:
        raise missing_package("greedy-network", "torch", error, extra="bench-torch") from error
    from thrifty.bench.contenders.greedy_network.networks import trained

    traced = Traced(trained(training, **setting))
    for share in BUDGETS.tolist():
        yield Model(f"budget {share:.3f}", partial(_within, traced=traced, budget=share * training.costs.total))
    for confidence in CONFIDENCES if training.task is not Task.RANKING else ():
        yield Model(f"confidence {confidence:g}", partial(_until, traced=traced, confidence=confidence))


def _within(rows: Table, *, traced: Traced, budget: float) -> Answers:
    """Let each row buy until the next purchase would exceed the budget."""
    trace = traced.of(rows.X)
    return _answers(trace, (trace.spend <= budget + 1e-6).sum(axis=0) - 1)


def _until(rows: Table, *, traced: Traced, confidence: float) -> Answers:
    """Let each row buy until the predictor is confident."""
    trace = traced.of(rows.X)
    enough = trace.confidence >= confidence
    enough[-1] = True
    return _answers(trace, enough.argmax(axis=0))


def _answers(trace: Trace, stop: np.ndarray) -> Answers:
    rows = np.arange(len(stop))
    return Answers(trace.known[stop, rows], trace.prediction[stop, rows])


CONTENDER = Contender("greedy-network", "Greedy dynamic selection network", trials, fit)
