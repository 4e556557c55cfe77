"""Bins of many rows: the sample is merged in any order, and ranks are as accurate as stated."""

import numpy as np
import pytest

from thrifty.models.growing import binning
from thrifty.models.growing.binning import Bins, sampled_rows
from thrifty.models.homes import positions_in_blocks

SIZE, N_ROWS = 1_000, 20_000
NUMBERS = np.zeros(1, dtype=bool)  # the only column is not categorical


@pytest.fixture(autouse=True)
def smaller_sample(monkeypatch):
    monkeypatch.setattr(binning, "MAX_ROWS", SIZE)


@pytest.mark.parametrize("weighted", [False, True])
def test_samples_of_blocks_can_be_merged_in_any_order(weighted):
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=N_ROWS), random.integers(0, 9, N_ROWS), random.integers(0, 300, N_ROWS)])
    X[random.random(X.shape) < 0.1] = np.nan
    weight = random.integers(1, 4, N_ROWS).astype(float) if weighted else np.ones(N_ROWS)
    categorical = np.array([False, False, True])
    whole = Bins.of(X, weight, 254, categorical, np.random.default_rng(7))
    for n_blocks in (1, 2, 17, 300):
        ends = np.sort(random.integers(0, N_ROWS, n_blocks - 1))  # some blocks may be empty
        chosen = positions_in_blocks(sampled_rows(N_ROWS, np.random.default_rng(7)), np.diff([0, *ends, N_ROWS]))
        blocks = zip(np.split(X, ends), np.split(weight, ends), chosen.values, strict=True)
        parts = [(values[rows], weights[rows]) for values, weights, rows in blocks]
        random.shuffle(parts)
        while len(parts) > 1:  # any two, again and again
            one, other = parts.pop(random.integers(len(parts))), parts.pop(random.integers(len(parts)))
            parts.append(tuple(np.concatenate(pair) for pair in zip(one, other, strict=True)))
        merged = Bins.of_sample(*parts[0], 254, categorical)
        np.testing.assert_array_equal(merged.edges, whole.edges)
        np.testing.assert_array_equal(merged.categories[2], whole.categories[2])


def test_ranks_of_edges_are_as_accurate_as_stated():
    """The error at all edges of a column is above sqrt(log(2 / p) / (2 s)) with probability p or less."""
    values = np.arange(N_ROWS, dtype=float)[:, None]  # the share of rows below an edge is the edge / N_ROWS
    errors = []
    for seed in range(200):
        edges = Bins.of(values, np.ones(N_ROWS), 100, NUMBERS, np.random.default_rng(seed)).edges[0]
        edges = edges[np.isfinite(edges)]
        assert len(edges) == 99
        drawn = sampled_rows(N_ROWS, np.random.default_rng(seed))
        errors.append(abs(np.searchsorted(drawn, edges) / SIZE - edges / N_ROWS).max())
    for p in (0.5, 0.1, 0.01):
        n_above = np.sum(errors > np.sqrt(np.log(2 / p) / (2 * SIZE)))
        assert n_above <= 200 * p + 3 * np.sqrt(200 * p * (1 - p))
    assert np.median(errors) > 0.5 * np.sqrt(np.log(2 / 0.5) / (2 * SIZE))  # and the bound is not far away
