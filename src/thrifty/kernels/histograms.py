"""Gradient histograms, and the best split of every feature computed from them.

The gradient and the weight of a row are whole numbers in one 64-bit word, so that one addition adds both:

    word  =  gradient * 2^30  +  weight          weights are >= 0, and their total is less than 2^30

Sums of whole numbers do not depend on the order. Therefore histograms do not depend on the number of threads, the
histogram of a child is exactly that of its parent minus that of its sibling, and ties between features are exact. A
loss whose second derivative (Hessian) is not equal to the weight stores it in a second word.

    m    words of a row: 1, or 2 with a Hessian
    d    features, rounded up to a multiple of eight. The codes of a row in a block of eight features are the bytes of
         one 64-bit number, shape (d / 8, n). One load serves eight histograms, which together fit in the L1 cache
    G    sum of gradients        H    sum of Hessians (of weights if m = 1)        W    sum of weights
"""

from typing import NamedTuple

import numpy as np
from numba import njit

WEIGHT_BITS = 30  # of a word
WEIGHT_MASK = 2**WEIGHT_BITS - 1  # word & WEIGHT_MASK is the weight
N_CODES = 256
MISSING = 255  # code of a missing value; bins have smaller codes
OTHER = 254  # code of all categories that are too rare to have their own; always goes right

IN_CACHE = 50_000  # the codes of one block of so many rows fit in the L2 cache
SCATTERED = 6  # the rows of a node are scattered if the node has less than 1 / SCATTERED of all rows
MIN_HESSIAN = 1e-3  # of a leaf; with a smaller one, the error of a single row would cause a very large step
SMOOTHING = 10.0  # Hessian that is added to every category, which shrinks the steps of rare categories

_BYTE = np.uint64(255)
_U = np.uint64  # Numba checks whether a signed index is negative, which here takes as long as the addition itself


class Columns(NamedTuple):
    """The coded columns of the training rows.

    Attributes
    ----------
    words : ndarray of uint64, shape (d / 8, n)
        The codes of each block of eight columns.
    bytes : ndarray of uint8, shape (d / 8, n, 8)
        The same codes.
    n_bins : ndarray of int, shape (n_features,)
        The number of bins of each column.
    edges : ndarray of shape (n_features, 255)
        A split at position b of column j has the threshold ``edges[j, b]``.
    categorical : ndarray of bool, shape (n_features,)
    tie_rank : ndarray of int, shape (n_features,)
        If columns gain the same, the one with the smallest rank is split.
    """

    words: np.ndarray
    bytes: np.ndarray
    n_bins: np.ndarray
    edges: np.ndarray
    categorical: np.ndarray
    tie_rank: np.ndarray


class SplitRules(NamedTuple):
    """Which splits are allowed; see `best_splits`."""

    min_rows: float
    by_hessian: bool
    ridge: float


class Packed(NamedTuple):
    """Rows as words (n, m), the scales (3,) of gradients, weights and Hessians in them, and sums over the rows."""

    words: np.ndarray
    scales: np.ndarray
    abs_gradient: float
    squared_gradient: float
    weight: float
    hessian: float


@njit(cache=True, nogil=True)
def pack_rows(rows, gradient, weight, hessian, m):
    """Pack the derivatives of some rows into words, scaled by powers of two so that their sums just fit."""
    G_abs, G_squared, W, H = derivative_sums(rows, gradient, weight, hessian)
    scales = word_scales(G_abs, W, H)
    return Packed(packed_words(rows, gradient, weight, hessian, scales, m), scales, G_abs, G_squared, W, H)


@njit(cache=True, nogil=True)
def derivative_sums(rows, gradient, weight, hessian):
    """Return the sums of |gradients|, of their squares, of weights and of Hessians over some rows."""
    G_abs, G_squared, W, H = 0.0, 0.0, 0.0, 0.0
    for r in range(rows.size):
        i = _U(rows[r])
        G_abs += abs(gradient[i])
        G_squared += gradient[i] ** 2
        W += weight[i]
        H += hessian[i]
    return G_abs, G_squared, W, H


