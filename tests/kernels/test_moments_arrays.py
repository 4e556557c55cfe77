"""Sums over rows in functions of the array API equal the compiled kernels."""

import array_api_strict as strict
import numpy as np
import pytest

from thrifty.arrays import counted_moves
from thrifty.kernels import moments, moments_arrays
from thrifty.kernels.dot import LANES, dot

N, D = 60, 5
random = np.random.default_rng(0)
X = random.normal(size=(N, D)) + np.array([0, 1, -2, 30, 5])
ROWS = np.flatnonzero(random.random(N) > 0.3)
SHIFT = X.mean(axis=0)
FACTORS = random.normal(size=(len(ROWS), 3))
WEIGHT = random.uniform(0.5, 2.0, len(ROWS))


@pytest.fixture(params=[7, 1000])
def _blocks(request, monkeypatch):
    """Take rows in blocks of this size."""
    monkeypatch.setattr(moments_arrays.row_slices, "__defaults__", (request.param,))


@pytest.mark.usefixtures("_blocks")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_sums_equal_the_compiled_kernels(dtype):
    values = X.astype(dtype)
    there = strict.asarray(values)
    wanted = np.zeros((3, D))
    moments.products(values, ROWS, SHIFT, FACTORS, 0, len(ROWS), wanted)
    np.testing.assert_allclose(moments_arrays.products(there, ROWS, SHIFT, FACTORS), wanted, rtol=1e-10, atol=1e-10)
    wanted = np.zeros(D)
    moments.squares(values, ROWS, SHIFT, WEIGHT, 0, len(ROWS), wanted)
    np.testing.assert_allclose(moments_arrays.squares(there, ROWS, SHIFT, WEIGHT), wanted, rtol=1e-10)
    gathered = np.zeros((len(ROWS), D))
    moments.gather(values, ROWS, SHIFT, np.sqrt(WEIGHT), 0, len(ROWS), gathered)
    z = np.hstack([gathered, FACTORS])
    found = moments_arrays.full_product(there, ROWS, SHIFT, np.sqrt(WEIGHT), FACTORS)
    np.testing.assert_allclose(found, z.T @ z, rtol=1e-10, atol=1e-10)
    columns = moments_arrays.gram_columns(there, ROWS, SHIFT, WEIGHT, [3, 0])
    np.testing.assert_allclose(columns, (gathered.T @ gathered)[[3, 0]], rtol=1e-10, atol=1e-10)


@pytest.mark.usefixtures("_blocks")
def test_missing_values_are_left_out():
    values, count = X.copy(), random.uniform(1, 3, N)
    values[random.random((N, D)) < 0.2] = np.nan
    present, sums = moments_arrays.present_totals(strict.asarray(values), count)
    np.testing.assert_allclose(present, count @ ~np.isnan(values), rtol=1e-12)
    np.testing.assert_allclose(sums, count @ np.nan_to_num(values), rtol=1e-12, atol=1e-12)


def test_sums_of_no_rows_are_zero():
    there, nobody = strict.asarray(X), np.arange(0)
    assert not moments_arrays.products(there, nobody, SHIFT, FACTORS[:0]).any()
    assert not moments_arrays.full_product(there, nobody, SHIFT, WEIGHT[:0], FACTORS[:0]).any()


def test_rows_do_not_come_back():
    there = strict.asarray(X)
    with counted_moves() as moves:
        moments_arrays.full_product(there, ROWS, SHIFT, WEIGHT, FACTORS)
    assert moves.to_host == (D + 3) ** 2
    assert moves.to_device < len(ROWS) * 6 + 2 * D


@pytest.mark.parametrize("size", [0, 1, 7, 8, 9, 16, 23, 40])
def test_dot_products_have_the_same_bits(size):
    values, weights = (
        random.normal(size=(30, size)) * 10.0 ** random.integers(-8, 8, (30, size)),
        random.normal(size=size),
    )
    wanted = [dot(line, weights) for line in values]
    found = moments_arrays.dot_of_lines(strict.asarray(values), weights, LANES)
    np.testing.assert_array_equal(np.asarray(found), wanted)
