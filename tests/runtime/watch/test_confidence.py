"""The confidence sequence: its formula, how often it fails, and how soon it finds a mean that is too large."""

import numpy as np
import pytest

from reference.confidence_sequences import empirical_bernstein_bounds
from thrifty.runtime.watch import ConfidenceSequence

ALPHA, LARGEST = 0.05, 40.0
SPENDS = np.array([1.0, 6.0, 21.0, 40.0])
SHARES = np.array([0.45, 0.30, 0.20, 0.05])
PROMISED = SPENDS @ SHARES
EXCESS = 0.2 * PROMISED / (SPENDS[3] - SPENDS[0])  # share of rows that buy everything instead of little: a mean of +20%
SHARES_ABOVE = SHARES + EXCESS * np.array([-1.0, 0.0, 0.0, 1.0])


def sequence_of(values, **options):
    sequence = ConfidenceSequence(**options)
    for value in values:
        sequence.update(value)
    return sequence


def first_alarm(values):
    """Return after how many rows the lower bound exceeds the promise; None if it never does."""
    sequence = ConfidenceSequence(LARGEST, ALPHA, "lower")
    for row, value in enumerate(values.tolist(), start=1):
        sequence.update(value)
        if sequence.lower > PROMISED:
            return row
    return None


@pytest.mark.parametrize(("side", "sides"), [("both", 2), ("lower", 1)])
def test_it_is_the_formula_of_the_paper(side, sides):
    values = np.random.default_rng(0).beta(2, 5, size=80)
    lower, upper = empirical_bernstein_bounds(values, ALPHA, sides)
    sequence = ConfidenceSequence(4.0, ALPHA, side)
    for row, value in enumerate(values):
        sequence.update(4.0 * value)
        assert sequence.lower == pytest.approx(4.0 * lower[row], abs=1e-12)
        assert sequence.upper == pytest.approx(4.0 * upper[row] if side == "both" else 4.0, abs=1e-12)
    assert 0 < sequence.lower < 4.0 * values.mean()


def test_false_alarms_in_all_rows_together_are_at_most_alpha():
    rng = np.random.default_rng(1)
    alarms = [first_alarm(rng.choice(SPENDS, 2000, p=SHARES)) for _ in range(500)]
    share = np.mean([each is not None for each in alarms])
    assert share <= ALPHA + 2.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / 500)


def test_both_bounds_cover_the_mean_in_all_rows_together():
    rng = np.random.default_rng(2)
    kept = []
    for _ in range(200):
        sequence = sequence_of(rng.choice(SPENDS, 500, p=SHARES).tolist(), largest=LARGEST, alpha=ALPHA)
        kept.append(sequence.lower <= PROMISED <= sequence.upper)  # bounds are running extremes: the last ones decide
    assert np.mean(kept) >= 1.0 - ALPHA - 2.0 * np.sqrt(ALPHA * (1.0 - ALPHA) / 200)


def test_a_mean_20_percent_above_the_promise_is_found():
    rng = np.random.default_rng(3)
    assert pytest.approx(1.2 * PROMISED) == SPENDS @ SHARES_ABOVE
    alarms = [first_alarm(rng.choice(SPENDS, 3000, p=SHARES_ABOVE)) for _ in range(100)]
    delays = np.array([np.inf if each is None else each for each in alarms])
    assert np.median(delays) <= 600
    assert np.quantile(delays, 0.9) <= 1500


def test_the_lower_bound_alone_is_larger():
    values = np.random.default_rng(4).choice(SPENDS, 300, p=SHARES).tolist()
    both, lower = (sequence_of(values, largest=LARGEST, side=side) for side in ("both", "lower"))
    assert lower.lower > both.lower


def test_values_above_the_largest_keep_the_lower_bound_below_the_mean():
    values = [1.0] * 900 + [50.0] * 100
    limited = sequence_of(np.random.default_rng(5).permutation(values).tolist(), largest=10.0)
    assert limited.lower < np.minimum(values, 10.0).mean() < np.mean(values)


def test_the_bounds_cross_if_the_mean_changes():
    sequence = sequence_of([0.1] * 3000 + [0.9] * 30000)
    assert sequence.lower > sequence.upper


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"largest": 0.0}, "largest is 0.0; expected a finite number above 0"),
        ({"largest": np.inf}, "largest is inf"),
        ({"alpha": 1.0}, "alpha is 1.0; expected a number between 0 and 1"),
        ({"side": "upper"}, "side is 'upper'; expected 'both' or 'lower'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ConfidenceSequence(**options)


@pytest.mark.parametrize("value", [-1.0, np.nan, np.inf])
def test_bad_values_are_refused(value):
    with pytest.raises(ValueError, match="value is"):
        ConfidenceSequence().update(value)