@njit(cache=True, nogil=True)
def word_scales(G_abs, W, H):
    """Return the powers of two by which gradients, weights and Hessians are multiplied, given the sums of all rows."""
    return np.array([_scale(G_abs, 32), _scale(W, 29), _scale(H, 61)])


@njit(cache=True, nogil=True)
def packed_words(rows, gradient, weight, hessian, scales, m):
    """Return the words (n, m) of some rows."""
    words = np.empty((rows.size, m), np.int64)
    for r in range(rows.size):
        i = _U(rows[r])
        scaled_gradient = np.int64(np.rint(gradient[i] * scales[0]))
        words[r, 0] = scaled_gradient * (WEIGHT_MASK + 1) + np.int64(np.rint(weight[i] * scales[1]))
        if m == 2:
            words[r, 1] = np.int64(np.rint(hessian[i] * scales[2]))
    return words


@njit(cache=True, nogil=True)
def _scale(total, bits):
    """Return the largest power of two by which a sum can be multiplied so that it stays below 2^bits."""
    return 2.0 ** np.floor(bits - np.log2(total)) if total > 0 else 1.0


@njit(cache=True, nogil=True)
def fill_histograms(columns, rows, words, features, histogram):
    """Write the sums of the words of some rows by code into the histograms (d, 256, m) of some features.

    `words` has the order of `rows`. Only the codes of bins and of missing values are written.
    """
    for j in features:
        histogram[j, : columns.n_bins[j]] = 0
        histogram[j, MISSING] = 0
    blocks = _blocks(features)
    if len(features) < 2 * len(blocks):  # single columns are faster than whole blocks
        _add_columns(columns.bytes, rows, words, features, histogram)
    else:
        _add_blocks(columns.words, rows, words, blocks, histogram)


@njit(cache=True, nogil=True)
def _blocks(features):
    """Return the blocks of some features, which are in ascending order."""
    blocks, n_blocks = np.empty(len(features), np.int64), 0
    for j in features:
        if n_blocks == 0 or blocks[n_blocks - 1] != j >> 3:
            blocks[n_blocks] = j >> 3
            n_blocks += 1
    return blocks[:n_blocks]


@njit(cache=True, nogil=True)
def _add_blocks(codes, rows, words, blocks, histogram):
    """Add words to the histograms of all features of some blocks.

    If the rows are scattered over much memory, their codes are first copied together: memory accesses of a simple copy
    overlap, but accesses between additions do not.
    """
    scattered = codes.shape[1] > IN_CACHE and SCATTERED * rows.size < codes.shape[1]
    positions = np.arange(rows.size).astype(np.uint32) if scattered else rows
    gathered = np.empty(rows.size if scattered else 0, np.uint64)
    for block in blocks:
        block_codes = codes[block]
        if scattered:
            for r in range(rows.size):
                gathered[_U(r)] = block_codes[_U(rows[_U(r)])]
            block_codes = gathered
        if words.shape[1] == 1:
            _add_words(block_codes, positions, words, histogram[8 * block : 8 * block + 8])
        else:
            for half in range(2):
                first = 8 * block + 4 * half
                _add_pairs(block_codes, _U(32 * half), positions, words, histogram[first : first + 4])


@njit(cache=True, nogil=True)
def _add_words(block_codes, positions, words, histogram):
    """Add to eight histograms at once; additions to different histograms do not have to wait for each other."""
    sums = histogram.reshape(8 * N_CODES)
    for r in range(positions.size):
        code, word = block_codes[_U(positions[_U(r)])], words[_U(r), 0]
        sums[code & _BYTE] += word
        sums[_U(256) + ((code >> _U(8)) & _BYTE)] += word
        sums[_U(512) + ((code >> _U(16)) & _BYTE)] += word
        sums[_U(768) + ((code >> _U(24)) & _BYTE)] += word
        sums[_U(1024) + ((code >> _U(32)) & _BYTE)] += word
        sums[_U(1280) + ((code >> _U(40)) & _BYTE)] += word
        sums[_U(1536) + ((code >> _U(48)) & _BYTE)] += word
        sums[_U(1792) + (code >> _U(56))] += word


