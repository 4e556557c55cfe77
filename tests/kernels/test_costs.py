import numpy as np
import pytest

from thrifty.kernels.costs import BITS, pack_bits, ticks_paid


def naive_ticks_paid(acquired, private, sharers, shared):
    """Return what each row has paid; a plain loop over the units."""
    spent = []
    for row in acquired:
        paid = [any(row & sharers[:, unit]) for unit in range(len(shared))]
        spent.append(sum(private[row]) + sum(shared[paid]))
    return spent


@pytest.mark.parametrize("n_shared", [0, 1, BITS - 1, BITS, BITS + 1, 3 * BITS + 5])
@pytest.mark.parametrize("n_features", [1, 7, 64])
def test_equals_the_naive_version(n_features, n_shared):
    rng = np.random.default_rng(n_shared)
    acquired = rng.random((50, n_features)) < 0.2
    sharers = rng.random((n_features, n_shared)) < 0.1
    private, shared = rng.integers(0, 2**45, n_features), rng.integers(0, 2**45, n_shared)
    spent = ticks_paid(acquired, private, pack_bits(sharers), shared)
    assert spent.tolist() == naive_ticks_paid(acquired, private, sharers, shared)
