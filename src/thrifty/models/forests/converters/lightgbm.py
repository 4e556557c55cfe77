"""Forests of LightGBM, read from the text that it saves.

A tree is a block of lines ``key=numbers``. Its splits come first in the numbering; a child below zero is a leaf,
-1 the first. LightGBM compares in double precision, but takes values next to nothing for zero; the shrinkage is in
the leaves already.
"""

from typing import Any

import numpy as np

from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.forests.task import Task

NOTHING = float(np.float32(1e-35))  # values no larger are zero to LightGBM
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of `decision_type`
ZERO_IS_MISSING, NAN_IS_MISSING = 1, 2  # in its next two bits, which say what stands for a missing value
LINKS = {
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    "cross_entropy": "logit",
    "cross_entropy_lambda": "softplus",
}


def estimator(model: Any) -> Forest:
    """Read a fitted LightGBM estimator, up to its best iteration if it was stopped early."""
    return booster(model.booster_, getattr(model, "classes_", None))


def booster(model: Any, classes: Any = None) -> Forest:
    """Read a Booster; outputs add up to ``predict(raw_score=True)``."""
    head, *blocks = model.model_to_string().partition("end of trees")[0].split("\nTree=")
    header = _fields(head)
    trees = [_fields(block) for block in blocks]
    for fields in trees:
        _refuse_unknown(fields)
    n_scores = int(header["num_tree_per_iteration"])
    averaged = "average_output" in head.splitlines()  # random forests of LightGBM
    share = n_scores / len(trees) if averaged else 1.0
    return Forest.from_trees(
        [_tree(fields, share) for fields in trees],
        n_features=int(header["max_feature_idx"]) + 1,
        base=np.zeros(n_scores),
        feature_names=_names(header),
        task=_task(header.get("objective", "custom"), n_scores, classes, averaged),
    )


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _names(header: dict[str, str]) -> list[str] | None:
    names = header["feature_names"].split()
    return None if names == [f"Column_{j}" for j in range(len(names))] else names


def _task(objective: str, n_scores: int, classes: Any, averaged: bool) -> Task:
    name, *options = objective.split()
    given = dict(option.split(":") for option in options if ":" in option)
    if classes is None and name not in ("binary", "multiclass", "multiclassova"):
        ranks = name in ("lambdarank", "rank_xendcg")
        link = "root" if "sqrt" in options else LINKS.get(name, "identity")
        return Task("ranking" if ranks else "regression", link=link, averaged=averaged)
    return Task(
        "classification",
        link="one against rest" if name == "multiclassova" else "identity",
        scale=float(given.get("sigmoid", 1.0)),
        classes=tuple(range(max(n_scores, 2)) if classes is None else np.asarray(classes).tolist()),
        averaged=averaged,
    )


def _tree(fields: dict[str, str], share: float) -> Tree:
    leaves = _numbers(fields, "leaf_value", float)
    n_splits = len(leaves) - 1
    nowhere = np.zeros(len(leaves), dtype=np.int64)

    def with_leaves(splits: np.ndarray, at_leaves: np.ndarray) -> np.ndarray:
        return np.concatenate([splits[:n_splits], at_leaves])

    left, right = (_numbers(fields, f"{side}_child", int) for side in ("left", "right"))
    return Tree(
        feature=with_leaves(_numbers(fields, "split_feature", int), nowhere + LEAF),
        threshold=with_leaves(_thresholds(fields), nowhere),
        left=with_leaves(np.where(left < 0, n_splits + ~left, left), nowhere),
        right=with_leaves(np.where(right < 0, n_splits + ~right, right), nowhere),
        value=with_leaves(np.zeros(n_splits), share * leaves)[:, None],
        missing_left=with_leaves(_missing_left(fields), nowhere > 0),
        categories=_categories(fields) if n_splits else None,
    )


def _thresholds(fields: dict[str, str]) -> np.ndarray:
    """Return the thresholds, those next to zero moved to where what LightGBM takes for zero begins or ends."""
    threshold = _numbers(fields, "threshold", float)
    edge = np.where(threshold < 0, np.nextafter(-NOTHING, -np.inf), NOTHING)
    return np.where(np.abs(threshold) <= NOTHING, edge, threshold)


def _missing_left(fields: dict[str, str]) -> np.ndarray:
    """Return where NaN goes: where it learned to, or else where zero goes; among categories always right."""
    decision = _numbers(fields, "decision_type", int)
    learned = decision >> 2 & 3 == NAN_IS_MISSING
    goes_left = np.where(learned, decision & DEFAULT_LEFT > 0, _numbers(fields, "threshold", float) >= 0)
    return goes_left & ~(decision & CATEGORICAL > 0)


def _categories(fields: dict[str, str]) -> dict[int, list[int]]:
    """Return the categories that go left; `threshold` holds the number of a set of 32-bit words."""
    edges, words = _numbers(fields, "cat_boundaries", int), _numbers(fields, "cat_threshold", np.uint32)
    which = _numbers(fields, "threshold", float).astype(int)
    sets = {}
    for node in np.flatnonzero(_numbers(fields, "decision_type", int) & CATEGORICAL).tolist():
        members = words[edges[which[node]] : edges[which[node] + 1]]
        sets[node] = np.flatnonzero(np.unpackbits(members.view(np.uint8), bitorder="little")).tolist()
    return sets


def _numbers(fields: dict[str, str], key: str, kind: type) -> np.ndarray:
    return np.array(fields.get(key, "").split(), dtype=kind)


def _refuse_unknown(fields: dict[str, str]) -> None:
    missing = _numbers(fields, "decision_type", int) >> 2 & 3
    for present, what in (
        (int(fields.get("is_linear", 0)), "has linear leaves"),
        ((missing == ZERO_IS_MISSING).any(), "takes zero for missing"),
    ):
        if present:
            raise ValueError(f"LightGBM: a tree {what}, which a Forest cannot represent. Train without.")
