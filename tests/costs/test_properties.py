"""Properties of all cost models, compared with exact fractions of reference/costs.py."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.strategies import price_lists, price_lists_and_masks
from reference import costs as reference
from thrifty.costs import CostModel, Ledger


@given(price_lists_and_masks(n_masks=5))
def test_cost_equals_the_reference_exactly(case):
    prices, masks = case
    recount = [float(reference.cost(prices.selected(mask), *prices)) for mask in masks]
    model = prices.model()
    assert model.of(masks).tolist() == recount
    assert [model.of(mask) for mask in masks] == recount
    assert model.total == float(reference.cost(prices.names, *prices))


@given(price_lists_and_masks(n_masks=2))
def test_monotone_submodular_and_zero_for_the_empty_set(case):
    prices, (a, b) = case
    model = prices.model()
    assert model.of(np.zeros_like(a)) == 0
    assert model.of(a & b) <= model.of(a) <= model.of(a | b)
    union, overlap = (round(model.of(mask) * 1000) for mask in (a | b, a & b))
    assert union + overlap <= round(model.of(a) * 1000) + round(model.of(b) * 1000)


@given(price_lists_and_masks(n_masks=4))
def test_marginal_is_the_increase_of_the_cost(case):
    prices, masks = case
    model = prices.model()
    marginal = model.marginal(masks)
    np.testing.assert_array_equal(marginal, [model.marginal(mask) for mask in masks])
    for mask, row in zip(masks, marginal, strict=True):
        for j, name in enumerate(prices.names):
            acquired = prices.selected(mask)
            growth = reference.cost(acquired | {name}, *prices) - reference.cost(acquired, *prices)
            assert row[j] == float(growth)


@given(price_lists(), st.data())
def test_a_ledger_agrees_with_the_model_in_any_order_of_purchase(prices, data):
    model = prices.model()
    ledger, mask = Ledger(model), np.zeros(model.n_features, dtype=bool)
    for feature in data.draw(st.lists(st.integers(0, model.n_features - 1))):
        price = model.marginal(mask)[feature]
        assert ledger.price_of([feature]) == ledger.prices[feature] == price
        paid = model.requirement[mask].any(axis=0)
        units = np.flatnonzero(model.requirement[feature] & ~paid)
        assert ledger.bill(feature) == [(model.unit_names[unit], model.unit_costs[unit]) for unit in units]
        assert ledger.buy(feature) == price
        mask[feature] = True
        assert ledger.spent == model.of(mask)
        np.testing.assert_array_equal(ledger.prices, model.marginal(mask))


@given(price_lists_and_masks(n_masks=2))
def test_a_ledger_prices_several_features_together(case):
    prices, (owned, wanted) = case
    ledger = Ledger(prices.model(), np.flatnonzero(owned))
    acquired = prices.selected(owned)
    growth = reference.cost(acquired | prices.selected(wanted), *prices) - reference.cost(acquired, *prices)
    assert ledger.price_of(np.flatnonzero(wanted)) == float(growth)
    assert ledger.spent == float(reference.cost(acquired, *prices))


@given(price_lists_and_masks(n_masks=3), st.randoms(use_true_random=False))
def test_the_order_of_columns_does_not_matter(case, random):
    prices, masks = case
    order = random.sample(range(masks.shape[1]), masks.shape[1])
    model, shuffled = prices.model(), prices.model(order=order)
    assert shuffled.of(masks[:, order]).tolist() == model.of(masks).tolist()
    np.testing.assert_array_equal(shuffled.marginal(masks[:, order]), model.marginal(masks)[:, order])
    assert model.select(order) == shuffled
    assert CostModel.resolve(model, len(order), shuffled.names) == shuffled


@given(price_lists_and_masks(n_masks=3))
def test_cost_scales_with_the_prices(case):
    prices, masks = case
    np.testing.assert_allclose(prices.model(scale=100).of(masks), 100 * prices.model().of(masks), rtol=1e-15)


@given(price_lists_and_masks(n_masks=3, max_features=5), st.data())
def test_a_derived_feature_costs_its_evaluation_and_the_features_it_reads(case, data):
    prices, reads = case
    model, features, evaluation = prices.model(), prices.names, [1, 2, 3]
    derived = model.derive(reads, evaluation, names=["t0", "t1", "t2"])
    assert derived == model.derive([prices.selected(row) for row in reads], evaluation, names=["t0", "t1", "t2"])
    for bought in itertools.product([False, True], repeat=3):
        read = {features[j] for j in np.flatnonzero(reads[list(bought)].any(axis=0))}
        recount = reference.cost(read, *prices) + int(np.dot(bought, evaluation))
        assert derived.of(bought) == float(recount)


@given(price_lists_and_masks(n_masks=1), st.randoms(use_true_random=False), st.booleans())
def test_selection_keeps_the_cost_of_its_features(case, random, named):
    prices, (mask,) = case
    columns = random.sample(range(len(mask)), random.randint(1, len(mask)))
    model = prices.model()
    if not named:
        model = without_names(model)
    acquired = {prices.names[j] for j in columns if mask[j]}
    assert model.select(columns).of(mask[columns]) == float(reference.cost(acquired, *prices))


@given(price_lists())
def test_declared_values_build_an_equal_model(prices):
    for model in (prices.model(), without_names(prices.model())):
        again = CostModel(model.costs, bundles=model.bundles, requires=model.requires, unit=model.unit)
        assert again == model
        assert hash(again) == hash(model)


DECLARED = st.just(0.0) | st.floats(1e-3, 1e6) | st.decimals(0, 1000, places=3).map(float)


@given(st.lists(DECLARED, min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_sums_of_floats_do_not_depend_on_order_and_are_never_below_the_prices(prices, random):
    model, d = CostModel(prices), len(prices)
    first, second = Ledger(model), Ledger(model, random.sample(range(d), d))
    for feature, price in enumerate(exact_values(prices)[0]):
        assert first.buy(feature) >= float(price)
    assert first.spent == second.spent == model.total == model.of(np.ones(d, dtype=bool))
    assert model.total == pytest.approx(sum(prices), rel=1e-14)


@given(st.lists(DECLARED, min_size=1, max_size=8), st.data())
def test_the_declared_prices_of_what_is_bought_never_exceed_the_cap(prices, data):
    exact_prices, exact = exact_values(prices)
    some = data.draw(st.sets(st.integers(0, len(prices) - 1)))
    near = float(sum((exact_prices[j] for j in some), Fraction(0)))
    cap = max(0.0, data.draw(st.sampled_from([near, np.nextafter(near, np.inf), np.nextafter(near, -np.inf)])))
    ledger, bought = Ledger(CostModel(prices)), set()
    for feature in data.draw(st.permutations([*some, *range(len(prices))])):
        if ledger.affordable(cap)[feature]:
            ledger.buy(feature)
            bought.add(feature)
    true_cost = sum((exact_prices[j] for j in bought), Fraction(0))
    assert true_cost <= exact(ledger.spent)
    assert true_cost <= exact(cap)


def exact_values(prices):
    """Return the exact prices, and a function that reads an amount: as a decimal if all prices are decimals."""
    for places in range(16):
        rounded = [Fraction(round(Fraction(price) * 10**places), 10**places) for price in prices]
        ticks = sum(rounded) * 10**places
        tolerance = 2**-50 if ticks < 2**40 else 0
        near = [abs(float(value) - price) <= tolerance * price for value, price in zip(rounded, prices, strict=True)]
        if ticks < 2**52 and all(near):
            return rounded, lambda amount: Fraction(repr(float(amount)))
    return [Fraction(price) for price in prices], Fraction


def test_a_price_that_has_to_be_rounded_is_rounded_up():
    model = CostModel([3_000_000.0, 1 / 3 * 1e-3])
    assert model.unit_costs[1] > 1 / 3 * 1e-3
    assert not Ledger(model).affordable(1 / 3 * 1e-3)[1]
    assert Ledger(model).affordable(model.unit_costs[1])[1]


def without_names(model):
    place = {name: j for j, name in enumerate(model.names)}
    return CostModel(
        list(model.costs.values()),
        bundles={name: ([place[m] for m in members], price) for name, (members, price) in model.bundles.items()},
        requires={place[name]: [place[other] for other in others] for name, others in model.requires.items()},
        unit=model.unit,
    )
