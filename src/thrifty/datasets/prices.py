"""Prices of the features of real data sets: published or measured, and assumed if neither exists.

Published prices of medical tests are those of Turney (1995), Cost-sensitive classification, JAIR 2. Measured prices are
the seconds of each step of a feature extraction in ASlib (Bischl et al. 2016, Artificial Intelligence 237).
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
    """How the features of a data set are priced.

    Attributes
    ----------
    build : callable
        ``build(names, arrays)`` returns the CostModel, and removes arrays from `arrays` that only it needs.
    note : str
        A description for users.
    """

    build: Callable[[list[str], dict[str, Any]], CostModel]
    note: str


def _unit_costs(names: list[str], arrays: dict[str, Any]) -> CostModel:
    return CostModel(dict.fromkeys(names, 1.0))


def _yahoo_costs(names: list[str], arrays: dict[str, Any]) -> CostModel:
    prices = draw_yahoo_prices(len(names), np.random.default_rng(_SEED))
    return CostModel(dict(zip(names, prices.tolist(), strict=True)))


def _step_costs(names: list[str], arrays: dict[str, Any]) -> CostModel:
    """Return a cost model with a bundle per step: the features of the step and of all steps that require it."""
    steps, requires = arrays["step_names"], arrays.pop("steps")["requires"]
    seconds = np.nanmean(arrays["step_cost"], axis=0, dtype=float)
    needed = [_with_prerequisites(steps[s], requires) for s in arrays["feature_step"]]
    bundles = {
        step: ([j for j, need in enumerate(needed) if step in need], round(mean, 6))
        for step, mean in zip(steps, seconds.tolist(), strict=True)
    }
    return CostModel(dict.fromkeys(names), bundles=bundles, unit="CPU seconds")


def _with_prerequisites(step: str, requires: Mapping[str, Sequence[str]]) -> set[str]:
    """Return a step and all steps that it requires, directly or through others."""
    return {step}.union(*(_with_prerequisites(earlier, requires) for earlier in requires[step]))


UNIT = Pricing(_unit_costs, "no prices are published, so every feature costs 1")
YAHOO = Pricing(
    _yahoo_costs,
    "no prices are published, so they are SYNTHETIC: drawn with a fixed seed from the price classes of the "
    "Yahoo! Learning to Rank features, 1 to 200",
)
STEPS = Pricing(
    _step_costs,
    "all features of a step are bought together, at the mean CPU seconds of the step and of the steps that it "
    "requires; step_cost holds the seconds measured for each row (NaN if they were not recorded)",
)


def turney(groups: Mapping[str, str], requires: Mapping[str, Sequence[str]] | None = None) -> Pricing:
    """Return the pricing of Turney (1995), where the first test of a group also pays the shared cost of the group.

    `groups` maps the letter of each group to the name of its bundle. `requires` lists features that are computed from
    others.
    """

    def build(names: list[str], arrays: dict[str, Any]) -> CostModel:
        first, later, group = (arrays.pop(key) for key in ("cost", "cost_discount", "group"))
        shared = (first - later).round(2)
        members = {title: np.flatnonzero(group == letter).tolist() for letter, title in groups.items()}
        bundles = {title: (columns, shared[columns[0]]) for title, columns in members.items()}
        own = [None if np.isnan(price) else price for price in later.tolist()]  # NaN: computed from other features
        return CostModel(dict(zip(names, own, strict=True)), bundles=bundles, requires=requires, unit="CAD")

    return Pricing(build, "Canadian dollars (Turney 1995); `delayed` marks tests whose result is not available at once")