@njit(cache=True, nogil=True)
def _add_pairs(block_codes, shift, positions, words, histogram):
    """Add to four histograms of two words, which take as much memory as eight histograms of one word."""
    sums, one = histogram.reshape(8 * N_CODES), _U(1)
    for r in range(positions.size):
        code = block_codes[_U(positions[_U(r)])] >> shift
        word, hessian = words[_U(r), 0], words[_U(r), 1]
        a, b = (code & _BYTE) << one, (_U(256) + ((code >> _U(8)) & _BYTE)) << one
        c, d = (_U(512) + ((code >> _U(16)) & _BYTE)) << one, (_U(768) + ((code >> _U(24)) & _BYTE)) << one
        sums[a] += word
        sums[a + one] += hessian
        sums[b] += word
        sums[b + one] += hessian
        sums[c] += word
        sums[c + one] += hessian
        sums[d] += word
        sums[d + one] += hessian


@njit(cache=True, nogil=True)
def _add_columns(codes, rows, words, features, histogram):
    """Add words to the histograms of a few features."""
    for j in features:
        for r in range(rows.size):
            code = codes[_U(j >> 3), _U(rows[_U(r)]), _U(j & 7)]
            for m in range(words.shape[1]):
                histogram[j, code, m] += words[_U(r), m]


@njit(cache=True, nogil=True)
def take_away(histogram, sibling, features, n_bins):
    """Subtract the histogram of one child from that of its parent, which gives the histogram of the other child."""
    for j in features:
        for m in range(histogram.shape[2]):
            for b in range(n_bins[j]):
                histogram[j, b, m] -= sibling[j, b, m]
            histogram[j, MISSING, m] -= sibling[j, MISSING, m]


@njit(cache=True, nogil=True)
def can_split(total, scales, rules):
    """Return whether a node has enough weight for two leaves; `total` (m,) is the sum of its words."""
    W, H = _weight_and_hessian(total)
    least_W, least_H = _least_of_side(total, scales, rules)
    return 2.0 * least_W <= W and 2.0 * least_H <= H


@njit(cache=True, nogil=True)
def best_splits(histogram, total, columns, features, scales, rules, found):
    """Write the best split of some features into `found` (d, 3): its gain, its position, and 1 if NaN goes left.

    A split at position b sends codes 0..b left. For a categorical feature it sends the first b + 1 categories left, in
    the order of `category_order`. The gain is the decrease of the quadratic approximation of the loss, summed over the
    rows; it is -inf if no split is allowed:

        gain = 1/2 * (G_left^2 / (H_left + ridge) + G_right^2 / (H_right + ridge) - G^2 / (H + ridge))

    Both sides must have a weight of at least `min_rows`, and at least the same share of H of the node: a leaf of rows
    with Hessians close to 0 would take a very large step. With `by_hessian`, only the share of H counts.
    """
    order = np.empty(N_CODES, np.int64)
    least, H_scale = _least_of_side(total, scales, rules), scales[total.size]
    gain_unit, ridge = 0.5 * H_scale / scales[0] ** 2, rules.ridge * H_scale
    for j in features:
        found[j, 0], found[j, 1], found[j, 2] = -np.inf, -1.0, 0.0
        if columns.categorical[j]:
            n_positions = category_order(histogram[j], columns.n_bins[j], scales, order)
        else:
            n_positions = _distinct_positions(histogram[j], columns.n_bins[j], order)
        some_missing = (histogram[j, MISSING, 0] & WEIGHT_MASK) > 0
        _scan(histogram[j], total, order, n_positions, least, ridge, False, not some_missing, found[j])
        if some_missing:
            _scan(histogram[j], total, order, n_positions, least, ridge, True, False, found[j])
        found[j, 0] *= gain_unit
        if found[j, 1] >= 0 and not columns.categorical[j]:
            found[j, 1] = order[int(found[j, 1])]


