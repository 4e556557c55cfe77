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

import numpy as np
from numba import njit

WEIGHT_BITS = 30  # of a word
WEIGHT_MASK = 2**WEIGHT_BITS - 1  # word & WEIGHT_MASK is the weight
N_CODES = 256
MISSING = 255  # code of a missing value; bins have smaller codes
OTHER = 254  # code of all categories that are too rare to have their own; always goes right

SCATTERED = 6  # the rows of a node are scattered if the node has less than 1 / SCATTERED of all rows
MIN_HESSIAN = 1e-3  # of a leaf; with a smaller one, the error of a single row would cause a very large step
SMOOTHING = 10.0  # Hessian that is added to every category, which shrinks the steps of rare categories

_BYTE = np.uint64(255)
_U = np.uint64  # Numba checks whether a signed index is negative, which here takes as long as the addition itself


@njit(cache=True, nogil=True)
def pack_words(gradient, weight, hessian, scales, words):
    """Write the words (n, m) of gradients, weights and, if m = 2, Hessians (n,), multiplied by scales and rounded."""
    for i in range(len(words)):
        words[i, 0] = np.int64(np.rint(gradient[i] * scales[0])) * (WEIGHT_MASK + 1) + np.int64(
            np.rint(weight[i] * scales[1])
        )
    if words.shape[1] == 2:
        for i in range(len(words)):
            words[i, 1] = np.int64(np.rint(hessian[i] * scales[2]))


@njit(cache=True, nogil=True)
def fill_histograms(codes, rows, words, blocks, histogram):
    """Add the words of some rows to the histograms (d, 256, m) of the features of some blocks, by code.

    `words` has the order of `rows`. If the rows are scattered, their codes are first copied together: memory accesses
    of a simple copy overlap, but accesses between additions do not.
    """
    scattered = SCATTERED * rows.size < codes.shape[1]
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
    """Fill eight histograms at once; additions to different histograms do not have to wait for each other."""
    sums = np.zeros(8 * N_CODES, np.int64)
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
    histogram[:, :, 0] = sums.reshape((8, N_CODES))


@njit(cache=True, nogil=True)
def _add_pairs(block_codes, shift, positions, words, histogram):
    """Fill four histograms of two words, which take as much memory as eight histograms of one word."""
    sums = np.zeros((4 * N_CODES, 2), np.int64)
    for r in range(positions.size):
        code = block_codes[_U(positions[_U(r)])] >> shift
        word, hessian = words[_U(r), 0], words[_U(r), 1]
        a, b = code & _BYTE, _U(256) + ((code >> _U(8)) & _BYTE)
        c, d = _U(512) + ((code >> _U(16)) & _BYTE), _U(768) + ((code >> _U(24)) & _BYTE)
        sums[a, 0] += word
        sums[a, 1] += hessian
        sums[b, 0] += word
        sums[b, 1] += hessian
        sums[c, 0] += word
        sums[c, 1] += hessian
        sums[d, 0] += word
        sums[d, 1] += hessian
    histogram[:] = sums.reshape((4, N_CODES, 2))


@njit(cache=True, nogil=True)
def fill_columns(columns, rows, words, features, histogram):
    """Fill the histograms of a few features; `columns` holds the codes as bytes, shape (d / 8, n, 8)."""
    for j in features:
        histogram[j] = 0
        for r in range(rows.size):
            code = columns[_U(j >> 3), _U(rows[_U(r)]), _U(j & 7)]
            for m in range(words.shape[1]):
                histogram[j, code, m] += words[_U(r), m]


@njit(cache=True, nogil=True)
def take_away(histogram, sibling, features):
    """Subtract the histogram of one child from that of its parent, which gives the histogram of the other child."""
    for j in features:
        for b in range(N_CODES):
            for m in range(histogram.shape[2]):
                histogram[j, b, m] -= sibling[j, b, m]


