"""A runner of commands inside this process, which is fast, and tables and fitted models to run them on."""

import io
import sys
from collections import namedtuple
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import (
    ASTCClassifier,
    BudgetSearchCV,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    TableModel,
    ThriftyClassifier,
    save,
)
from thrifty.cli import main
from thrifty.datasets import load_heart

Done = namedtuple("Done", "code out err")


@pytest.fixture
def thrifty(capsys, monkeypatch):
    """Return a function that runs a command and returns its exit code and what it printed."""

    def run(*arguments, stdin=""):
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["thrifty", *map(str, arguments)])
            patch.setattr(sys, "stdin", io.StringIO(stdin))
            patch.setenv("COLUMNS", "90")
            code = main()
        return Done(code, *capsys.readouterr())

    return run


@pytest.fixture
def refused(thrifty):
    """Return a function that runs a command, checks that it is refused in one line, and returns this line."""

    def run(*arguments, **options):
        done = thrifty(*arguments, **options)
        assert done.code == 2, done
        assert done.out == ""
        assert done.err.startswith("thrifty: ")
        assert done.err.count("\n") == 1
        return done.err

    return run


@pytest.fixture(scope="session")
def heart():
    data = load_heart(as_frame=True)
    data.frame = data.X.assign(diagnosis=np.where(data.y == 1, "present", "absent"))
    return data


@pytest.fixture(scope="session")
def mixed():
    """Return a table with numbers, a category with missing values, a boolean and a date; and several targets."""
    random, n = np.random.default_rng(0), 300
    table = pd.DataFrame(
        {
            "age": random.integers(20, 80, n),
            "town": random.choice(["Bern", "Ulm", "Graz", None], n),
            "smokes": random.choice([True, False], n),
            "seen": pd.Timestamp("2020-01-01") + pd.to_timedelta(random.integers(0, 900, n), "D"),
            "w;eird [b]<i>": random.normal(size=n).round(3),
        }
    )
    table["seen"] = table["seen"].dt.strftime("%Y-%m-%d")
    signal = (table["age"] - 50) / 15 + 1.5 * (table["town"] == "Ulm") + table["smokes"] + table["w;eird [b]<i>"]
    targets = {
        "sick": np.where(signal > 1, "yes", "no"),
        "amount": signal.round(2),
        "grade": np.digitize(signal, [-1, 1]),
    }
    return table, pd.DataFrame(targets).assign(query=np.repeat(np.arange(n // 10), 10))


@pytest.fixture(scope="session")
def searched(heart):
    tree = ASTCClassifier(max_depth=3, overflow="skip")
    candidates = {"l1": "l1", "astc": (tree, {"node_budget": [[4, 10, 100], [4, 0, 90], [10, 10, 10]]})}
    search = BudgetSearchCV(candidates, budget=40, cap=150, costs=heart.costs, cv=3)
    return search.fit(heart.X, heart.frame["diagnosis"].to_numpy())


@pytest.fixture(scope="session")
def models(tmp_path_factory, searched, mixed):
    """Return a folder with a model from a search, and boosted models of the mixed table for every task."""
    folder, (table, targets) = tmp_path_factory.mktemp("models"), mixed
    save(searched, folder / "heart.thrifty")
    few = {"n_estimators": 8, "charge": "row"}
    for name, estimator, target in (
        ("sick", GreedyMiserClassifier(**few), "sick"),
        ("amount", GreedyMiserRegressor(**few), "amount"),
        ("grade", GreedyMiserClassifier(**few), "grade"),
    ):
        save(TableModel(estimator).fit(table, targets[target].to_numpy()), folder / f"{name}.thrifty")
    ranker = TableModel(GreedyMiserRanker(**few)).fit(
        table, targets["grade"].to_numpy(), qid=targets["query"].to_numpy()
    )
    save(ranker, folder / "ranks.thrifty")
    return folder


@pytest.fixture(scope="session")
def explained(tmp_path_factory, heart):
    """Return the file of a model that explains its purchases."""
    light = ThriftyClassifier(cost_weight=1e-3, n_estimators=10, n_rounds=0, random_state=0)
    model = TableModel(light, costs=heart.costs).fit(heart.X, heart.frame["diagnosis"].to_numpy())
    return save(model, tmp_path_factory.mktemp("explained") / "heart.thrifty")


@pytest.fixture
def tables(tmp_path, monkeypatch, heart, mixed):
    """Return the working folder, which has only the tables in it."""
    monkeypatch.chdir(tmp_path)
    heart.frame.to_csv("heart.csv", index=False)
    heart.costs.to_file("costs.csv")
    pd.concat(mixed, axis=1).to_csv("mixed.csv", index=False)
    return Path(tmp_path)