@njit(cache=True, nogil=True)
def _distinct_positions(histogram, n_bins, order):
    """Write the bins that are not empty; return their number.

    A split after an empty bin is the same as one before it, except after the first bin if missing values go left.
    """
    n_positions = 0
    for b in range(n_bins):
        order[n_positions] = b  # without a branch, which the processor could not predict
        content = histogram[b, 0] | (histogram[b, 1] if histogram.shape[1] == 2 else 0)
        n_positions += content != 0 or b == 0
    return n_positions


@njit(cache=True, nogil=True)
def _weight_and_hessian(total):
    """Return W and H of a sum of words."""
    W = total[0] & WEIGHT_MASK
    return W, (total[1] if total.size == 2 else W)


@njit(cache=True, nogil=True)
def _least_of_side(total, scales, rules):
    """Return the least W and H of each side of a split of a node."""
    W, H = _weight_and_hessian(total)
    slack = 1.0 - 1e-9  # tolerates rounding errors
    least_W = 0.0 if rules.by_hessian else rules.min_rows * scales[1] * slack
    return least_W, max(rules.min_rows * scales[1] / W * H * slack, MIN_HESSIAN * scales[total.size], 1.0)


@njit(cache=True, nogil=True)
def _scan(histogram, total, order, n_positions, least, ridge, missing_left, by_weight, found):
    """Try every position of a split, with missing values on the given side; `least` are the least W and H of a side.

    `by_weight` means that the node has no missing values; then NaN will go to the side with more weight. Gains are in
    the integer units of the words and without the factor 1/2, which the caller applies.
    """
    has_hessian = histogram.shape[1] == 2
    word, hessian = 0, 0  # sums of the left side
    if missing_left:
        word = histogram[MISSING, 0]
        hessian = histogram[MISSING, 1] if has_hessian else 0
    G, W = float(total[0] >> WEIGHT_BITS), float(total[0] & WEIGHT_MASK)
    H = float(total[1]) if has_hessian else W
    before = G * G / (H + ridge) if H + ridge > 0 else 0.0
    best, best_position, W_best = found[0], -1, 0.0
    for position in range(n_positions):
        word += histogram[order[position], 0]
        if has_hessian:
            hessian += histogram[order[position], 1]
        W_left = float(word & WEIGHT_MASK)
        H_left = float(hessian) if has_hessian else W_left
        H_right = H - H_left
        if W - W_left < least[0]:
            break  # further positions leave even less on the right side
        if W_left < least[0] or min(H_left, H_right) < least[1]:
            continue
        G_left = float(word >> WEIGHT_BITS)
        G_right = G - G_left
        after = G_left * G_left / (H_left + ridge) + G_right * G_right / (H_right + ridge)
        if after - before > best:
            best, best_position, W_best = after - before, position, W_left
    if best_position >= 0:
        found[0], found[1] = best, best_position
        found[2] = 2 * W_best >= W if by_weight else missing_left


@njit(cache=True, nogil=True)
def category_order(histogram, n_bins, scales, order):
    """Write the categories that occur in ascending order of G / (H + SMOOTHING); return their number.

    For the squared loss without smoothing, the best of all subsets is a prefix of this order (Fisher, 1958). Smoothing
    moves categories with few rows towards 0, because their gradients are mostly noise.
    """
    step = np.empty(N_CODES)
    n_present = 0
    for b in range(n_bins):
        word = histogram[b, 0]
        if word & WEIGHT_MASK:
            H = histogram[b, 1] / scales[2] if histogram.shape[1] == 2 else (word & WEIGHT_MASK) / scales[1]
            step[n_present] = (word >> WEIGHT_BITS) / scales[0] / (H + SMOOTHING)
            order[n_present] = b
            n_present += 1
    ranks = np.argsort(step[:n_present], kind="mergesort")
    order[:n_present] = order[:n_present][ranks]
    return n_present
