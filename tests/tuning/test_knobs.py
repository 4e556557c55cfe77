"""Knobs: settings between two of one curve, cheaper settings, and which settings are on one curve."""

import pytest

from thrifty.tuning.knobs import between, cheaper, curve_of, knob_of


@pytest.mark.parametrize(
    ("first", "second", "middle"),
    [
        ({"cost_weight": 0.01, "charge": "row"}, {"cost_weight": 0.04, "charge": "row"}, 0.02),
        ({"cap": 3.0}, {"cap": 12.0}, 6.0),
        ({"node_budget": [1.0, 2.0]}, {"node_budget": [4.0, 8.0]}, [2.0, 4.0]),
        ({"n_samples": 10}, {"n_samples": 40}, 20),
        ({"cost_weight": 0.0}, {"cost_weight": 0.5}, 0.05),
    ],
)
def test_the_middle_is_the_geometric_mean_and_other_parameters_stay(first, second, middle):
    found = between(first, second)
    assert found[knob_of(first)] == pytest.approx(middle)
    assert {**found, knob_of(first): None} == {**first, knob_of(first): None}
    assert between(second, first) == found


def test_there_is_nothing_between_neighbours_or_without_a_knob():
    assert between({"n_samples": 3}, {"n_samples": 4}) is None
    assert between({"max_depth": 1}, {"max_depth": 3}) is None


@pytest.mark.parametrize(
    ("setting", "moved"),
    [
        ({"cost_weight": 0.1}, {"cost_weight": 0.2}),
        ({"delta": 0.1}, {"delta": 0.2}),
        ({"cap": 8.0}, {"cap": 4.0}),
        ({"max_depth": 2, "node_budget": [8.0, 2.0]}, {"max_depth": 2, "node_budget": [4.0, 1.0]}),
        ({"n_samples": 9}, {"n_samples": 4}),
        ({"cost_weight": 0.0}, None),
        ({"max_depth": 2}, None),
    ],
)
def test_a_cheaper_setting_moves_the_knob_in_its_direction(setting, moved):
    assert cheaper(setting, 2.0) == moved


def test_settings_that_differ_in_the_knob_only_are_on_one_curve():
    assert curve_of("astc", {"node_budget": [1.0, 2.0]}) == curve_of("astc", {"node_budget": [5.0, 5.0]})
    assert curve_of("astc", {"node_budget": [1.0]}) != curve_of("astc", {"node_budget": [1.0, 2.0]})
    assert curve_of("a", {"cost_weight": 1.0, "n": 3}) != curve_of("a", {"cost_weight": 1.0, "n": 10})
    assert curve_of("a", {"cost_weight": 1.0}) != curve_of("b", {"cost_weight": 1.0})
    assert curve_of("a", {"cost_weight": 1.0}) == curve_of("a", {"mean_spend": 40.0})
