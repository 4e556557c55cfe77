"""Converter for LightGBM, which reads the text that LightGBM saves.

A tree is a block of lines ``key=numbers``. Splits and leaves are numbered separately: a child c >= 0 is split c, and a
child c < 0 is leaf -c - 1. LightGBM compares in double precision, but treats values very close to 0 as 0. The leaf
values already include the shrinkage.
"""

from typing import Any

import numpy as np

from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.forests.levels import CategoryLevels
from thrifty.models.forests.task import Kind, Task

ZERO_BOUND = float(np.float32(1e-35))  # LightGBM treats a value x with abs(x) <= ZERO_BOUND as 0
CATEGORICAL, DEFAULT_LEFT = 1, 2  # bits of `decision_type`
ZERO_IS_MISSING, NAN_IS_MISSING = 1, 2  # values of the next two bits: what counts as a missing value
LINKS = {
    **dict.fromkeys(("poisson", "gamma", "tweedie"), "log"),
    "cross_entropy": "logit",
    "cross_entropy_lambda": "softplus",
}
CLASS_LINKS = {"binary": "identity", "multiclass": "identity", "multiclassova": "one against rest"}


def estimator(model: Any) -> Forest:
    """Read a fitted LightGBM estimator, up to its best iteration if training stopped early."""
    return booster(model.booster_, getattr(model, "classes_", None))


