"""Forests of LightGBM, read from the text that it saves.

A tree is a block of lines ``key=numbers``. Its splits come first in the numbering; a child below zero is a leaf,
-1 the first. LightGBM compares in double precision, but takes values next to nothing for zero; the shrinkage is in
the leaves already.
"""

from typing import Any

import numpy as np

from thrifty.models.boosting.forest import LEAF, Forest, Tree

NOTHING = float(np.float32(1e-35))  # values no larger are zero to LightGBM
ZERO_IS_MISSING = 1  # in the two bits of `decision_type` that say what stands for a missing value


def estimator(model: Any) -> Forest:
    """Read a fitted LightGBM estimator, up to its best iteration if it was stopped early."""
    return booster(model.booster_, getattr(model, "feature_names_in_", None))


def booster(model: Any, feature_names: Any = None) -> Forest:
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
        feature_names=feature_names,
    )


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


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
    )


def _thresholds(fields: dict[str, str]) -> np.ndarray:
    """Return the thresholds, those next to zero moved to where what LightGBM takes for zero begins or ends."""
    threshold = _numbers(fields, "threshold", float)
    edge = np.where(threshold < 0, np.nextafter(-NOTHING, -np.inf), NOTHING)
    return np.where(np.abs(threshold) <= NOTHING, edge, threshold)


def _numbers(fields: dict[str, str], key: str, kind: type) -> np.ndarray:
    return np.array(fields.get(key, "").split(), dtype=kind)


def _refuse_unknown(fields: dict[str, str]) -> None:
    missing = _numbers(fields, "decision_type", int) >> 2 & 3
    for present, what in (
        (int(fields["num_cat"]), "splits on categories"),
        (int(fields.get("is_linear", 0)), "has linear leaves"),
        ((missing == ZERO_IS_MISSING).any(), "takes zero for missing"),
    ):
        if present:
            raise ValueError(f"LightGBM: a tree {what}, which a Forest cannot represent. Train without.")
