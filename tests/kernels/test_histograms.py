"""Histograms and splits, compared with plain loops over rows."""

import numpy as np
import pytest

from thrifty.kernels.histograms import (
    MIN_HESSIAN,
    MISSING,
    OTHER,
    WEIGHT_BITS,
    WEIGHT_MASK,
    Columns,
    SplitRules,
    best_splits,
    can_split,
    category_order,
    fill_histograms,
    pack_rows,
    take_away,
)

N, D = 300, 19
N_BINS = np.array([1, 2, 5, 20, 100, 254] * 4)[:D]
CATEGORICAL = np.arange(D) % 5 == 3

RULES = [SplitRules(1.0, False, 0.0), SplitRules(15.0, False, 5.0), SplitRules(9.0, True, 1.0)]


@pytest.fixture
def columns():
    random = np.random.default_rng(0)
    codes = np.zeros((24, N), dtype=np.uint8)
    codes[:D] = random.integers(0, N_BINS[:, None], (D, N))
    codes[:D][random.random((D, N)) < 0.2] = MISSING
    codes[:D][CATEGORICAL[:, None] & (random.random((D, N)) < 0.1)] = OTHER
    in_blocks = np.ascontiguousarray(codes.reshape(3, 8, N).transpose(0, 2, 1))
    words = in_blocks.view("<u8")[:, :, 0]
    return Columns(words, in_blocks, N_BINS, np.empty((D, 255)), CATEGORICAL, np.arange(D))


def packed_rows(rows, m, seed=1):
    random = np.random.default_rng(seed)
    return pack_rows(rows, random.normal(size=N), random.uniform(0.5, 2, N), random.uniform(0, 0.25, N), m)


def naive_histogram(columns, rows, words, j):
    sums = np.zeros((256, words.shape[1]), dtype=np.int64)
    np.add.at(sums, columns.bytes[j >> 3, rows, j & 7], words)
    return sums


def some_histograms(m):
    return np.random.default_rng(2).integers(-(2**40), 2**40, (24, 256, m))  # what another tree has left


def read(histogram, j):
    """Return the part of the histogram (256, m) of feature j that is read."""
    return histogram[[*range(N_BINS[j]), MISSING]]


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("features", [np.arange(D), np.array([0, 1, 2, 9, 10, 18]), np.array([3, 17])])
def test_histograms_equal_sums_over_rows(columns, features, m):
    rows = np.random.default_rng(3).permutation(N)[:100].astype(np.uint32)
    words, histogram = packed_rows(rows, m).words, some_histograms(m)
    fill_histograms(columns, rows, words, features, histogram)
    for j in features:
        np.testing.assert_array_equal(read(histogram[j], j), read(naive_histogram(columns, rows, words, j), j))


@pytest.mark.parametrize("m", [1, 2])
def test_the_histogram_of_a_child_is_that_of_the_parent_minus_that_of_its_sibling(columns, m):
    rows, features = np.arange(N, dtype=np.uint32), np.array([0, 4, 5, 8])
    words = packed_rows(rows, m).words
    parent, left, right = some_histograms(m), some_histograms(m), some_histograms(m)
    for histogram, part in ((parent, slice(None)), (left, slice(70)), (right, slice(70, None))):
        fill_histograms(columns, rows[part], words[part], features, histogram)
    take_away(parent, left, features, N_BINS)
    for j in features:
        np.testing.assert_array_equal(read(parent[j], j), read(right[j], j))


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("n_rows", [3, 40, N])
@pytest.mark.parametrize(
    "rules", [SplitRules(1.0, False, 0.0), SplitRules(15.0, False, 5.0), SplitRules(9.0, True, 1.0)]
)
def test_the_best_split_of_every_feature_is_found(columns, rules, n_rows, m):
    rows = np.random.default_rng(n_rows).permutation(N)[:n_rows].astype(np.uint32)
    packed, histogram, found = packed_rows(rows, m), some_histograms(m), np.empty((D, 3))
    fill_histograms(columns, rows, packed.words, np.arange(D), histogram)
    total = packed.words.sum(axis=0)
    best_splits(histogram, total, columns, np.arange(D), packed.scales, rules, found)
    for j in range(D):
        gain, position, missing_left = naive_split(histogram[j], N_BINS[j], total, CATEGORICAL[j], packed.scales, rules)
        assert found[j, 0] == pytest.approx(gain, rel=1e-9)
        assert (found[j, 1], found[j, 2]) == (position, missing_left)
    if np.isfinite(found[:, 0]).any():
        assert can_split(total, packed.scales, rules)