def booster(model: Any, classes: Any = None) -> Forest:
    """Read a Booster. The sum of the outputs is ``predict(raw_score=True)``; boosting_type='rf' then averages it."""
    text, _, settings = model.model_to_string().partition("end of trees")
    head, *blocks = text.split("\nTree=")
    header = _fields(head)
    trees = [_fields(block) for block in blocks]
    for fields in trees:
        _refuse_unsupported(fields)
    n_scores = int(header["num_tree_per_iteration"])
    averaged = "average_output" in head.splitlines()  # boosting_type='rf'
    grown = [_tree(fields) for fields in trees]
    if _starts_from_prior(trees[:n_scores]) and not (averaged or "[boosting: dart]" in settings):
        grown[n_scores:] = [tree._replace(expected=None) for tree in grown[n_scores:]]
    return Forest.from_trees(
        grown,
        n_features=int(header["max_feature_idx"]) + 1,
        base=np.zeros(n_scores),
        feature_names=_names(header),
        task=_task(header.get("objective", "custom"), n_scores, classes, len(trees) // n_scores if averaged else 0),
        levels=_levels(header["feature_infos"].split(), model.pandas_categorical),
    )


def _fields(block: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in block.splitlines() if "=" in line)


def _names(header: dict[str, str]) -> list[str] | None:
    names = header["feature_names"].split()
    return None if names == [f"Column_{j}" for j in range(len(names))] else names


def _starts_from_prior(first_round: list[dict[str, str]]) -> bool:
    """Tell whether the initial score is the prior. LightGBM adds it to the first trees, which then have no shrinkage.

    The value of the root of a tree is the step by which the round moves the mean, plus the initial score. Rounds that
    follow the prior are not expected to move the mean.
    """
    return all(float(fields["shrinkage"]) == 1 for fields in first_round)


def _task(objective: str, n_scores: int, classes: Any, n_averaged: int) -> Task:
    """Return the task of a model, which averages so many rounds, or none if it adds them."""
    name, *options = objective.split()
    given = dict(option.split(":") for option in options if ":" in option)
    scale = 1.0 / max(n_averaged, 1)
    if classes is None and name not in CLASS_LINKS:
        kind: Kind = "ranking" if name in ("lambdarank", "rank_xendcg") else "regression"
        link = "root" if "sqrt" in options else LINKS.get(name, "identity")
        return Task(kind, link=link, scale=scale, averaged=n_averaged > 0)
    if name not in (*CLASS_LINKS, "cross_entropy"):
        raise ValueError(
            f"LightGBM: the classifier was trained with the objective {name!r}, which does not give probabilities. "
            "Pass its booster_, whose predictions are the raw scores."
        )
    return Task(
        "classification",
        link=CLASS_LINKS.get(name, "identity"),
        scale=scale * float(given.get("sigmoid", 1.0)),
        classes=tuple(range(max(n_scores, 2)) if classes is None else np.asarray(classes).tolist()),
        averaged=n_averaged > 0,
    )


def _tree(fields: dict[str, str]) -> Tree:
    leaves = _numbers(fields, "leaf_value", float)
    n_splits = len(leaves) - 1
    unused = np.zeros(len(leaves), dtype=np.int64)  # entries of leaves that nothing reads

    def with_leaves(splits: np.ndarray, at_leaves: np.ndarray) -> np.ndarray:
        """Return an array over all nodes: first the splits, then the leaves."""
        return np.concatenate([splits[:n_splits], at_leaves])

    left, right = (_numbers(fields, f"{side}_child", int) for side in ("left", "right"))
    return Tree(
        feature=with_leaves(_numbers(fields, "split_feature", int), unused + LEAF),
        threshold=with_leaves(_thresholds(fields), unused),
        left=with_leaves(np.where(left < 0, n_splits + ~left, left), unused),
        right=with_leaves(np.where(right < 0, n_splits + ~right, right), unused),
        value=with_leaves(np.zeros(n_splits), leaves)[:, None],
        missing_left=with_leaves(_missing_left(fields), unused > 0),
        categories=_categories(fields) if n_splits else None,
        expected=_numbers(fields, "internal_value", float)[:1] if n_splits else leaves,
    )


def _thresholds(fields: dict[str, str]) -> np.ndarray:
    """Return thresholds that send all values that LightGBM treats as 0 to the same side as 0.

    A threshold t with -ZERO_BOUND <= t < 0 moves just below -ZERO_BOUND, one with 0 <= t <= ZERO_BOUND to ZERO_BOUND.
    """
    threshold = _numbers(fields, "threshold", float)
    edge = np.where(threshold < 0, np.nextafter(-ZERO_BOUND, -np.inf), ZERO_BOUND)
    return np.where(np.abs(threshold) <= ZERO_BOUND, edge, threshold)


def _missing_left(fields: dict[str, str]) -> np.ndarray:
    """Return whether NaN goes left: as learned, otherwise like 0; at a categorical split it always goes right."""
    decision = _numbers(fields, "decision_type", int)
    learned = decision >> 2 & 3 == NAN_IS_MISSING
    goes_left = np.where(learned, decision & DEFAULT_LEFT > 0, _numbers(fields, "threshold", float) >= 0)
    return goes_left & ~(decision & CATEGORICAL > 0)


def _categories(fields: dict[str, str]) -> dict[int, list[int]]:
    """Return the categories that go left at each categorical split.

    The `threshold` of such a split is the number k of its set. The bits of words boundaries[k]..boundaries[k + 1] are
    the members of the set.
    """
    boundaries, words = _numbers(fields, "cat_boundaries", int), _numbers(fields, "cat_threshold", np.uint32)
    set_of = _numbers(fields, "threshold", float).astype(int)
    sets = {}
    for node in np.flatnonzero(_numbers(fields, "decision_type", int) & CATEGORICAL).tolist():
        members = words[boundaries[set_of[node]] : boundaries[set_of[node] + 1]]
        sets[node] = np.flatnonzero(np.unpackbits(members.view(np.uint8), bitorder="little")).tolist()
    return sets


def _levels(infos: list[str], lists: list[list[Any]] | None) -> CategoryLevels | None:
    """Return the levels of the columns that were categories in the training frame.

    LightGBM keeps one list per such column, in the order of the columns, but not which column. Columns that it splits
    as categories have a list. Ordered categories, which it splits as numbers, have one too. So a list may fit several
    columns of numbers, and then no column gets it.
    """
    if not lists:
        return None
    first, last = _assignments(infos, [len(levels) for levels in lists])
    return CategoryLevels({j: levels for j, k, levels in zip(first, last, lists, strict=False) if j == k})


def _assignments(infos: list[str], sizes: list[int]) -> tuple[list[int], list[int]]:
    """Return the first and the last column that each list can have; two empty lists if not all lists can have one.

    Lists keep their order, and every column of categories gets one. ``fits[j, k]`` tells whether the columns from j on
    can have the lists from k on. Column j gets list k, or no list if it is not a column of categories.
    """
    may_have: np.ndarray = np.array([_largest_code(info) for info in infos])[:, None] < np.array(sizes)
    optional = [not _is_category(info) for info in infos]
    fits = np.zeros((len(infos) + 1, len(sizes) + 1), dtype=bool)
    fits[-1, -1] = True
    for j in reversed(range(len(infos))):
        fits[j] = fits[j + 1] & optional[j]
        fits[j, :-1] |= may_have[j] & fits[j + 1, 1:]
    first: list[int] = []
    last: list[int] = []
    for j in range(len(infos) if fits[0, 0] else 0):
        if (k := len(first)) < len(sizes) and may_have[j, k] and fits[j + 1, k + 1]:
            first.append(j)
        if not (optional[j] and fits[j + 1, len(last)]):
            last.append(j)
    return first, last


def _is_category(info: str) -> bool:
    """Tell whether a column is split as categories: its info is ``-1:3:0``, that of a number ``[0:3]`` or ``none``."""
    return info[0] not in "[n"


def _largest_code(info: str) -> float:
    """Return the largest value of a column if its values can be codes, otherwise infinity."""
    codes = [float(code) for code in info.strip("[]").split(":")] if info != "none" else []
    return max(codes, default=-1.0) if all(code.is_integer() and code >= -1 for code in codes) else np.inf


def _numbers(fields: dict[str, str], key: str, kind: type) -> np.ndarray:
    return np.array(fields.get(key, "").split(), dtype=kind)


def _refuse_unsupported(fields: dict[str, str]) -> None:
    missing = _numbers(fields, "decision_type", int) >> 2 & 3
    for present, what in (
        (int(fields.get("is_linear", 0)), "has linear leaves"),
        ((missing == ZERO_IS_MISSING).any(), "treats zero as missing"),
    ):
        if present:
            raise ValueError(f"LightGBM: a tree {what}, which a Forest cannot represent. Train without this option.")
