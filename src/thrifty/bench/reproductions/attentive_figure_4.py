"""Figure 4 of Pelossof and Ying: precision-recall and stop-errors of attentive and budgeted prediction.

The paper's own setting: a constant boundary on the negative side, terms in random order, sums centred at the means of
the positive training rows. Budgeted prediction evaluates the same number of terms for every row: the mean number of the
attentive predictor. Of the boundaries tau, the one with the fewest terms and at most 5% stop-errors on held-out rows is
drawn (the paper does not say which one it draws). A stop-error is a row whose answer differs from the full predictor's.
An attentive row that stops has the score tau, so the precision-recall curve falls steeply there. The rules, over the
data sets and random orders (seeds), with the leads of `leads`:

    1   average precision, attentive - budgeted, "is better"
    2   stop-error of budgeted - attentive, "is better", as the mean over boundaries with less than 30% stop-errors
    3   "half of the terms without much loss": mean share of terms <= 50% at the cheapest boundary with 1% stop-errors
        on held-out rows; "better" if it is <= 25%
"""

from functools import lru_cache, partial
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, precision_recall_curve
from sklearn.svm import SVC, LinearSVC

from thrifty import AttentiveClassifier
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.leads import Lead, described, judged_better
from thrifty.bench.reproductions._measuring.problems import Part, tabular
from thrifty.bench.reproductions._measuring.seeds import seeds_in_words
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run
from thrifty.datasets import load_basehock, load_isolet, load_mnist

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="Pelossof and Ying (2012), Attentive",
    where="Figure 4",
    text="Attentive prediction is better than budgeted prediction with the same mean number of terms.",
)
DATA = (
    "Digits 2 and 5 as in the paper; spoken letters (isolet) and text (basehock) stand for Gisette and Real-sim, "
    "which are not at hand."
)
SEEDS = (3, 10)
DRAWN_ERROR, SMALL_ERROR, SHOWN_ERRORS = 0.05, 0.01, 0.3
CLAIMED_SHARE, BETTER_SHARE = 0.5, 0.25  # of the terms
N_BOUNDARIES, N_POINTS = 120, 60


def _digits(full: bool) -> Any:
    return tabular(load_mnist(digits=(2, 5)), 0, 15_000 if full else 1500, 2000)


def _letters(full: bool) -> Any:
    isolet = load_isolet()
    isolet.y = (isolet.y >= 13).astype(int)
    return tabular(isolet, 0, 1000, 560)


def _text(full: bool) -> Any:
    return tabular(load_basehock(), 0, 1300, 600)


PREDICTORS = {
    "digits 2 and 5": (_digits, SVC(gamma="scale", C=1.0)),
    "letters": (_letters, LinearSVC(C=0.01, max_iter=20_000, random_state=0)),
    "text": (_text, LinearSVC(C=0.001, max_iter=20_000, random_state=0)),
}


def runs(full: bool) -> list[Run]:
    """Return one run per data set and random order of the terms."""
    return [
        Run(Key(NAME, seed, name, full), partial(_measure, name, seed, full))
        for name in PREDICTORS
        for seed in range(SEEDS[full])
    ]


@lru_cache(maxsize=1)
def _fitted(name: str, full: bool) -> tuple[Any, Any]:
    load, predictor = PREDICTORS[name]
    problem = load(full)
    return problem, predictor.fit(problem.train.X, problem.train.y)


def _measure(name: str, seed: int, full: bool) -> dict[str, Any]:
    problem, predictor = _fitted(name, full)
    model = AttentiveClassifier.as_published(predictor, random_state=seed).fit(problem.train.X, problem.train.y)
    return {"problem": name, **measured_boundaries(model, problem.held, problem.test)}


def measured_boundaries(model: AttentiveClassifier, held: Part, test: Part) -> dict[str, Any]:
    """Return stop-errors and terms for many boundaries, and precision-recall curves at one of them, on test rows."""
    held_scores, scores = model.partial_scores(held.X), model.partial_scores(test.X)
    lowest = np.minimum.accumulate(held_scores[:, :-1], axis=1)[:, -1]
    taus = np.unique(np.quantile(np.minimum(lowest, 0.0), np.linspace(0, 1, N_BOUNDARIES)))
    on_held = np.array([_terms_and_error(model, held_scores, tau) for tau in taus])
    on_test = np.array([_terms_and_error(model, scores, tau) for tau in taus])
    drawn, small = (_cheapest(on_held, error) for error in (DRAWN_ERROR, SMALL_ERROR))
    budgeted_errors = np.mean((scores > 0) != (scores[:, -1:] > 0), axis=0)
    full = scores[:, -1]
    budget = int(np.abs(model.checkpoints_ - on_test[drawn, 0]).argmin())
    predictors = {
        "attentive": np.where(_stops(scores, taus[drawn]) < scores.shape[1] - 1, taus[drawn], full),
        "budgeted": scores[:, budget],
        "full": full,
    }
    positive = test.y == np.max(test.y)
    return {
        "n_terms": int(model.checkpoints_[-1]),
        "terms": on_test[:, 0].tolist(),
        "stop_error": on_test[:, 1].tolist(),
        "budgeted_error": np.interp(on_test[:, 0], model.checkpoints_, budgeted_errors).tolist(),
        "share_at_small_error": float(on_test[small, 0] / model.checkpoints_[-1]),
        "error_there": float(on_test[small, 1]),
        "average_precision": {k: float(average_precision_score(positive, s)) for k, s in predictors.items()},
        "curves": {k: _thinned(*precision_recall_curve(positive, s)[:2]) for k, s in predictors.items()},
    }


