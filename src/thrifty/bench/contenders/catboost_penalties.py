"""CatBoost with penalties on the first use of a feature: the ensemble pays once for each column.

Trees of CatBoost ask every row the same questions, so that every row pays for all columns of the ensemble.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from thrifty.bench.contenders.contender import (
    Contender,
    Model,
    Setting,
    Training,
    column_prices,
    everywhere,
    missing_package,
)
from thrifty.bench.problems.problem import Answers, Table
from thrifty.tuning.problem import Task

LARGEST, SMALLEST = 3.0, 3e-3  # penalties of all columns together, in shares of the number of rows
OPTIONS = {"iterations": 100, "learning_rate": 0.1, "depth": 4, "thread_count": 1, "verbose": False,
           "allow_writing_files": False}  # fmt: skip


def trials(n: int) -> list[Setting]:
    """Return penalties from one that allows few columns to one that allows most."""
    return [{"penalty": penalty} for penalty in np.geomspace(LARGEST, SMALLEST, n).tolist()]


def fit(training: Training, setting: Setting) -> Iterator[Model]:
    """Yield one model. A ranker learns to predict the relevance."""
    try:
        import catboost
    except ImportError as error:
        raise missing_package("catboost-penalties", "catboost", error) from error
    kind = catboost.CatBoostRegressor if training.task is Task.RANKING else catboost.CatBoostClassifier
    penalties = (setting["penalty"] * len(training.rows) * column_prices(training.costs)).tolist()
    model = kind(**OPTIONS, random_seed=training.seed, first_feature_use_penalties=penalties)
    model.fit(training.rows.X, training.rows.y)
    used = used_columns(model, training.rows.X.shape[1])

    def answer(rows: Table) -> Answers:
        predicted = np.asarray(model.predict(rows.X)).reshape(len(rows))
        return Answers(everywhere(used, len(rows)), predicted)

    yield Model("", answer)


def used_columns(model: Any, n_columns: int) -> np.ndarray:
    """Return a mask of the columns on which a model splits."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        trees = json.loads(path.read_text(encoding="utf-8")).get("oblivious_trees", [])
    used = np.zeros(n_columns, dtype=bool)
    used[[split["float_feature_index"] for tree in trees for split in tree["splits"] or []]] = True
    return used


CONTENDER = Contender("catboost-penalties", "CatBoost, penalties on features", trials, fit)