@njit(cache=True, nogil=True)
def best_splits(histogram, total, n_bins, categorical, features, scales, min_rows, by_hessian, ridge, found):
    """Write the best split of some features into `found` (d, 3): its gain, its position, and 1 if NaN goes left.

    A split at position b sends codes 0..b left. For a categorical feature it sends the first b + 1 categories left, in
    the order of `category_order`. The gain is the decrease of the quadratic approximation of the loss, summed over the
    rows; it is -inf if no split is allowed:

        gain = 1/2 * (G_left^2 / (H_left + ridge) + G_right^2 / (H_right + ridge) - G^2 / (H + ridge))

    Both sides must have a weight of at least `min_rows`, and at least the same share of H of the node: a leaf of rows
    with Hessians close to 0 would take a very large step. With `by_hessian`, only the share of H counts.
    """
    order = np.empty(N_CODES, np.int64)
    W, H, H_scale = total[0] & WEIGHT_MASK, total[0] & WEIGHT_MASK, scales[1]
    if histogram.shape[2] == 2:
        H, H_scale = total[1], scales[2]
    slack = 1.0 - 1e-9  # tolerates rounding errors
    least_W = 0.0 if by_hessian else min_rows * scales[1] * slack
    least = least_W, max(min_rows * scales[1] / W * H * slack, MIN_HESSIAN * H_scale, 1.0)
    gain_unit = 0.5 * H_scale / scales[0] ** 2
    for j in features:
        found[j, 0], found[j, 1], found[j, 2] = -np.inf, -1.0, 0.0
        if categorical[j]:
            n_positions = category_order(histogram[j], n_bins[j], scales, order)
        else:
            n_positions = n_bins[j]
            for b in range(n_positions):
                order[b] = b
        some_missing = (histogram[j, MISSING, 0] & WEIGHT_MASK) > 0
        _scan(histogram[j], total, order, n_positions, least, ridge * H_scale, False, not some_missing, found[j])
        if some_missing:
            _scan(histogram[j], total, order, n_positions, least, ridge * H_scale, True, False, found[j])
        found[j, 0] *= gain_unit


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
    for position in range(n_positions):
        word += histogram[order[position], 0]
        if has_hessian:
            hessian += histogram[order[position], 1]
        W_left = float(word & WEIGHT_MASK)
        H_left = float(hessian) if has_hessian else W_left
        H_right = H - H_left
        if min(W_left, W - W_left) < least[0] or min(H_left, H_right) < least[1]:
            continue
        G_left = float(word >> WEIGHT_BITS)
        G_right = G - G_left
        after = G_left * G_left / (H_left + ridge) + G_right * G_right / (H_right + ridge)
        if after - before > found[0]:
            found[0], found[1] = after - before, position
            found[2] = 2 * W_left >= W if by_weight else missing_left


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


@njit(cache=True, nogil=True)
def partition(code, goes_left, rows, words, spare_rows, spare_words):
    """Reorder rows and their words in place, rows that go left first, otherwise in the same order; return n_left.

    Every row is written to both sides and counted on one of them. This avoids a branch, which the processor could not
    predict.
    """
    n_left, n_right = 0, 0
    for r in range(rows.size):
        row = rows[_U(r)]
        left = goes_left[_U(code[_U(row)])]
        for m in range(words.shape[1]):
            word = words[_U(r), _U(m)]
            words[_U(n_left), _U(m)] = word
            spare_words[_U(n_right), _U(m)] = word
        rows[_U(n_left)] = row
        spare_rows[_U(n_right)] = row
        n_left += left
        n_right += 1 - left
    rows[n_left:] = spare_rows[:n_right]
    words[n_left:] = spare_words[:n_right]
    return n_left


@njit(cache=True, nogil=True)
def pay(paid, rows, price, spend, charged):
    """Charge the price of a unit to the rows that have not paid it; `paid` and `spend` have shape (n,).

    The rows that are charged are written to `charged`, and their number is returned.
    """
    n_charged = 0
    for r in range(rows.size):
        i = _U(rows[r])
        if not paid[i]:
            paid[i] = True
            spend[i] += price
            charged[n_charged] = rows[r]
            n_charged += 1
    return n_charged


@njit(cache=True, nogil=True)
def add_weight_paid(paid, units, rows, weight, out):
    """Add, for some units, the total weight of the rows that have paid the unit; `paid` has shape (n_units, n)."""
    for u in units:
        unit_paid, total = paid[u], 0.0
        for r in range(rows.size):
            i = _U(rows[r])
            total += weight[i] if unit_paid[i] else 0.0
        out[u] += total


@njit(cache=True, nogil=True)
def leaf_step(rows, gradient, hessian, ridge):
    """Return the Newton step -G / (H + ridge) of the rows of a leaf."""
    G, H = 0.0, ridge
    for r in range(rows.size):
        i = _U(rows[r])
        G += gradient[i]
        H += hessian[i]
    return -G / H if H > 0 else 0.0


@njit(cache=True, nogil=True)
def add_at(rows, step, scores):
    """Add a step to the scores of some rows."""
    for r in range(rows.size):
        scores[_U(rows[r])] += step
