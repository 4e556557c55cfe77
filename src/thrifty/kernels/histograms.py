"""Histograms of gradients, and the best split of every feature read off them.

A row's gradient and weight travel as whole numbers in one 64-bit word, so that one addition serves both:

    word  =  gradient * 2^30  +  weight          weights are not negative, and all of them add up to less than 2^30

Whole numbers add up to the same sum in any order: histograms do not depend on the number of threads, a child's
is *exactly* its parent's minus its sibling's, and features that tie do so exactly. Losses whose second derivative is
not the weight carry it as a second word.

    m    words of a row: 1, or 2 with a second derivative
    d    features, rounded up to whole blocks of eight; the codes of a row in a block are the bytes of one 64-bit
         number, (d / 8, n), so that one load serves eight histograms, which together stay in the fastest memory
"""

import numpy as np
from numba import njit

BITS = 30  # of a word, for the weight
WEIGHT = 2**BITS - 1  # picks the weight out of a word
N_CODES = 256
MISSING = 255  # the code of a value that is not there; bins have the codes below
OTHER = 254  # the code of a category too rare to have its own; always goes right

SCATTERED = 6  # a node of less than this part of all rows
LEAST_CURVATURE = 1e-3  # of a leaf, in rows; a smaller one would turn one row's error into a giant step

_BYTE = np.uint64(255)
_U = np.uint64  # Numba checks signed indices for being negative, which here takes as long as the sum itself


@njit(cache=True, nogil=True)
def pack_words(gradient, weight, curvature, scales, words):
    """Round to whole numbers: words (n, m) from gradients, weights and (if m is 2) second derivatives, all (n,)."""
    for i in range(len(words)):
        words[i, 0] = np.int64(np.rint(gradient[i] * scales[0])) * (WEIGHT + 1) + np.int64(
            np.rint(weight[i] * scales[1])
        )
    if words.shape[1] == 2:
        for i in range(len(words)):
            words[i, 1] = np.int64(np.rint(curvature[i] * scales[2]))


@njit(cache=True, nogil=True)
def fill_histograms(codes, rows, words, blocks, histogram):
    """Add up the words of some rows by their codes, for the features of some blocks; histogram is (d, 256, m).

    `words` are those of `rows`, in their order. Codes of few, scattered rows are fetched first: simple loads wait for
    memory side by side, which loads between additions do not.
    """
    scattered = SCATTERED * rows.size < codes.shape[1]
    places = np.arange(rows.size).astype(np.uint32) if scattered else rows
    fetched = np.empty(rows.size if scattered else 0, np.uint64)
    for block in blocks:
        line = codes[block]
        if scattered:
            for r in range(rows.size):
                fetched[_U(r)] = line[_U(rows[_U(r)])]
            line = fetched
        if words.shape[1] == 1:
            _add_words(line, places, words, histogram[8 * block : 8 * block + 8])
        else:
            for half in range(2):
                first = 8 * block + 4 * half
                _add_pairs(line, _U(32 * half), places, words, histogram[first : first + 4])


@njit(cache=True, nogil=True)
def _add_words(line, places, words, histogram):
    """Fill eight histograms; so many at a time also keep an addition from waiting for the last to the same place."""
    sums = np.zeros(8 * N_CODES, np.int64)
    for r in range(places.size):
        code, word = line[_U(places[_U(r)])], words[_U(r), 0]
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
def _add_pairs(line, shift, places, words, histogram):
    """Fill four histograms of two words, which take as much memory as eight of one."""
    sums = np.zeros((4 * N_CODES, 2), np.int64)
    for r in range(places.size):
        code = line[_U(places[_U(r)])] >> shift
        word, curvature = words[_U(r), 0], words[_U(r), 1]
        a, b = code & _BYTE, _U(256) + ((code >> _U(8)) & _BYTE)
        c, d = _U(512) + ((code >> _U(16)) & _BYTE), _U(768) + ((code >> _U(24)) & _BYTE)
        sums[a, 0] += word
        sums[a, 1] += curvature
        sums[b, 0] += word
        sums[b, 1] += curvature
        sums[c, 0] += word
        sums[c, 1] += curvature
        sums[d, 0] += word
        sums[d, 1] += curvature
    histogram[:] = sums.reshape((4, N_CODES, 2))


@njit(cache=True, nogil=True)
def fill_columns(columns, rows, words, features, histogram):
    """Add up the words of some rows for a few features, whose blocks are (d / 8, n, 8) bytes."""
    for j in features:
        histogram[j] = 0
        for r in range(rows.size):
            code = columns[_U(j >> 3), _U(rows[_U(r)]), _U(j & 7)]
            for m in range(words.shape[1]):
                histogram[j, code, m] += words[_U(r), m]


@njit(cache=True, nogil=True)
def take_away(histogram, sibling, features):
    """Turn a parent's histogram into a child's: what is not the sibling's."""
    for j in features:
        for b in range(N_CODES):
            for m in range(histogram.shape[2]):
                histogram[j, b, m] -= sibling[j, b, m]