def naive_split(histogram, n_bins, total, is_categorical, scales, rules):
    """Try every position, also those after empty bins, with missing values on both sides."""
    order = np.arange(n_bins)
    if is_categorical:
        order = np.empty(256, dtype=np.int64)
        order = order[: category_order(histogram, n_bins, scales, order)]
    G, W, H = sums_of(total, scales)
    n_missing = sums_of(histogram[MISSING], scales)[1]
    least_H = max(rules.min_rows / W * H * (1 - 1e-9), MIN_HESSIAN)
    least_W = 0.0 if rules.by_hessian else rules.min_rows * (1 - 1e-9)
    best = -np.inf, -1, 0
    for missing_left in (0, 1) if n_missing > 0 else (0,):
        for position in range(len(order)):
            left = histogram[order[: position + 1]].sum(axis=0) + missing_left * histogram[MISSING]
            (G_l, W_l, H_l), (G_r, W_r, H_r) = sums_of(left, scales), sums_of(total - left, scales)
            if min(W_l, W_r) < least_W or min(H_l, H_r) < least_H or min(H_l, H_r) <= 0:
                continue
            after = G_l**2 / (H_l + rules.ridge) + G_r**2 / (H_r + rules.ridge)
            gain = 0.5 * (after - G**2 / (H + rules.ridge))
            if gain > best[0] + 1e-9 * abs(gain):
                best = gain, position, missing_left if n_missing > 0 else int(2 * W_l >= W)
    return best


def sums_of(words, scales):
    """Return G, W and H of a sum of words."""
    weight = int(words[0]) & WEIGHT_MASK
    W = weight / scales[1]
    return (int(words[0]) >> WEIGHT_BITS) / scales[0], W, int(words[1]) / scales[2] if len(words) == 2 else W


def test_a_node_with_less_than_two_leaves_cannot_be_split(columns):
    rows = np.arange(10, dtype=np.uint32)
    packed = pack_rows(rows, np.ones(N), np.ones(N), np.ones(N), 1)
    total = packed.words.sum(axis=0)
    assert can_split(total, packed.scales, SplitRules(5.0, False, 0.0))
    assert not can_split(total, packed.scales, SplitRules(5.1, False, 0.0))
    assert not can_split(total, packed.scales, SplitRules(5.1, True, 0.0))


@pytest.mark.parametrize("m", [1, 2])
def test_words_hold_rounded_derivatives_and_their_sums_fit(m):
    rows = np.array([5, 2, 250], dtype=np.uint32)
    random = np.random.default_rng(1)
    gradient, weight, hessian = random.normal(size=N), random.uniform(0.5, 2, N), random.uniform(0, 0.25, N)
    packed = pack_rows(rows, gradient, weight, hessian, m)
    assert packed.words.shape == (3, m)
    for word, row in zip(packed.words, rows, strict=True):
        G, W, H = sums_of(word, packed.scales)
        assert (pytest.approx(gradient[row], abs=1e-8), pytest.approx(weight[row], abs=1e-7)) == (G, W)
        assert pytest.approx(hessian[row] if m == 2 else weight[row], abs=1e-7) == H
    sums = packed.abs_gradient, packed.squared_gradient, packed.weight, packed.hessian
    expected = abs(gradient[rows]).sum(), (gradient[rows] ** 2).sum(), weight[rows].sum(), hessian[rows].sum()
    np.testing.assert_allclose(sums, expected)
    for total, scale, bits in zip((sums[0], sums[2], sums[3]), packed.scales, (32, 29, 61), strict=True):
        assert 2 ** (bits - 1) < total * scale <= 2**bits
