"""LightGBM: fits, predictions, and the columns that the paths of rows read."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from thrifty.bench.contenders.contender import Model, Training, everywhere, missing_package
from thrifty.bench.problems.problem import Answers, Table
from thrifty.tuning.problem import Task

ROUNDS = (30, 100, 300)  # all are prefixes of one fit
FEW_CLASSES = 3  # more classes have at most 100 rounds, because a round has a tree for each class
DEFAULTS = {"verbosity": -1, "num_threads": 1, "learning_rate": 0.1, "deterministic": True, "force_row_wise": True}
FEW_ROWS = 400  # then leaves may have fewer rows than the default of 20


def rounds(training: Training) -> tuple[int, ...]:
    """Return the numbers of rounds at which a fit is looked at."""
    return ROUNDS if training.n_classes <= FEW_CLASSES else ROUNDS[:2]


def boosted(training: Training, n_rounds: int, columns: np.ndarray | None = None, **options: Any) -> Any:
    """Return a booster, fitted on some columns or all."""
    try:
        import lightgbm
    except ImportError as error:
        raise missing_package("A contender with boosted trees", "lightgbm", error) from error
    rows = training.rows
    X, group = rows.X if columns is None else rows.X[:, columns], None
    y, objective = rows.y, _objective(training)
    if rows.qid is not None:
        order = np.argsort(rows.qid, kind="stable")
        X, y = X[order], y[order]
        group = np.unique(rows.qid[order], return_counts=True)[1]
    least = {"min_data_in_leaf": 8} if len(rows) < FEW_ROWS else {}
    parameters = {**DEFAULTS, **objective, **least, "seed": training.seed, **options}
    return lightgbm.train(parameters, lightgbm.Dataset(X, y, group=group), n_rounds)


def prediction(training: Training, raw: np.ndarray) -> np.ndarray:
    """Return classes, or numbers that rank, from the raw scores of a booster."""
    if training.task is Task.RANKING:
        return raw
    return (raw > 0).astype(int) if raw.ndim == 1 else raw.argmax(axis=1)


def by_ensemble(training: Training, booster: Any, n_rounds: int, name: str) -> Model:
    """Return the model of the first rounds; every row acquires all columns that any of their trees uses."""
    used = booster.feature_importance(iteration=n_rounds) > 0

    def answer(rows: Table) -> Answers:
        raw = booster.predict(rows.X, raw_score=True, num_iteration=n_rounds)
        return Answers(everywhere(used, len(rows)), prediction(training, raw))

    return Model(name, answer)


def by_paths(training: Training, booster: Any, n_rounds: int, name: str) -> Model:
    """Return the model of the first rounds; every row acquires the columns on its own paths."""
    masks = path_masks(booster, training.rows.X.shape[1])[: n_rounds * booster.num_model_per_iteration()]

    def answer(rows: Table) -> Answers:
        raw = booster.predict(rows.X, raw_score=True, num_iteration=n_rounds)
        leaves = booster.predict(rows.X, pred_leaf=True, num_iteration=n_rounds).reshape(len(rows), -1)
        acquired = np.zeros(rows.X.shape, dtype=bool)
        for mask, leaf in zip(masks, leaves.T, strict=True):
            acquired |= mask[leaf]
        return Answers(acquired, prediction(training, raw))

    return Model(name, answer)


def path_masks(booster: Any, n_columns: int) -> list[np.ndarray]:
    """Return for each tree a mask (n_leaves, n_columns) of the columns on the path to each leaf."""
    return [_leaf_masks(tree["tree_structure"], n_columns) for tree in booster.dump_model()["tree_info"]]


def _leaf_masks(root: dict[str, Any], n_columns: int) -> np.ndarray:
    found = dict(_leaves(root, frozenset()))
    masks = np.zeros((len(found), n_columns), dtype=bool)
    for leaf, columns in found.items():
        masks[leaf, list(columns)] = True
    return masks


def _leaves(node: dict[str, Any], above: frozenset[int]) -> Iterator[tuple[int, frozenset[int]]]:
    """Yield each leaf of a tree with the columns on its path."""
    if "split_feature" not in node:
        yield node.get("leaf_index", 0), above
        return
    columns = above | {node["split_feature"]}
    yield from _leaves(node["left_child"], columns)
    yield from _leaves(node["right_child"], columns)


def _objective(training: Training) -> dict[str, Any]:
    if training.task is Task.RANKING:
        return {"objective": "lambdarank"}
    if training.task is Task.BINARY:
        return {"objective": "binary"}
    return {"objective": "multiclass", "num_class": training.n_classes}
