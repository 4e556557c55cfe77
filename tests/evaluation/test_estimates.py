"""Standard errors and intervals, compared with plain formulas and with repeated samples."""

import math

import numpy as np
import pytest
from scipy import stats

from thrifty.evaluation.estimates import Estimate, jackknife, mean_error, share_estimate


def test_the_error_of_a_mean_of_rows_is_the_usual_one():
    values = np.random.default_rng(0).normal(size=40)
    assert mean_error(values, np.arange(40)) == pytest.approx(values.std(ddof=1) / math.sqrt(40))
    assert math.isnan(mean_error(np.ones(1), np.zeros(1, dtype=int)))


def test_rows_of_one_query_count_as_one_unit():
    values, units = np.repeat([1.0, 4.0, 9.0], 10), np.repeat([0, 1, 2], 10)
    assert mean_error(values, units) == pytest.approx(np.std([1, 4, 9], ddof=1) / math.sqrt(3))


def test_wilsons_interval():
    found = share_estimate(0.8, 70, 0.95)
    expected = stats.binomtest(56, 70).proportion_ci(0.95, method="wilson")
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))
    assert share_estimate(1.0, 20, 0.95).low < 0.9  # all correct is not certain
    assert share_estimate(1.0, 20, 0.95).high == 1.0


def test_the_jackknife_of_a_mean_is_its_error():
    values = np.random.default_rng(1).normal(size=20)
    found = jackknife(lambda index: float(values[index].mean()), np.arange(20), 0.95)
    assert found.error == pytest.approx(values.std(ddof=1) / math.sqrt(20))
    assert (found.low + found.high) / 2 == pytest.approx(found.value) == pytest.approx(values.mean())
    assert found.high - found.value == pytest.approx(stats.t.ppf(0.975, 19) * found.error)


def test_the_jackknife_covers_a_ratio_as_often_as_it_says():
    random, covered = np.random.default_rng(2), 0
    for _ in range(300):
        x, y = random.gamma(2.0, size=(2, 200)) + 1.0
        found = jackknife(lambda index, x=x, y=y: float(y[index].mean() / x[index].mean()), np.arange(200), 0.9)
        covered += found.low <= 1.0 <= found.high
    assert stats.binomtest(covered, 300, 0.9).pvalue > 1e-3


def test_a_statistic_that_is_not_defined_without_a_group_has_no_error():
    def refuse_half(index):
        if len(index) < 20:
            raise ValueError("too few")
        return 0.5

    assert jackknife(refuse_half, np.arange(20), 0.95).value == 0.5
    assert math.isnan(jackknife(refuse_half, np.arange(20), 0.95).error)
    assert math.isnan(Estimate.student(1.0, math.nan, 5, 0.95).low)
