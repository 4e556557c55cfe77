"""A cluster for each module of tests: its scheduler and its workers are threads of this process."""

import dask
import numpy as np
import pytest

from distributed import Client, LocalCluster


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client
    # Tasks may connect to the cluster too. Their connections close last, and would leave it as the default scheduler.
    dask.config.config.pop("scheduler", None)


@pytest.fixture(scope="session")
def table():
    """Return X with missing values, targets, and classes."""
    random = np.random.default_rng(0)
    X = random.normal(size=(3000, 9)) * np.arange(1, 10) + 5
    signal = np.where(X[:, 1] > 7, X[:, 0] - 5, X[:, 2] / 3) + X[:, 3] / 8
    X[random.random(X.shape) < 0.05] = np.nan
    y = signal + random.normal(size=3000)
    return X, y, np.array(["high", "low", "middle"])[np.digitize(signal, [-1.0, 2.0])]
