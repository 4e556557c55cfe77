"""The claims about the adaptive model, each as a measured figure and its limit."""

import numpy as np

from benchmarks.adaptive.contenders import ADAPTIVE, CONTENDERS, FULL, STATIC
from benchmarks.adaptive.figures import areas, scores_at, spends_for_enough
from benchmarks.adaptive.measure import mean_and_error
from benchmarks.adaptive.problems import EIGHT
from benchmarks.adaptive.results import Results
from benchmarks.report import Line, at_least, at_most, report
from thrifty.tuning.methods import METHODS

STATICS = (STATIC, "static")  # static selection with boosted trees, and that of this package


def report_claims(results: Results) -> None:
    """Print the claims that the results allow to check."""
    lines = [*synthetic(results), *spambase(results), *eight_problems(results), *budgets(results), *first_candidate()]
    report("The adaptive model", lines)


def synthetic(results: Results) -> list[Line]:
    """Claim 1: CUBE-NM, where myopic methods fail, and CUBE."""
    limits = [(name, *limit) for name in ("cube_nm", "cube_nm_last") for limit in ((5, 0.89), (7, 0.92))]
    limits.append(("cube", 5, 0.955))
    return [line for problem, spend, limit in limits for line in _score(results, problem, spend, limit)]


def spambase(results: Results) -> list[Line]:
    """Claim 2: accuracy and AUC within few columns, and the largest area of all."""
    lines = [line for spend, limit in ((6, 0.933), (9, 0.942)) for line in _score(results, "spambase", spend, limit)]
    lines += _score(results, "spambase", 10, 0.984, "auc")
    if lead := _lead(results, "spambase"):
        lines.append(at_least(f"spambase: area - area of {lead[0]}, the best other", lead[1], 0.0, ""))
    return lines


def eight_problems(results: Results) -> list[Line]:
    """Claim 3: the area of the best other method on most problems, and half the spend of static selection."""
    leads = {problem: lead for problem in EIGHT if (lead := _lead(results, problem))}
    if not leads:
        return []
    lines = [
        at_least(f"{problem}: (area - area of {other}, the best other) / its standard error", lead / error, -1.0, "")
        for problem, (other, lead, error) in leads.items()
        if error > 0  # a single seed has no standard error
    ]
    n_best = sum(lead >= 0 for _, lead, _ in leads.values())
    lines.append(at_least(f"problems of {len(leads)} with at least the area of the best other method", n_best, 6, ""))
    for static in STATICS:
        if ratios := [ratio for problem in leads for ratio in _spend_ratios(results, problem, static)]:
            what = f"spend for 99% of the full model's accuracy / that of {static}"
            lines.append(at_most(what, float(np.mean(ratios)), 0.5))
    return lines


def budgets(results: Results) -> list[Line]:
    """Claim 4: promised budgets are met on test rows."""
    met = [
        point["spend"] <= setting["budget"]
        for result in results
        if result["method"] == ADAPTIVE
        for point, setting in zip(result["points"], result["settings"], strict=True)
        if "budget" in setting
    ]
    return [at_least(f"promised budgets that are met, of {len(met)}", float(np.mean(met)), 0.95, "")] if met else []


def first_candidate() -> list[Line]:
    """Claim 5: the first method that a search tries."""
    return [at_most("place among the methods that BudgetSearchCV tries", _place(), 1, "")]


def _place() -> float:
    names = list(METHODS)
    return names.index(ADAPTIVE) + 1 if ADAPTIVE in names else float("inf")


def _score(results: Results, problem: str, spend: float, limit: float, score: str = "accuracy") -> list[Line]:
    by_seed = scores_at(results, problem, ADAPTIVE, spend, score)
    if not by_seed:
        return []
    mean, error = mean_and_error(list(by_seed.values()))
    return [at_least(f"{problem}: {score} at spend {spend} (standard error {error:.4f})", mean, limit, "")]


def _lead(results: Results, problem: str) -> tuple[str, float, float] | None:
    """Return the best other method by mean area over common seeds, the mean lead over it, and its standard error."""
    own = areas(results, problem, ADAPTIVE)
    others = {method: areas(results, problem, method) for method in CONTENDERS if method not in (ADAPTIVE, FULL)}
    leads = {method: [own[s] - of[s] for s in own if s in of] for method, of in others.items()}
    means = {method: mean_and_error(lead) for method, lead in leads.items() if lead}
    return min(((method, *figures) for method, figures in means.items()), key=lambda each: each[1], default=None)


def _spend_ratios(results: Results, problem: str, static: str) -> list[float]:
    own, other = (spends_for_enough(results, problem, method) for method in (ADAPTIVE, static))
    return [own[seed] / other[seed] for seed in own if other.get(seed)]  # 0: the most frequent class is enough
