import pytest
from threadpoolctl import ThreadpoolController


@pytest.fixture(scope="session")
def linear_algebra():
    return ThreadpoolController()


@pytest.fixture(autouse=True, scope="module")
def _one_thread(linear_algebra):
    """Use one thread for linear algebra: products of a few hundred rows are slower on several threads."""
    with linear_algebra.limit(limits=1):
        yield
