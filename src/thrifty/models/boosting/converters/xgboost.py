"""Forests of XGBoost, read from the JSON that it saves.

XGBoost rounds values to float32 and goes left where they are less than the threshold. Leaves keep their values where
splits keep their thresholds.
"""

import json
from typing import Any

import numpy as np

from thrifty.models.boosting.converters.single_precision import less_than
from thrifty.models.boosting.forest import LEAF, Forest, Tree


def estimator(model: Any) -> Forest:
    """Read a fitted XGBoost estimator, up to its best iteration if it was stopped early."""
    if not np.isnan(model.missing):
        raise ValueError(f"{type(model).__name__}: missing is {model.missing!r}; a Forest can only represent NaN.")
    boosted, best = model.get_booster(), getattr(model, "best_iteration", None)
    return booster(boosted if best is None else boosted[: best + 1])


def booster(model: Any) -> Forest:
    """Read a Booster; outputs and base add up to ``predict(output_margin=True)``."""
    learner = json.loads(model.save_raw("json"))["learner"]
    boosted, parameters = learner["gradient_booster"], learner["learner_model_param"]
    if boosted["name"] == "gblinear":
        raise ValueError("XGBoost: booster is 'gblinear', which has no trees. Train with 'gbtree'.")
    grown = boosted.get("gbtree", boosted)["model"]
    shares = boosted.get("weight_drop", [1.0] * len(grown["trees"]))  # of DART
    trees = [_tree(tree, share) for tree, share in zip(grown["trees"], shares, strict=True)]
    n_features, n_scores = int(parameters["num_feature"]), max(int(parameters[f"num_{k}"]) for k in ("class", "target"))

    def forest(base: np.ndarray) -> Forest:
        names, score_of = model.feature_names, grown["tree_info"]
        return Forest.from_trees(trees, n_features=n_features, base=base, score_of=score_of, feature_names=names)

    # The base is saved in a form that depends on objective and version; it is what the trees leave to be explained.
    row = np.zeros((1, n_features))
    margin = model.inplace_predict(row, predict_type="margin", validate_features=False).reshape(1, n_scores)
    return forest((margin - forest(np.zeros(n_scores)).scores(row))[0])


def _tree(tree: dict[str, Any], share: float) -> Tree:
    _refuse_unknown(tree)
    left, right, number = (np.array(tree[key]) for key in ("left_children", "right_children", "split_conditions"))
    number = number.astype(np.float32)
    return Tree(
        feature=np.where(left < 0, LEAF, tree["split_indices"]),
        threshold=less_than(number),
        left=left,
        right=right,
        value=share * number.astype(np.float64)[:, None],
    )


def _refuse_unknown(tree: dict[str, Any]) -> None:
    for present, what in (
        (tree["categories_nodes"], "splits on categories"),
        (int(tree["tree_param"]["size_leaf_vector"]) > 1, "has a vector in each leaf"),
    ):
        if present:
            raise ValueError(f"XGBoost: a tree {what}, which a Forest cannot represent. Train without.")
