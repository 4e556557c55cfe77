"""The promise of a search holds on held-out rows in most splits."""

import numpy as np
import pytest
from benchmarks.guarantee import LOADERS, held_out

from thrifty.datasets import list_datasets


@pytest.mark.slow
@pytest.mark.parametrize("name", LOADERS)
def test_held_out_mean_spend_is_within_the_budget_in_95_percent_of_splits(name):
    if name != "heart" and not list_datasets()[name]:
        pytest.skip(f"{name} is not in the folder named by THRIFTY_DATA")
    spent = held_out(LOADERS[name](), 0.3, n_splits=20)
    assert np.mean(spent <= 1) >= 0.95, spent
