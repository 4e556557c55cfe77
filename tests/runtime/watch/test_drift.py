"""Drift: the p-value, the levels of the windows, and what is found."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from thrifty.runtime import Call, Result, Step, Trace
from thrifty.runtime.watch import ColumnReference, DriftTest, Reference
from thrifty.runtime.watch.drift import p_value

AGE = ColumnReference("age", "number", (30.0, 50.0), (), (400, 300, 200, 100))
REFERENCE = Reference("Model", 1000, 2.0, 3.0, {0: 600, 1: 400}, {"age": AGE})


def row(exit_, values=None):
    calls = () if values is None else (Call("crm", tuple(values), "ok", 1.0, 0.0, 0.01, 1, 1, "", values),)
    return Result(0, 1, None, 0.5, 2.0, 0.0, False, exit_, "done", "Model", Trace(0, (Step((), 1.0, "", calls),)))


def found(test, rows):
    return [drift for each in rows for drift in test.update(each)]


def like_reference(rng, n, ages=(20.0, 40.0, 60.0, None), shares=(0.4, 0.3, 0.2, 0.1)):
    exits = rng.choice(2, n, p=[0.6, 0.4]).tolist()
    return [row(exit_, {"age": ages[k]}) for exit_, k in zip(exits, rng.choice(4, n, p=shares), strict=True)]


def test_the_p_value_is_that_of_the_likelihood_ratio():
    reference, window = [500, 300, 200], [120, 90, 40]
    expected = chi2_contingency([reference, window], correction=False, lambda_="log-likelihood").pvalue
    assert p_value(reference, window) == pytest.approx(expected, rel=0.02)  # the correction of Williams is small here


def test_p_values_are_uniform_if_nothing_changed():
    rng = np.random.default_rng(0)
    shares = [0.5, 0.2, 0.1, 0.1, 0.05, 0.03, 0.02]
    counts = zip(rng.multinomial(2000, shares, 3000), rng.multinomial(500, shares, 3000), strict=True)
    p_values = np.array([p_value(*each) for each in counts])
    for level in (0.01, 0.05, 0.25):
        assert (p_values <= level).mean() == pytest.approx(level, abs=3.5 * np.sqrt(level * (1 - level) / 3000))


def test_small_bins_are_pooled():
    assert p_value([500, 500, 1, 1, 1], [50, 50, 0, 1, 0]) == p_value([500, 500 + 3], [50, 50 + 1])
    assert p_value([500, 500, 20, 20, 20], [50, 50, 2, 2, 2]) == p_value([500, 500, 60], [50, 50, 6])
    assert p_value([990, 10], [99, 1]) == 1.0  # one bin is left
    assert p_value([0, 0], [50, 50]) == 1.0


def test_a_new_bin_is_found():
    assert p_value([1000, 0], [0, 500]) < 1e-100


def test_no_false_alarm_and_the_levels_of_windows():
    test = DriftTest(REFERENCE, window=200)
    assert found(test, like_reference(np.random.default_rng(1), 4000)) == []
    assert test.n_windows == 20


def test_false_alarms_of_all_windows_together_are_at_most_alpha():
    rng = np.random.default_rng(2)
    alarmed = []
    for _ in range(300):  # a new reference each time, because one reference is either lucky or not
        counts = rng.multinomial(1000, [0.4, 0.3, 0.2, 0.1]).tolist()
        first = int(rng.binomial(1000, 0.6))
        column = ColumnReference("age", "number", (30.0, 50.0), (), tuple(counts))
        reference = Reference("Model", 1000, 2.0, 3.0, {0: first, 1: 1000 - first}, {"age": column})
        alarmed.append(bool(found(DriftTest(reference, alpha=0.1, window=100), like_reference(rng, 500))))
    assert np.mean(alarmed) <= 0.1 + 2.0 * np.sqrt(0.1 * 0.9 / 300)


def test_values_that_changed_are_found_in_the_window_in_which_they_did():
    rng = np.random.default_rng(3)
    changed = like_reference(rng, 500, shares=(0.1, 0.3, 0.5, 0.1))
    drifts = found(DriftTest(REFERENCE), like_reference(rng, 500) + changed)
    assert [(each.name, each.window) for each in drifts] == [("age", 2)]
    assert drifts[0].p_value < 1e-10


def test_values_that_became_unavailable_are_found():
    rng = np.random.default_rng(4)
    drifts = found(DriftTest(REFERENCE), like_reference(rng, 500, shares=(0.3, 0.2, 0.1, 0.4)))
    assert [each.name for each in drifts] == ["age"]


def test_exits_that_changed_are_found_also_new_ones():
    assert [each.name for each in found(DriftTest(REFERENCE), [row(1)] * 500)] == ["exits"]
    assert [each.name for each in found(DriftTest(REFERENCE), [row(7)] * 500)] == ["exits"]


@pytest.mark.parametrize("values", [None, {"age": 99.0}])
def test_a_column_that_few_rows_bought_is_not_tested(values):
    rows = [row(k % 5 >= 3, values if k < 49 else None) for k in range(500)]
    assert found(DriftTest(REFERENCE), rows) == []


def test_a_later_window_has_a_smaller_level():
    counts = np.array([300, 200]) + np.array([-40, 40])  # p-value about 0.003
    window = [row(0)] * counts[0] + [row(1)] * counts[1]
    usual = [row(0)] * 300 + [row(1)] * 200
    p = p_value([600, 400], counts)
    assert 0.05 * 6 / np.pi**2 > p > 0.05 * 6 / (np.pi * 4) ** 2
    assert found(DriftTest(REFERENCE), window)
    assert not found(DriftTest(REFERENCE), usual * 3 + window)