@njit(cache=True, nogil=True)
def best_splits(histogram, total, n_bins, categorical, features, scales, least_rows, ridge, found):
    """Write the best split of some features into `found` (d, 3): its gain, its position, where NaN goes.

    A split at position b sends codes 0..b left; of a categorical feature it sends the first b + 1 categories left in
    the order of `category_order`. NaN goes left where the third column is 1. The gain is the fall of the loss that
    steps to the children's optima promise over a step to the parent's, summed over rows; -inf where nothing may be
    split.

    Both sides must hold `least_rows` of the node's rows. Where curvatures differ, rows count by their share of the
    node's: those whose answer is settled hardly count, and a step that they alone would decide would be a giant one.
    """
    order = np.empty(N_CODES, np.int64)
    two = histogram.shape[2] == 2
    bend, bend_scale = (total[1], scales[2]) if two else (total[0] & WEIGHT, scales[1])
    least = least_rows * scales[1] / (total[0] & WEIGHT) * bend * (1.0 - 1e-9)  # just enough is enough, rounding or not
    least = max(least, LEAST_CURVATURE * bend_scale, 1.0)
    unit = 0.5 * bend_scale / scales[0] ** 2
    for j in features:
        found[j, 0], found[j, 1], found[j, 2] = -np.inf, -1.0, 0.0
        if categorical[j]:
            n_places = category_order(histogram[j], n_bins[j], scales, order)
        else:
            n_places = n_bins[j]
            for b in range(n_places):
                order[b] = b
        some_missing = (histogram[j, MISSING, 0] & WEIGHT) > 0
        _scan(histogram[j], total, order, n_places, least, ridge * bend_scale, False, not some_missing, found[j])
        if some_missing:
            _scan(histogram[j], total, order, n_places, least, ridge * bend_scale, True, False, found[j])
        found[j, 0] *= unit


@njit(cache=True, nogil=True)
def _scan(histogram, total, order, n_places, least, ridge, missing_left, by_size, found):
    """Try every place to cut; `by_size`: no row shows where NaN should go, so it goes with the heavier side.

    A step to the optimum takes half of gradient^2 / (second derivative + ridge) off the loss; the halves and the units
    are left to the caller.
    """
    two = histogram.shape[1] == 2
    word, curvature = 0, 0  # of the left side
    if missing_left:
        word = histogram[MISSING, 0]
        curvature = histogram[MISSING, 1] if two else 0
    slope, bend = float(total[0] >> BITS), float(total[1] if two else total[0] & WEIGHT)
    before = slope * slope / (bend + ridge) if bend + ridge > 0 else 0.0
    for place in range(n_places):
        word += histogram[order[place], 0]
        if two:
            curvature += histogram[order[place], 1]
        bend_left = float(curvature if two else word & WEIGHT)
        bend_right = bend - bend_left
        if bend_left < least or bend_right < least:
            continue
        slope_left = float(word >> BITS)
        slope_right = slope - slope_left
        after = slope_left * slope_left / (bend_left + ridge) + slope_right * slope_right / (bend_right + ridge)
        if after - before > found[0]:
            found[0], found[1] = after - before, place
            found[2] = 2 * (word & WEIGHT) >= (total[0] & WEIGHT) if by_size else missing_left


@njit(cache=True, nogil=True)
def category_order(histogram, n_bins, scales, order):
    """Order the categories present by their best step, smallest first; return how many there are.

    By a theorem of Fisher's (1958) the best of all subsets is a prefix of this order when the loss is squared.
    Categories of hardly any rows are drawn to zero, for their steps are noise.
    """
    step = np.empty(N_CODES)
    n_present = 0
    for b in range(n_bins):
        word = histogram[b, 0]
        if word & WEIGHT:
            bend = histogram[b, 1] / scales[2] if histogram.shape[1] == 2 else (word & WEIGHT) / scales[1]
            step[n_present] = (word >> BITS) / scales[0] / (bend + SMOOTHING)
            order[n_present] = b
            n_present += 1
    ranks = np.argsort(step[:n_present], kind="mergesort")
    order[:n_present] = order[:n_present][ranks]
    return n_present


SMOOTHING = 10.0  # rows at zero that are imagined in every category


@njit(cache=True, nogil=True)
def partition(code, goes_left, rows, words, spare_rows, spare_words):
    """Reorder rows and their words in place, those that go left first, otherwise as they were; return how many do.

    Every row is written to both sides and counted on one, for no branch can guess where it goes.
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
def pay(paid, rows, price, spend):
    """Charge the rows that have not paid for a unit; paid is (n,), spend (n,)."""
    for r in range(rows.size):
        i = _U(rows[r])
        if not paid[i]:
            paid[i] = True
            spend[i] += price


@njit(cache=True, nogil=True)
def weight_paid(paid, units, rows, weight, out):
    """Write what the rows weigh that have paid for each of some units; paid is (n_units, n)."""
    for u in units:
        line, total = paid[u], 0.0
        for r in range(rows.size):
            i = _U(rows[r])
            total += weight[i] if line[i] else 0.0
        out[u] = total


@njit(cache=True, nogil=True)
def leaf_step(rows, gradient, curvature, ridge):
    """Return the step that takes the rows of a leaf to the minimum of their loss as far as two derivatives tell."""
    slope, bend = 0.0, ridge
    for r in range(rows.size):
        i = _U(rows[r])
        slope += gradient[i]
        bend += curvature[i]
    return -slope / bend if bend > 0 else 0.0


@njit(cache=True, nogil=True)
def add_at(rows, step, scores):
    """Move the scores of some rows by a step."""
    for r in range(rows.size):
        scores[_U(rows[r])] += step
