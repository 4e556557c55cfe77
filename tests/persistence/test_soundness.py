"""Numbers that would make a kernel read outside its arrays are refused, even if the hash is correct."""

import json
from io import BytesIO

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.svm import SVC

from persistence.mutants import NEW, close_model, open_model
from thrifty import CSTCRegressor, DynamicSelectionClassifier, EarlyExitRanker, GreedyMiserRanker
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, save
from thrifty.persistence.trust import nodes


@pytest.fixture(scope="module")
def saved(models, heart, table_model, tmp_path_factory):
    """The files of models of all kinds, by name."""
    costs, X, y = heart.costs, heart.X, heart.y
    trees = GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0)

    def dynamic(classifier):
        return DynamicSelectionClassifier(costs=costs, classifier=classifier, n_iterations=1, n_folds=1, random_state=0)

    more = {
        "mapped": CSTCRegressor(costs=costs, max_depth=1, feature_map=trees).fit(X, y),
        "exits": EarlyExitRanker(GreedyMiserRanker(n_estimators=5), costs=costs).fit(X, y),
        "table": table_model,
        "random forest": dynamic(RandomForestClassifier(2, max_depth=2, random_state=0)).fit(X, y),
        "boosting": dynamic(GradientBoostingClassifier(n_estimators=2, max_depth=2)).fit(X, y),
        "histograms": dynamic(HistGradientBoostingClassifier(max_iter=2, max_depth=2)).fit(X, y),
        "machine": dynamic(SVC()).fit(X[:60], y[:60]),
    }
    folder = tmp_path_factory.mktemp("saved")
    return {name: save(model, folder / name).read_bytes() for name, model in (models | more).items()}


def change(path, at, changed):
    """Change the array, or the plain value, that an attribute is stored as."""
    members, manifest = open_model(path)
    schema = json.loads(members["schema.json"])
    files = {}
    for node in nodes(schema):
        if not node.at.endswith(at):  # a shared object is in several places, and the first one counts
            continue
        if node.loader == "JsonNode":
            value = changed(json.loads(node.entries["content"]))
            node.entries.update({"content": json.dumps(value), "__id__": NEW})
        elif "file" in node.entries:
            files[node.entries["file"]] = members[node.entries["file"]]
    for name, content in files.items():
        file = BytesIO()
        np.save(file, changed(np.load(BytesIO(content))), allow_pickle=False)
        members[name] = file.getvalue()
    members["schema.json"] = json.dumps(schema).encode()
    close_model(path, members, manifest)


def put(value, place=0, field=None):
    """Return a function that writes a value into an array."""

    def write(array):
        array = array.copy()
        (array if field is None else array[field]).reshape(-1)[place] = value
        return array

    return write


def shorter(array):
    return array[:-1]


def single(array):
    return array.astype(np.float32)


