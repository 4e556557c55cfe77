"""Models of the heart data and of a mixed table in files, and services that run in processes of their own."""

import numpy as np
import pandas as pd
import pytest

from serving.started import started
from thrifty import ASTCClassifier, GreedyMiserRegressor, TableModel, ThriftyClassifier, save
from thrifty.datasets import load_heart

TOKENS = ("first-token-of-the-tests", "second-token-of-the-tests")


@pytest.fixture(scope="session")
def heart():
    data = load_heart(as_frame=True)
    data.labels = np.where(data.y == 1, "present", "absent")
    data.rows = data.X.to_dict("records")
    return data


@pytest.fixture(scope="session")
def tree(heart):
    return ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=[4, 10, 100]).fit(heart.X, heart.labels)


@pytest.fixture(scope="session")
def adaptive(heart):
    light = ThriftyClassifier(budget=60, n_estimators=20, n_rounds=1, random_state=0, costs=heart.costs)
    return light.fit(heart.X, heart.labels)


@pytest.fixture(scope="session")
def flats():
    """Return a table with a number, a category with missing values, a boolean and a date."""
    random, n = np.random.default_rng(0), 120
    return pd.DataFrame(
        {
            "rooms": random.integers(1, 6, n),
            "town": random.choice(["Bern", "Ulm", "Graz", None], n),
            "lift": random.choice([True, False], n),
            "built": pd.Series(np.datetime64("1990-01-01") + random.integers(0, 9000, n)).astype(str),
        }
    )


@pytest.fixture(scope="session")
def rent(flats):
    target = 300.0 * flats["rooms"] + 100 * (flats["town"] == "Ulm") + 50.0 * flats["lift"]
    costs = {"rooms": 1.0, "town": 2.0, "lift": 3.0, "built": 4.0}
    return TableModel(GreedyMiserRegressor(n_estimators=8, charge="row"), costs=costs).fit(flats, target.to_numpy())


@pytest.fixture(scope="session")
def files(tmp_path_factory, heart, flats, tree, adaptive, rent):
    """Return a folder with the models, examples and tokens."""
    folder = tmp_path_factory.mktemp("served")
    for name, model in (("tree", tree), ("adaptive", adaptive), ("rent", rent)):
        save(model, folder / f"{name}.thrifty")
    heart.X.to_csv(folder / "heart.csv", index=False)
    flats.to_csv(folder / "flats.csv", index=False)
    (folder / "tokens.txt").write_text("# two clients\n" + "\n".join(TOKENS) + "\n")
    (folder / "sources.py").write_text(
        "from thrifty.datasets import load_heart\n"
        "from thrifty.runtime import FrameSource\n"
        "record = FrameSource(load_heart(as_frame=True).X)\n"
    )
    return folder


def _serving(files, model, *options):
    with (
        started(files / f"{model}.thrifty", *options) as server,
        server.http() as http,
    ):
        http.server = server
        yield http


@pytest.fixture(scope="session")
def on_tree(files):
    """Return an HTTP client of a service with a tree, with examples and sources."""
    yield from _serving(files, "tree", "--examples", files / "heart.csv", "--sources", files / "sources.py")


@pytest.fixture(scope="session")
def on_adaptive(files):
    """Return an HTTP client of a service with an adaptive model; sessions may spend 200 at most."""
    yield from _serving(files, "adaptive", "--cap", "200")


@pytest.fixture(scope="session")
def on_rent(files):
    """Return an HTTP client of a service with a model of a mixed table."""
    yield from _serving(files, "rent", "--examples", files / "flats.csv")


@pytest.fixture(scope="session")
def guarded(files):
    """Return an HTTP client of a service with two tokens, and three sessions for each."""
    limits = ("--max-sessions", "5", "--max-sessions-per-client", "3", "--max-bytes", "2000", "--max-rows", "6")
    yield from _serving(files, "tree", "--token-file", files / "tokens.txt", *limits)
