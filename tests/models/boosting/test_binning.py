"""Bins: every value on the right side of its edges, in bins of about the same weight."""

import numpy as np
import pytest

from thrifty.kernels.histograms import MISSING, OTHER
from thrifty.models.boosting.binning import Bins

PLAIN = np.zeros(1, dtype=bool)


def bins_of(column, weight=None, max_bins=254, categorical=PLAIN):
    column = np.asarray(column, dtype=float)[:, None]
    weight = np.ones(len(column)) if weight is None else np.asarray(weight, dtype=float)
    return Bins.of(column, weight, max_bins, categorical, np.random.default_rng(0))


@pytest.mark.parametrize("max_bins", [2, 7, 64, 254])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_code_counts_the_edges_below(max_bins, dtype):
    column = np.random.default_rng(0).standard_cauchy(5000).astype(dtype)
    bins = bins_of(column, max_bins=max_bins)
    edges = bins.edges[0, : bins.n_edges[0]]
    assert len(edges) == max_bins - 1
    assert (np.diff(edges) > 0).all()
    np.testing.assert_array_equal(bins.codes(column[:, None]).column(0), np.searchsorted(edges, column.astype(float)))


def test_few_values_have_a_bin_each_halfway_between():
    bins = bins_of([3, 1, 2, 2, 7])
    np.testing.assert_array_equal(bins.edges[0, : bins.n_edges[0]], [1.5, 2.5, 5])


def test_neighbouring_floats_are_parted():
    low = 1.0
    high = np.nextafter(low, 2)
    np.testing.assert_array_equal(bins_of([low, high]).codes(np.array([[low], [high]])).column(0), [0, 1])


def test_heavy_values_leave_room_to_others():
    column = np.concatenate([np.zeros(9000), np.random.default_rng(0).uniform(1, 2, 1000)])
    bins = bins_of(column, max_bins=101)
    counts = np.bincount(bins.codes(column[:, None]).column(0))
    assert len(counts) > 90
    assert counts[1:].max() <= 25


def test_a_weight_is_so_many_rows():
    random = np.random.default_rng(1)
    column, weight = random.normal(size=800), random.integers(1, 5, size=800)
    np.testing.assert_array_equal(bins_of(column, weight, 20).edges, bins_of(np.repeat(column, weight), None, 20).edges)


def test_signs_are_parted():
    bins = bins_of(np.random.default_rng(2).normal(size=4000), max_bins=10)
    assert 0.0 in bins.edges[0]


def test_missing_rare_and_unknown():
    column = np.array([*np.repeat(np.arange(10.0), 5), 77.0, np.nan])
    bins = bins_of(column, max_bins=10, categorical=np.ones(1, dtype=bool))
    codes = bins.codes(np.array([[3.0], [77.0], [500.0], [np.nan]])).column(0)
    np.testing.assert_array_equal(codes, [3, OTHER, OTHER, MISSING])
    assert bins_of([np.nan, 1.0]).codes(np.array([[np.nan]])).column(0)[0] == MISSING


def test_an_empty_column():
    assert bins_of([np.nan, np.nan]).n_edges[0] == 0
