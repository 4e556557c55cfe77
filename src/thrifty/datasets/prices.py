"""What the features of the catalogued sets cost: measured, published, or, where nobody said, assumed.

Turney (1995), Cost-sensitive classification, JAIR 2, priced the medical tests. ASlib (Bischl et al. 2016,
Artificial Intelligence 237) measured the seconds that each step of a feature extraction takes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.datasets.yahoo import draw_yahoo_prices

_SEED = 0


@dataclass(frozen=True)
class Pricing:
    """How a set is priced, and the sentence that tells its user so.

    `build(names, arrays)` returns the CostModel and takes the arrays it has used up out of `arrays`.
    """

    build: Callable[[list[str], dict[str, Any]], CostModel]
    note: str


def _unit_costs(names: list[str], arrays: dict[str, Any]) -> CostModel:
    return CostModel(dict.fromkeys(names, 1.0))


def _yahoo_costs(names: list[str], arrays: dict[str, Any]) -> CostModel:
    prices = draw_yahoo_prices(len(names), np.random.default_rng(_SEED))
    return CostModel(dict(zip(names, prices.tolist(), strict=True)))


def _step_costs(names: list[str], arrays: dict[str, Any]) -> CostModel:
    """A step is a bundle of its own features and of those of every step that needs it first."""
    steps, requires = arrays["step_names"], arrays.pop("steps")["requires"]
    seconds = np.nanmean(arrays["step_cost"], axis=0, dtype=float)
    needed = [_with_prerequisites(steps[s], requires) for s in arrays["feature_step"]]
    bundles = {
        step: ([j for j, need in enumerate(needed) if step in need], round(mean, 6))
        for step, mean in zip(steps, seconds.tolist(), strict=True)
    }
    return CostModel(dict.fromkeys(names), bundles=bundles, unit="CPU seconds")


def _with_prerequisites(step: str, requires: Mapping[str, Sequence[str]]) -> set[str]:
    return {step}.union(*(_with_prerequisites(earlier, requires) for earlier in requires[step]))


UNIT = Pricing(_unit_costs, "no prices are published, so every feature costs 1")
YAHOO = Pricing(
    _yahoo_costs,
    "no prices are published, so they are SYNTHETIC: drawn with a fixed seed from the price classes of the "
    "Yahoo! Learning to Rank features, 1 to 200",
)
STEPS = Pricing(
    _step_costs,
    "one payment buys a whole feature step, at its mean measured CPU seconds, once the steps it requires are "
    "paid; step_cost holds the seconds measured on each row (NaN where not recorded)",
)


def turney(groups: Mapping[str, str], requires: Mapping[str, Sequence[str]] | None = None) -> Pricing:
    """Prices of Turney (1995): the first test of a group pays what the tests of that group share.

    `groups` names the shared part of each group letter; `requires` lists features computed from others.
    """

    def build(names: list[str], arrays: dict[str, Any]) -> CostModel:
        first, later, group = (arrays.pop(key) for key in ("cost", "cost_discount", "group"))
        shared = (first - later).round(2)
        members = {title: np.flatnonzero(group == letter).tolist() for letter, title in groups.items()}
        bundles = {title: (columns, shared[columns[0]]) for title, columns in members.items()}
        own = [None if np.isnan(price) else price for price in later.tolist()]  # NaN: computed from others
        return CostModel(dict(zip(names, own, strict=True)), bundles=bundles, requires=requires, unit="CAD")

    return Pricing(build, "Canadian dollars (Turney 1995); `delayed` marks tests whose result takes time")
