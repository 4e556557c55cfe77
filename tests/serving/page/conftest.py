"""Models to serve, services that serve them, and a real browser that opens their pages."""

from contextlib import ExitStack

import pytest

from browsers import launched
from serving.page.served_models import N_FITTED, fitted_models, mixed_columns
from serving.page.services import Service
from serving.page.visits import Visit
from thrifty import save
from thrifty.datasets import load_heart


@pytest.fixture(scope="module")
def browser():
    """Return a browser. Its event loop ends with the module, because other tests start their own loops."""
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(browser):
    """Return a function that opens a page; after the test, nothing may have gone wrong in any page it opened."""
    visits = []

    def open_page(url, **options):
        visits.append(Visit(browser, url, **options))
        return visits[-1]

    yield open_page
    for each in visits:
        each.close()
    for each in visits:
        each.check()


@pytest.fixture(scope="session")
def heart():
    return load_heart(as_frame=True)


@pytest.fixture(scope="session")
def models(heart):
    """Return the fitted models by name."""
    return fitted_models(heart)


@pytest.fixture(scope="session")
def files(models, heart, tmp_path_factory):
    """Return a folder with the model files and their examples."""
    folder = tmp_path_factory.mktemp("served")
    for name, model in models.items():
        save(model, folder / f"{name}.thrifty")
        table = mixed_columns(heart) if name == "mixed" else heart.X
        table[N_FITTED:].to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="session")
def service(files):
    """Return a function that returns the running service of a model, which all tests share."""
    running = {}
    with ExitStack() as stack:

        def of(name):
            if name not in running:
                running[name] = Service(files / f"{name}.thrifty", "--examples", files / f"{name}.csv")
                stack.callback(running[name].kill)
            return running[name]

        yield of


@pytest.fixture
def own_service(files, tmp_path):
    """Return a function that starts a service for one test, with its sessions in a file."""
    with ExitStack() as stack:

        def start(name, *options):
            started = Service(
                files / f"{name}.thrifty", "--examples", files / f"{name}.csv", "--store", tmp_path / "cases", *options
            )
            stack.callback(started.kill)
            return started

        yield start