def _stops(scores: np.ndarray, tau: float) -> np.ndarray:
    """Return the checkpoint at which each row ends: the first score below tau, or the last checkpoint."""
    below = scores < tau
    below[:, -1] = True
    return below.argmax(axis=1)


def _terms_and_error(model: AttentiveClassifier, scores: np.ndarray, tau: float) -> tuple[float, float]:
    stop = _stops(scores, tau)
    early = stop < scores.shape[1] - 1
    return float(model.checkpoints_[stop].mean()), float(np.mean(early & (scores[:, -1] > 0)))


def _cheapest(found: np.ndarray, error: float) -> int:
    """Return the boundary with the fewest terms of those with at most this stop-error, or the most careful one."""
    allowed = np.flatnonzero(found[:, 1] <= error)
    return int(allowed[found[allowed, 0].argmin()]) if len(allowed) else int(found[:, 1].argmin())


def _thinned(precision: np.ndarray, recall: np.ndarray) -> list[list[float]]:
    """Return the whole curve with at most N_POINTS points, by steps of recall and precision."""
    path = np.concatenate([[0.0], np.cumsum(np.abs(np.diff(precision)) + np.abs(np.diff(recall)))])
    kept = np.unique(np.searchsorted(path, np.linspace(0, path[-1], N_POINTS)).clip(max=len(path) - 1))
    return [precision[kept].tolist(), recall[kept].tolist()]


def verdicts(results: Results) -> list[Verdict]:
    """Judge the three parts of the claim."""
    better, fewer, half = (
        Claim(CLAIM.paper, CLAIM.where, f"{text} {DATA}")
        for text in (
            "Attentive prediction has better precision and recall than budgeted prediction.",
            "Attentive prediction has fewer stop-errors than budgeted prediction at up to 30% stop-errors.",
            "Up to half of the terms are saved without much loss.",
        )
    )
    found = results.of(NAME)
    if not found:
        return [not_run(claim, NAME, results, "attentive prediction") for claim in (better, fewer, half)]
    precision: dict[str, dict[tuple[str, int], float]] = {"attentive": {}, "budgeted": {}}
    errors: dict[str, dict[tuple[str, int], float]] = {"attentive": {}, "budgeted": {}}
    for result in found:
        key = result.values["problem"], result.key.seed
        attentive, budgeted = (np.array(result.values[name]) for name in ("stop_error", "budgeted_error"))
        shown = attentive < SHOWN_ERRORS
        for name, values in (("attentive", attentive), ("budgeted", budgeted)):
            precision[name][key] = result.values["average_precision"][name]
            errors[name][key] = float(values[shown].mean())
    leads = Lead.of(precision, "attentive", "budgeted"), Lead.of(errors, "budgeted", "attentive")
    return [
        Verdict(better, judged_better(leads[0]), f"Average precision: {described(leads[:1])}"),
        Verdict(fewer, judged_better(leads[1]), f"Mean rate of stop-errors: {described(leads[1:])}"),
        _verdict_on_savings(half, found),
    ]


def _verdict_on_savings(claim: Claim, found: list[Any]) -> Verdict:
    share = float(np.mean([result.values["share_at_small_error"] for result in found]))
    error = float(np.mean([result.values["error_there"] for result in found]))
    seeds = seeds_in_words(result.key.seed for result in found)
    sentence = f"{share:.0%} of the terms at {error:.2%} stop-errors on test rows, mean over data sets and {seeds}."
    if share <= BETTER_SHARE:
        return Verdict(claim, "better", sentence)
    return Verdict(claim, "reproduced" if share <= CLAIMED_SHARE else "not reproduced", sentence)


def figure(results: Results) -> Any:
    """Draw precision-recall curves and stop-errors of the first random order."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    shown = [result.values for result in results.of(NAME) if result.key.seed == 0]
    if not shown:
        return None
    names = [each["problem"] for each in shown]
    figure, axes = panels([*(f"{n}, precision" for n in names), *(f"{n}, stop-errors" for n in names)], "", "")
    for each in shown:
        above, below = (axes[f"{each['problem']}, {what}"] for what in ("precision", "stop-errors"))
        for name, (precision, recall) in each["curves"].items():
            above.plot(recall, precision, label=name)
        above.set(xlabel="recall", ylabel="precision")
        order = np.argsort(each["terms"])
        for name, key in (("attentive", "stop_error"), ("budgeted", "budgeted_error")):
            below.plot(np.array(each["terms"])[order], np.array(each[key])[order], label=name)
        below.set(xlabel="mean number of terms", ylabel="rate of stop-errors")
        for ax in (above, below):
            ax.legend(frameon=False, fontsize=8)
    return figure
