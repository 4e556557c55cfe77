"""Figure 1b to 1d of He et al. (2012): accuracy against cost of Coaching, DAgger, the oracle and static selection.

Coaching and DAgger have the paper's own setting (Algorithm 1 and eq. 4: margins of scores, 10 folds, 15 iterations, a
linear SVM as policy, no stop biases, no weights of states), with its seven values of lambda and four larger ones:
lambda is in the unit of the scores, which depends on the data classifier. "Coaching, default" and "DAgger, default"
have the parameters that `DynamicSelectionClassifier` has by default, the seven values, and caps at each tenth of the
price of all features. The rules are those of `leads`:

    1   best accuracy within half of the cost - accuracy with all features, "is as good", for Coaching and DAgger
    2   area of Coaching and of DAgger - area of each static method, "is better"
    3   area of Coaching - area of DAgger, "is better"
    4   area of the oracle - area of Coaching, "is better": the policy does not reach the oracle
    5   area of Coaching, default - area of Coaching as printed, "is as good", which is ours to claim

The first four are judged in the paper's own setting, and the first two also with the default parameters.
"""

from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any, Literal

import numpy as np
from sklearn.svm import LinearSVC

from thrifty import DynamicSelectionClassifier, StaticSelectionClassifier, forward_selection_oracle
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.curves import chosen
from thrifty.bench.reproductions._measuring.leads import Lead, described, judged_as_good, judged_better, worst
from thrifty.bench.reproductions._measuring.problems import Part, Problem, tabular
from thrifty.bench.results import Results
from thrifty.bench.runs import Run
from thrifty.datasets import load_ionosphere, load_segmentation, load_usps
from thrifty.metrics import CostCurve, cost_curve
from thrifty.models.policies.data_model import encode

CLAIM = Claim(
    paper="He et al. (2012), dynamic feature selection",
    where="Figure 1b to 1d",
    text="Dynamic selection is as accurate as all features at a small cost, and better than static selection.",
)
COST_WEIGHTS = (0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0)  # the paper's seven values of lambda
MORE_COST_WEIGHTS = (3.0, 6.0, 12.0, 25.0)
CAPS = np.linspace(0.1, 1.0, 10)  # as shares of the price of all features
AS_PRINTED = {
    "margin": "score",
    "masked_training": False,
    "policy": LinearSVC(dual=False, tol=0.1),
    "coach_stops": True,
    "stop_biases": (0.0,),
    "weigh_stakes": False,
}
PIXELS = np.arange(256).reshape(16, 16)
BLOCKS = [PIXELS[i : i + 4, j : j + 4].ravel().tolist() for i in range(0, 16, 4) for j in range(0, 16, 4)]
QUICK_ROWS = 500
QUICK: dict[str, Any] = {
    "n_folds": 4,
    "n_iterations": 6,
    "max_states": 2000,
}  # the full suite has the paper's 10 folds and 15 iterations


def digits(seed: int, full: bool) -> Problem:
    """Return the digits of the U.S. Postal Service."""
    return _problem(load_usps(), seed, full, 20_000)


def _radar(seed: int, full: bool) -> Problem:
    return _problem(load_ionosphere(), seed, full, 245)


def _segmentation(seed: int, full: bool) -> Problem:
    return _problem(load_segmentation(), seed, full, 1600)


def _problem(data: Any, seed: int, full: bool, n_train: int) -> Problem:
    return tabular(data, seed, n_train if full else min(n_train, QUICK_ROWS), n_train, full)


def settings(problem: Problem, seed: int) -> dict[str, Any]:
    """Return the parameters that all contenders of a problem share: digits are bought in blocks of 4 x 4 pixels."""
    factors = BLOCKS if problem.train.X.shape[1] == PIXELS.size else None
    return {"costs": problem.costs, "factors": factors, "random_state": seed}


def _dynamic(problem: Problem, seed: int, coaching: float, **options: Any) -> list[Any]:
    size = {} if problem.full else QUICK
    model = DynamicSelectionClassifier(coaching=coaching, **settings(problem, seed), **size, **options)
    weights = COST_WEIGHTS + (MORE_COST_WEIGHTS if model.margin == "score" else ())
    return model.path(problem.train.X, problem.train.y, cost_weights=weights)


def _dynamic_with_caps(problem: Problem, seed: int, coaching: float) -> Callable[[Part], CostCurve]:
    models, caps = _dynamic(problem, seed, coaching), CAPS * problem.total

    def measure(part: Part) -> CostCurve:
        curves = [cost_curve(model, part.X, part.y, caps=caps) for model in models]
        return CostCurve(
            np.concatenate([curve.spend for curve in curves]), np.concatenate([curve.score for curve in curves])
        )

    return measure


