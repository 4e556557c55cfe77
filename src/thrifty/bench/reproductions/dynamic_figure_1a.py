"""Figure 1a of He et al. (2012): reward of DAgger and of Coaching by iteration, on digits with lambda 0.5.

Measured on the rows that are held out of the training rows, in the paper's own setting and with the parameters that
`DynamicSelectionClassifier` has by default. Over the seeds, in the paper's own setting:

    "Coaching reaches a higher reward"    reproduced if the lead of its last reward over DAgger's exceeds its error
    "Coaching changes more smoothly"      reproduced if the lead of DAgger's roughness over its own exceeds its error

Roughness is the mean absolute second difference of the rewards.
"""

from functools import partial
from typing import Any

import numpy as np

from thrifty import DynamicSelectionClassifier
from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reproductions._measuring.absence import not_run
from thrifty.bench.reproductions._measuring.leads import Lead, described, judged_better
from thrifty.bench.reproductions.dynamic_figure_1_curves import AS_PRINTED, digits, settings
from thrifty.bench.results import Results
from thrifty.bench.runs import Key, Run

NAME = __name__.rpartition(".")[2]
CLAIM = Claim(
    paper="He et al. (2012), dynamic feature selection",
    where="Figure 1a",
    text="Over 15 iterations Coaching reaches a higher reward than DAgger and changes more smoothly.",
)
SETTINGS: dict[str, dict[str, Any]] = {
    "DAgger": {"coaching": 0.0, **AS_PRINTED},
    "Coaching": {"coaching": 0.5, **AS_PRINTED},
    "DAgger, default": {"coaching": 0.0},
    "Coaching, default": {"coaching": 0.5},
}
SEEDS = (3, 10)
COST_WEIGHT = 0.5
QUICK = {"n_folds": 4, "max_states": 2000}


def runs(full: bool) -> list[Run]:
    """Return one run per seed and setting."""
    return [
        Run(Key(NAME, seed, setting, full), partial(_measure, setting, seed, full))
        for seed in range(SEEDS[full])
        for setting in SETTINGS
    ]


def _measure(setting: str, seed: int, full: bool) -> dict[str, Any]:
    problem = digits(seed, full)
    options = {**settings(problem, seed), **({} if full else QUICK), **SETTINGS[setting]}
    model = DynamicSelectionClassifier(cost_weight=COST_WEIGHT, **options).fit(problem.train.X, problem.train.y)
    curve = model.learning_curve_
    return {"setting": setting, **{name: getattr(curve, name).tolist() for name in ("reward", "score", "cost")}}


def verdicts(results: Results) -> list[Verdict]:
    """Judge both parts of the claim, and tell what the default parameters do."""
    last, rough = _figures(results, lambda reward: reward[-1]), _figures(results, _roughness)
    parts = [
        ("Coaching reaches a higher reward than DAgger.", "Last reward", last, ("Coaching", "DAgger")),
        ("Coaching changes more smoothly than DAgger.", "Roughness", rough, ("DAgger", "Coaching")),
    ]
    found = []
    for text, what, figures, (first, second) in parts:
        claim = Claim(CLAIM.paper, CLAIM.where, text)
        lead = Lead.of(figures, first, second)
        default = Lead.of(figures, f"{first}, default", f"{second}, default")
        if not lead:
            found.append(not_run(claim, NAME, results, "DAgger and Coaching on the same seed"))
            continue
        leads = [lead, default] if default else [lead]
        found.append(Verdict(claim, judged_better(lead), f"{what}: {described(leads)}"))
    return found


def _figures(results: Results, figure_of: Any) -> dict[str, dict[tuple[str, int], float]]:
    found: dict[str, dict[tuple[str, int], float]] = {}
    for result in results.of(NAME):
        found.setdefault(result.values["setting"], {})["digits", result.key.seed] = figure_of(result.values["reward"])
    return found


def _roughness(reward: list[float]) -> float:
    return float(np.abs(np.diff(reward, 2)).mean())


def figure(results: Results) -> Any:
    """Draw the mean reward over the seeds by iteration; the two kinds of margins have different units."""
    from thrifty.bench.reproductions._measuring.drawing import panels

    rewards: dict[str, list[list[float]]] = {}
    for result in results.of(NAME):
        rewards.setdefault(result.values["setting"], []).append(result.values["reward"])
    if not rewards:
        return None
    figure, axes = panels(["margins of scores, as printed", "margins of probabilities"], "iteration", "reward")
    printed, default = axes.values()
    for setting, each in rewards.items():
        mean = np.mean(each, axis=0)
        ax = default if setting.endswith("default") else printed
        ax.plot(np.arange(1, len(mean) + 1), mean, label=setting)
    for ax in (printed, default):
        if ax.lines:
            ax.legend(frameon=False, fontsize=8)
    return figure
