"""Bins have about equal weights, and every value is on the correct side of the edges."""

import numpy as np
import pytest

from thrifty.kernels.histograms import MISSING, OTHER
from thrifty.models.growing.binning import Bins

PLAIN = np.zeros(1, dtype=bool)


def bins_of(column, weight=None, max_bins=254, categorical=PLAIN):
    column = np.asarray(column, dtype=float)[:, None]
    weight = np.ones(len(column)) if weight is None else np.asarray(weight, dtype=float)
    return Bins.of(column, weight, max_bins, categorical, np.random.default_rng(0))


@pytest.mark.parametrize("max_bins", [2, 7, 64, 254])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_code_is_the_number_of_edges_below(max_bins, dtype):
    column = np.random.default_rng(0).standard_cauchy(5000).astype(dtype)
    bins = bins_of(column, max_bins=max_bins)
    edges = bins.edges[0, : bins.n_edges[0]]
    assert len(edges) == max_bins - 1
    assert (np.diff(edges) > 0).all()
    np.testing.assert_array_equal(bins.codes(column[:, None]).column(0), np.searchsorted(edges, column.astype(float)))


def test_few_values_have_one_bin_each_with_edges_halfway():
    bins = bins_of([3, 1, 2, 2, 7])
    np.testing.assert_array_equal(bins.edges[0, : bins.n_edges[0]], [1.5, 2.5, 5])


def test_neighbouring_floats_are_separated():
    low = 1.0
    high = np.nextafter(low, 2)
    np.testing.assert_array_equal(bins_of([low, high]).codes(np.array([[low], [high]])).column(0), [0, 1])


def test_a_heavy_value_leaves_bins_for_other_values():
    column = np.concatenate([np.zeros(9000), np.random.default_rng(0).uniform(1, 2, 1000)])
    bins = bins_of(column, max_bins=101)
    counts = np.bincount(bins.codes(column[:, None]).column(0))
    assert len(counts) > 90
    assert counts[1:].max() <= 25


def test_a_weighted_row_equals_repeated_rows():
    random = np.random.default_rng(1)
    column, weight = random.normal(size=800), random.integers(1, 5, size=800)
    np.testing.assert_array_equal(bins_of(column, weight, 20).edges, bins_of(np.repeat(column, weight), None, 20).edges)


def test_zero_is_an_edge_if_signs_differ():
    bins = bins_of(np.random.default_rng(2).normal(size=4000), max_bins=10)
    assert 0.0 in bins.edges[0]


def test_codes_of_missing_rare_and_unknown_values():
    column = np.array([*np.repeat(np.arange(10.0), 5), 77.0, np.nan])
    bins = bins_of(column, max_bins=10, categorical=np.ones(1, dtype=bool))
    codes = bins.codes(np.array([[3.0], [77.0], [500.0], [np.nan]])).column(0)
    np.testing.assert_array_equal(codes, [3, OTHER, OTHER, MISSING])
    assert bins_of([np.nan, 1.0]).codes(np.array([[np.nan]])).column(0)[0] == MISSING


def test_a_column_without_values_has_no_edges():
    assert bins_of([np.nan, np.nan]).n_edges[0] == 0