UNSOUND = [
    ("tree", "tree_.upper", put(99), "node 0 has child 99"),
    ("tree", "tree_.upper", put(0, 1), "has child 0"),
    ("tree", "tree_.lower", put(-2), "has child -2"),
    ("tree", "tree_.buys", put(10**6), "buys a column outside"),
    ("tree", "tree_.buys", put(-1), "buys a column outside"),
    ("tree", "tree_.n_held", put(10**9), "weights of shapes"),
    ("tree", "tree_.scores", lambda scores: scores[:, :-1], "weights of shapes"),
    ("tree", "tree_.fill", shorter, "a fill of shape"),
    ("tree", "tree_.prior", lambda prior: np.append(prior, 0.0), "of shapes"),
    ("tree", "costs.prices", put(-1.0), "price"),
    ("tree", "costs.prices", shorter, "do"),
    ("tree", "n_features_in_", lambda _: 3, "costs are for another number of columns"),
    ("tree", "classes_", lambda classes: classes[:1], "fewer than two classes"),
    ("mapped", "feature_map_.forest.feature", put(99), "feature holds an index outside"),
    ("mapped", "feature_map_.evaluation_costs", lambda _: -1.0, "price"),
    ("mapped", "_fill", shorter, "fill values"),
    ("forest", "forest_.left", put(10**6), "left holds an index outside"),
    ("forest", "forest_.right", put(0), "is reached in two ways"),
    ("forest", "forest_.starts", put(-1), "starts holds an index outside"),
    ("forest", "forest_.score_of", put(1), "score_of holds an index outside"),
    ("forest", "forest_.value", shorter, "entries for"),
    ("forest", "forest_.base", lambda base: base[None], r"base \(1, 1\)"),
    ("forest", "forest_.n_features", lambda _: 1000, "other columns"),
    ("forest", "evaluation_costs_", shorter, "evaluation_costs"),
    ("exits", "checkpoints_", put(10**6, -1), "ascending order"),
    ("exits", "checkpoints_", lambda steps: steps.astype(np.int32), "not whole numbers"),
    ("exits", "top", lambda _: -3, "top or s is not valid"),
    ("chain", "chain_.terms.vectors", lambda vectors: vectors[:, :-1], "vectors of a chain"),
    ("chain", "chain_.terms.vectors", single, "vectors of a chain"),
    ("chain", "chain_.terms.weights", single, "weights of a chain"),
    ("chain", "chain_.terms.ids", put(10**6), "ids of a chain"),
    ("chain", "chain_.terms.kernel.name", lambda _: "laplacian", "kernel of a chain"),
    ("chain", "chain_.order", shorter, "order of a chain"),
    ("chain", "chain_.checkpoints.weights", single, "checkpoint 0 of a chain"),
    ("chain", "chain_.checkpoints.n_terms", lambda _: 10**6, "checkpoint 0 of a chain"),
    ("chain", "chain_.checkpoints.first", lambda _: -1, "checkpoint 0 of a chain"),
    ("chain", "chain_.boundary", shorter, "boundary of a chain"),
    ("chain", "estimator_._n_support", put(10**6), "vectors and weights of incompatible shapes"),
    ("policy", "factors_.groups", lambda _: 5, "groups is"),
    ("policy", "factors_.groups", lambda _: -1, "groups is"),
    ("policy", "scores_.starts", put(10**6, -1), "other factors"),
    ("policy", "scores_.weights", single, "other columns or classes"),
    ("policy", "scores_.intercepts", lambda array: array[:, :1], "other columns or classes"),
    ("policy", "policy_.values", lambda array: array[:, :-1], "other columns or actions"),
    ("policy", "policy_.meta", lambda array: np.asfortranarray(array), "other columns or actions"),
    ("policy", "policy_.intercepts", shorter, "other columns or actions"),
    ("policy", "standardiser_.slope", shorter, "standardiser has other columns"),
    ("table", "encoder_.source_", put(7), "derives other columns"),
    ("table", "encoder_.fields_.kind", lambda _: "colour", "a field of an unknown kind"),
    ("table", "cap", lambda _: -1.0, "cap is not a limit of at least 0"),
    ("random forest", "estimators_.tree_.nodes", put(10**6, 0, "left_child"), "does not come after it"),
    ("random forest", "estimators_.tree_.nodes", put(0, 1, "left_child"), "does not come after it"),
    ("random forest", "estimators_.tree_.nodes", put(99, 0, "feature"), "column that does not exist"),
    ("random forest", "estimators_.tree_.node_count", lambda _: 0, "fewer nodes than it claims"),
    ("boosting", "estimators_.tree_.nodes", put(-5, 0, "right_child"), "does not come after it"),
    ("boosting", "estimators_.n_features_in_", lambda _: 99, "another number of columns"),
    ("histograms", "_predictors.nodes", put(77, 0, "left"), "does not come after it"),
    ("histograms", "_predictors.nodes", put(77, 0, "feature_idx"), "column that does not exist"),
    ("machine", "_n_support", put(10**6), "vectors and weights of incompatible shapes"),
    ("machine", "support_vectors_", lambda array: array[:, :-1], "of incompatible shapes"),
    ("machine", "_dual_coef_", lambda array: array[:, :-1], "of incompatible shapes"),
]


@pytest.mark.parametrize(("name", "at", "changed", "complaint"), UNSOUND)
def test_unsound_numbers(saved, tmp_path, name, at, changed, complaint):
    path = tmp_path / "m"
    path.write_bytes(saved[name])
    change(path, at, changed)
    with pytest.raises(ModelFileError, match=complaint):
        load(path)


def test_a_consistent_change_is_accepted(models, tmp_path, heart):
    path = save(models["tree"], tmp_path / "m")
    change(path, "tree_.threshold", put(1e9))
    assert load(path).acquire(heart.X).exit.max() <= models["tree"].acquire(heart.X).exit.max()
