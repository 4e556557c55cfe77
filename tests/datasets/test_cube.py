"""CUBE and CUBE-NM: where the bits of the class are, what the other columns hold, and prices."""

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from thrifty.datasets import make_cube, make_cube_nm

N = 8000


@pytest.fixture(scope="module")
def cube():
    return make_cube(N, random_state=0)


@pytest.fixture(scope="module")
def cube_nm():
    return make_cube_nm(N, random_state=0)


def bits_of(y):
    """The three bits of each class, the lowest first, by a way of its own."""
    return np.array([[int(digit) for digit in f"{k:03b}"[::-1]] for k in range(8)])[y]


def assert_bits_and_background(block, y):
    """Compare blocks (n, 10) with the definition: noisy bits at y, y + 1 and y + 2, N(0.5, 0.3) elsewhere."""
    at_bits = np.zeros(block.shape, dtype=bool)
    for j in range(3):
        at_bits[np.arange(len(y)), y + j] = True
    noise = block[at_bits].reshape(-1, 3) - bits_of(y)
    np.testing.assert_allclose([noise.mean(), noise.std()], [0, 0.1], atol=0.01)
    assert np.abs(noise).max() < 0.6
    assert_background(block[~at_bits])


def assert_background(values):
    np.testing.assert_allclose([values.mean(), values.std()], [0.5, 0.3], atol=0.01)


class TestCube:
    def test_shapes_and_prices(self, cube):
        assert cube.X.shape == (N, 20)
        assert cube.y.shape == (N,)
        assert len(cube.names) == 20
        assert list(cube.costs.names) == cube.names
        assert cube.costs.total == 20
        assert not cube.costs.bundles
        assert "CUBE" in cube.description

    def test_classes_are_equally_likely(self, cube):
        np.testing.assert_allclose(np.bincount(cube.y) / N, 1 / 8, atol=0.02)

    def test_bits_of_the_class_are_at_its_columns(self, cube):
        assert_bits_and_background(cube.X[:, :10], cube.y)

    def test_dummy_columns_are_background(self, cube):
        dummies = cube.X[:, 10:]
        assert_background(dummies)
        assert max(abs(np.corrcoef(dummies.T, cube.y)[-1, :-1])) < 0.05


class TestCubeNM:
    def test_shapes_and_prices(self, cube_nm):
        assert cube_nm.X.shape == (N, 55)
        assert cube_nm.y.shape == cube_nm.context.shape == (N,)
        assert list(cube_nm.costs.names) == cube_nm.names
        assert cube_nm.costs.total == 51
        assert "CUBE-NM" in cube_nm.description

    def test_the_context_is_bought_once(self, cube_nm):
        one, all_five, column = np.zeros((3, 55), dtype=bool)
        one[0] = all_five[:5] = column[5] = True
        assert cube_nm.costs.of(np.array([one, all_five, column, all_five | column])).tolist() == [1, 1, 1, 2]

    def test_the_context_is_a_noisy_indicator(self, cube_nm):
        noise = cube_nm.X[:, :5] - (cube_nm.context[:, None] == np.arange(5))
        np.testing.assert_allclose([noise.mean(), noise.std()], [0, 0.1], atol=0.01)

    def test_the_context_is_independent_of_the_class(self, cube_nm):
        table = np.zeros((5, 8))
        np.add.at(table, (cube_nm.context, cube_nm.y), 1)
        assert chi2_contingency(table).pvalue > 0.01
        np.testing.assert_allclose(table / N, 1 / 40, atol=0.006)

    def test_only_the_block_of_the_context_has_the_bits(self, cube_nm):
        blocks = cube_nm.X[:, 5:].reshape(N, 5, 10)
        own = cube_nm.context[:, None] == np.arange(5)
        assert_bits_and_background(blocks[own], cube_nm.y)
        assert_background(blocks[~own])

    def test_context_last_only_moves_columns(self, cube_nm):
        last = make_cube_nm(N, context_last=True, random_state=0)
        assert last.names[-5:] == cube_nm.names[:5]
        np.testing.assert_array_equal(last.y, cube_nm.y)
        order = [last.names.index(name) for name in cube_nm.names]
        np.testing.assert_array_equal(last.X[:, order], cube_nm.X)
        assert list(last.costs.names) == last.names
        assert last.costs.total == 51

    def test_another_number_of_contexts(self):
        data = make_cube_nm(200, n_contexts=3, random_state=0)
        assert data.X.shape == (200, 33)
        assert set(data.context.tolist()) == {0, 1, 2}
        assert data.costs.total == 31

    def test_the_number_of_contexts_is_checked(self):
        with pytest.raises(ValueError, match="n_contexts == 0"):
            make_cube_nm(5, n_contexts=0)
        with pytest.raises(TypeError, match="n_contexts"):
            make_cube_nm(5, n_contexts=2.5)

    def test_context_last_is_a_flag(self):
        with pytest.raises(TypeError, match="context_last"):
            make_cube_nm(5, context_last="yes")


@pytest.mark.parametrize("make", [make_cube, make_cube_nm])
class TestBoth:
    def test_random_state_determines_the_data(self, make):
        first, again, other = (make(50, random_state=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.X, again.X)
        np.testing.assert_array_equal(first.y, again.y)
        assert not np.array_equal(first.X, other.X)

    def test_a_generator_goes_on(self, make):
        rng = np.random.default_rng(0)
        assert not np.array_equal(make(50, random_state=rng).X, make(50, random_state=rng).X)

    def test_the_number_of_rows_is_checked(self, make):
        with pytest.raises(ValueError, match="n_samples == 0"):
            make(0)
        with pytest.raises(TypeError, match="n_samples"):
            make(10.5)
