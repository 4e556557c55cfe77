"""Converter for XGBoost, which reads the JSON that XGBoost saves.

XGBoost rounds values to float32, and a row goes left if its value is less than the threshold. One array holds the
thresholds of splits and the values of leaves. A categorical split lists the categories that go right, so its children
are swapped here.
"""

import json
from itertools import pairwise
from typing import Any

import numpy as np

from thrifty.models.forests.converters.single_precision import less_than
from thrifty.models.forests.forest import LEAF, Forest, Tree
from thrifty.models.forests.levels import CategoryLevels
from thrifty.models.forests.task import Task
from thrifty.models.forests.tree import mean_of_leaves

LINKS = {
    **dict.fromkeys(("count:poisson", "reg:gamma", "reg:tweedie", "survival:cox", "survival:aft"), "log"),
    "reg:logistic": "logit",
}
CLASS_LINKS = {
    **dict.fromkeys(("binary:logistic", "reg:logistic", "multi:softprob", "multi:softmax"), "identity"),
    "binary:hinge": "hinge",
}


def estimator(model: Any) -> Forest:
    """Read a fitted XGBoost estimator, up to its best iteration if training stopped early."""
    if not np.isnan(model.missing):
        raise ValueError(f"{type(model).__name__}: missing is {model.missing!r}; a Forest can only represent NaN.")
    boosted, best = model.get_booster(), getattr(model, "best_iteration", None)
    averaged = type(model).__name__.startswith("XGBRF")
    return booster(boosted if best is None else boosted[: best + 1], getattr(model, "classes_", None), averaged)


def booster(model: Any, classes: Any = None, averaged: bool = False) -> Forest:
    """Read a Booster. Base plus outputs is ``predict(output_margin=True)``."""
    learner = json.loads(model.save_raw("json"))["learner"]
    _refuse_unsupported(learner)
    boosted, parameters = learner["gradient_booster"], learner["learner_model_param"]
    grown = boosted.get("gbtree", boosted)["model"]
    n_features, n_scores = int(parameters["num_feature"]), max(int(parameters["num_class"]), 1)
    order, score_of = _evenly(grown["tree_info"], n_scores)
    shares = boosted.get("weight_drop", [1.0] * len(order))  # tree weights of DART
    trees = [_tree(grown["trees"][t], shares[t]) for t in order]
    if _starts_from_prior([grown["trees"][t] for t in order[:n_scores]], parameters):
        trees = [tree._replace(expected=None) for tree in trees]  # they are not expected to move the mean

    def forest(base: np.ndarray) -> Forest:
        return Forest.from_trees(
            trees,
            n_features=n_features,
            base=base,
            score_of=score_of,
            feature_names=model.feature_names,
            task=_task(learner["objective"]["name"], n_scores, classes, averaged),
            levels=_levels(grown.get("cats", {}).get("enc", [])),
        )

    # The form of the saved base depends on the objective and the version, so it is computed as margin - trees.
    row = np.zeros((1, n_features))
    margin = model.inplace_predict(row, predict_type="margin", validate_features=False).reshape(1, n_scores)
    return forest((margin - forest(np.zeros(n_scores)).scores(row))[0])


def _refuse_unsupported(learner: dict[str, Any]) -> None:
    if learner["gradient_booster"]["name"] == "gblinear":
        raise ValueError("XGBoost: booster is 'gblinear', which has no trees. Train with 'gbtree'.")
    if (n_targets := int(learner["learner_model_param"]["num_target"])) > 1:
        raise ValueError(
            f"XGBoost: the model predicts {n_targets} targets (several labels, outputs or quantiles), but a Forest "
            "predicts one. Train one model per target."
        )
    grown = learner["gradient_booster"].get("gbtree", learner["gradient_booster"])["model"]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in grown["trees"]):
        raise ValueError(
            "XGBoost: a tree has a vector in each leaf, which a Forest cannot represent. Train with "
            "multi_strategy='one_output_per_tree'."
        )


def _evenly(score_of: list[int], n_scores: int) -> tuple[list[int], list[int]]:
    """Return an order in which the trees add to all scores in turn, and the score of each tree in this order.

    With ``num_parallel_tree``, the trees of a round come class by class. A round of a Forest is one tree per class.
    """
    order = np.concatenate([np.flatnonzero(np.array(score_of) == k)[:, None] for k in range(n_scores)], axis=1).ravel()
    return order.tolist(), [score_of[t] for t in order]


def _starts_from_prior(first_round: list[dict[str, Any]], parameters: dict[str, str]) -> bool:
    """Tell whether XGBoost has estimated the base as the prior: then the first trees do not move the mean of the rows.

    The weight of a root is the step that would move the mean. In a bag of rows it is not exactly 0.
    """
    steps = [np.abs(tree["base_weights"]) for tree in first_round]
    return parameters.get("boost_from_average") == "1" and all(step[0] <= 0.1 * step.max() for step in steps)


def _task(objective: str, n_scores: int, classes: Any, averaged: bool) -> Task:
    family, _, _ = objective.partition(":")
    if classes is not None and objective not in CLASS_LINKS:
        raise ValueError(
            f"XGBoost: the classifier was trained with the objective {objective!r}, which does not give probabilities. "
            "Pass its get_booster(), whose predictions are the raw scores."
        )
    if classes is not None or family in ("binary", "multi"):
        labels = range(max(n_scores, 2)) if classes is None else np.asarray(classes).tolist()
        link = CLASS_LINKS.get(objective, "identity")
        return Task("classification", link=link, classes=tuple(labels), averaged=averaged)
    if family == "rank":
        return Task("ranking", averaged=averaged)
    return Task(link=LINKS.get(objective, "identity"), averaged=averaged)


def _tree(tree: dict[str, Any], share: float) -> Tree:
    left, right, number = (np.array(tree[key]) for key in ("left_children", "right_children", "split_conditions"))
    number, missing_left = number.astype(np.float32), np.array(tree["default_left"], dtype=bool)
    swapped = np.array(tree["categories_nodes"], dtype=np.int64)
    left[swapped], right[swapped] = right[swapped], left[swapped]
    grown = Tree(
        feature=np.where(left < 0, LEAF, tree["split_indices"]),
        threshold=less_than(number),
        left=left,
        right=right,
        value=share * number.astype(np.float64)[:, None],
        missing_left=missing_left ^ np.isin(np.arange(len(left)), swapped),
        categories=_categories(tree),
    )
    return grown._replace(expected=mean_of_leaves(grown, np.array(tree["sum_hessian"], dtype=float)))


def _categories(tree: dict[str, Any]) -> dict[int, list[int]]:
    at = zip(tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True)
    return {node: tree["categories"][first : first + size] for node, first, size in at}


def _levels(encodings: list[dict[str, Any]]) -> CategoryLevels | None:
    """Return the levels that XGBoost 3.1 and later store if it is trained on a frame with categories.

    Texts are stored as bytes, but their offsets count characters and the end is cut off. So levels with characters
    that are not ASCII (bytes above 127, stored as negative numbers) are not known.
    """
    stored = {column: each for column, each in enumerate(encodings) if each["values"]}
    readable = {column: each for column, each in stored.items() if "type" in each or min(each["values"]) >= 0}
    levels = {column: each["values"] if "type" in each else _texts(each) for column, each in readable.items()}
    return CategoryLevels(levels) if stored else None


def _texts(encoding: dict[str, Any]) -> list[str]:
    text = bytes(encoding["values"]).decode()
    return [text[first:end] for first, end in pairwise(encoding["offsets"])]