def _static(problem: Problem, seed: int, ranking: Literal["forward", "weight_per_cost"]) -> Callable[[Part], CostCurve]:
    model = StaticSelectionClassifier(ranking=ranking, **settings(problem, seed))
    model.fit(problem.train.X, problem.train.y)
    caps = np.linspace(0, problem.total, len(model.factors_) + 1)
    return lambda part: cost_curve(model, part.X, part.y, caps=caps)


def _all_features(problem: Problem, seed: int) -> list[Any]:
    model = StaticSelectionClassifier(n_folds=1, **settings(problem, seed))
    return [model.fit(problem.train.X, problem.train.y)]


def _oracle(problem: Problem, seed: int) -> Callable[[Part], CostCurve]:
    """Return a function that follows the oracle, which knows the classes of the rows of a part."""
    (model,) = _all_features(problem, seed)
    starts = model.factors_.starts
    prices = np.zeros(starts[-1])
    prices[starts[:-1]] = model.factors_.prices.own * problem.total  # these data sets have no bundles
    blocks = [range(first, last) for first, last in pairwise(starts)]

    def measure(part: Part) -> CostCurve:
        rows = encode(model.factors_.sorted_columns(part.X), model.standardiser_, model.factors_)
        classes = np.searchsorted(model.classes_, part.y)
        found = [
            forward_selection_oracle(
                model.classifier_, rows, classes, costs=prices, factors=blocks, cost_weight=cost_weight
            )
            for cost_weight in COST_WEIGHTS
        ]
        accuracy = [np.mean(each.prediction == classes) for each in found]
        return CostCurve(np.array([each.spend.mean() for each in found]), np.array(accuracy))

    return measure


STATIC = {
    "forward selection": partial(_static, ranking="forward"),
    "weight per cost": partial(_static, ranking="weight_per_cost"),
}
CONTEST = Contest(
    __name__.rpartition(".")[2],
    {"radar": _radar, "segmentation": _segmentation, "digits": digits},
    {
        "Coaching": partial(_dynamic, coaching=0.5, **AS_PRINTED),
        "DAgger": partial(_dynamic, coaching=0.0, **AS_PRINTED),
        "Coaching, default": partial(_dynamic_with_caps, coaching=0.5),
        "DAgger, default": partial(_dynamic_with_caps, coaching=0.0),
        "oracle": _oracle,
        **STATIC,
        "all features": _all_features,
    },
)
DYNAMIC, DEFAULTS = ("Coaching", "DAgger"), ("Coaching, default", "DAgger, default")
OURS = " with the default parameters"


def runs(full: bool) -> list[Run]:
    """Return one run per data set, seed and contender."""
    return CONTEST.runs(full)


def verdicts(results: Results) -> list[Verdict]:
    """Judge the parts of the claim."""
    parts = {
        "Dynamic selection is better than static selection.": (
            [(ours, static) for ours in DYNAMIC for static in STATIC],
            judged_better,
        ),
        f"Dynamic selection{OURS} is better than static selection.": (
            [(ours, static) for ours in DEFAULTS for static in STATIC],
            judged_better,
        ),
        "Coaching is better than DAgger.": ([DYNAMIC], judged_better),
        "The learned policy does not reach the oracle.": ([("oracle", "Coaching")], judged_better),
        "The default parameters are as good as the printed algorithm (a claim of this package).": (
            list(zip(DEFAULTS, DYNAMIC, strict=True)),
            judged_as_good,
        ),
    }
    by_area = [
        CONTEST.verdict(Claim(CLAIM.paper, CLAIM.where, text), results, leads, rule)
        for text, (leads, rule) in parts.items()
    ]
    at_half_cost = [_verdict_at_half_cost(results, *each) for each in (("", DYNAMIC), (OURS, DEFAULTS))]
    return [*at_half_cost, *by_area]


def _verdict_at_half_cost(results: Results, setting: str, names: tuple[str, ...]) -> Verdict:
    text = f"Dynamic selection{setting} is as accurate as all features at half of the cost."
    claim = Claim(CLAIM.paper, CLAIM.where, text)
    accuracy: dict[str, dict[tuple[str, int], float]] = {}
    for result in results.of(CONTEST.name):
        values = result.values
        budget = values["total"] * (1.0 if values["contender"] == "all features" else 0.5)
        accuracy.setdefault(values["contender"], {})[values["problem"], result.key.seed] = _within(values, budget)
    leads = [Lead.of(accuracy, name, "all features") for name in names]
    if not all(leads):
        return not_run(claim, CONTEST.name, results, "dynamic selection and all features")
    return Verdict(claim, worst(map(judged_as_good, leads)), f"Accuracy within half of the cost: {described(leads)}")


def _within(curve: Any, budget: float) -> float:
    """Return the test score of the setting that held-out rows choose within a budget."""
    spend, score = chosen(curve)
    return float(score[spend <= budget * (1 + 1e-9)][-1])


def figure(results: Results) -> Any:
    """Draw accuracy against cost."""
    return CONTEST.figure(results)
