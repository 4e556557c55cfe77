"""Hypothesis strategies for cost models. Prices are fractions, so that reference/costs.py computes exact costs."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from hypothesis import strategies as st

from thrifty.costs import CostModel


class PriceList(NamedTuple):
    costs: dict
    bundles: dict
    requires: dict

    @property
    def names(self):
        return list(self.costs)

    def model(self, scale=1, order=None):
        """Return the CostModel, with all prices multiplied by `scale` and the features in the given order."""
        names = self.names if order is None else [self.names[j] for j in order]
        return CostModel(
            {name: _float(self.costs[name], scale) for name in names},
            bundles={name: (members, _float(price, scale)) for name, (members, price) in self.bundles.items()},
            requires=self.requires,
            unit="CAD",
        )

    def selected(self, mask):
        """Return the names of the features where a mask is True."""
        return {name for name, acquired in zip(self.names, mask, strict=True) if acquired}


def _float(price, scale):
    return None if price is None else float(price * scale)


PRICES = st.integers(0, 3).flatmap(lambda places: st.integers(0, 99_999).map(lambda ticks: Fraction(ticks, 10**places)))


@st.composite
def price_lists(draw, max_features=7):
    names = [f"f{j}" for j in range(draw(st.integers(1, max_features)))]
    some = st.lists(st.sampled_from(names), unique=True, min_size=1, max_size=min(3, len(names)))
    bundles = draw(st.dictionaries(st.sampled_from(["b0", "b1", "b2"]), st.tuples(some, PRICES)))
    requires = draw(st.dictionaries(st.sampled_from(names), some, max_size=3))
    in_bundle = {member for members, _ in bundles.values() for member in members}
    costs = {name: draw(PRICES | st.none() if name in in_bundle else PRICES) for name in names}
    return PriceList(costs, bundles, requires)


@st.composite
def price_lists_and_masks(draw, n_masks=1, **options):
    prices = draw(price_lists(**options))
    d = len(prices.costs)
    rows = draw(st.lists(st.lists(st.booleans(), min_size=d, max_size=d), min_size=n_masks, max_size=n_masks))
    return prices, np.array(rows)
