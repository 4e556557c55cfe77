"""Numbers that would make a kernel read outside its arrays are refused, even if the hash is correct."""

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from persistence.opened import change
from thrifty import (
    AttentiveClassifier,
    CSTCRegressor,
    DynamicSelectionClassifier,
    EarlyExitRanker,
    Forest,
    GreedyMiserRanker,
    StaticSelectionClassifier,
)
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, save


@pytest.fixture(scope="module")
def saved(models, heart, table_model, tmp_path_factory):
    """The files of models of all kinds, by name."""
    costs, X, y = heart.costs, heart.X, heart.y
    trees = GradientBoostingRegressor(n_estimators=3, max_depth=2, random_state=0)

    def dynamic(classifier, policy=None):
        return DynamicSelectionClassifier(
            costs=costs, classifier=classifier, policy=policy, n_iterations=1, n_folds=1, random_state=0
        )

    more = {
        "mapped": CSTCRegressor(costs=costs, max_depth=1, feature_map=trees).fit(X, y),
        "exits": EarlyExitRanker(GreedyMiserRanker(n_estimators=5), costs=costs).fit(X, y),
        "table": table_model,
        "converted": Forest.from_model(RandomForestClassifier(3, max_depth=2).fit(X, X[:, 2])).with_costs(costs),
        "linear chain": AttentiveClassifier(costs=costs).fit(X, y),
        "wrapped chain": AttentiveClassifier(SVC().fit(X[:60], y[:60]), costs=costs).fit(X, y),
        "queue": StaticSelectionClassifier(costs=costs, ranking="weight_per_cost", n_factors=2).fit(X, y),
        "tree chain": AttentiveClassifier(GradientBoostingClassifier(n_estimators=3), costs=costs).fit(X, y),
        "random forest": dynamic(RandomForestClassifier(2, max_depth=2, random_state=0)).fit(X, y),
        "boosting": dynamic(GradientBoostingClassifier(n_estimators=2, max_depth=2)).fit(X, y),
        "histograms": dynamic(HistGradientBoostingClassifier(max_iter=2, max_depth=2)).fit(X, y),
        "machine": dynamic(SVC()).fit(X[:60], y[:60]),
        "bayes": dynamic(GaussianNB(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(X, y),
    }
    folder = tmp_path_factory.mktemp("saved")
    return {name: save(model, folder / name).read_bytes() for name, model in (models | more).items()}


def put(value, place=0):
    """Return a function that writes a value into an array."""

    def write(array):
        array = array.copy()
        array.reshape(-1)[place] = value
        return array

    return write


def shorter(array):
    return array[:-1]


def single(array):
    return array.astype(np.float32)


UNSOUND = [
    ("tree", "tree_.upper", put(99), "tree_.upper has numbers that are not below"),
    ("tree", "tree_.upper", put(0, 1), "has child 0"),
    ("tree", "tree_.lower", put(-2), "tree_.lower has numbers below -1"),
    ("tree", "tree_.buys", put(10**6), "tree_.buys has numbers that are not below 13"),
    ("tree", "tree_.buys", put(-1), "tree_.buys has numbers below 0"),
    ("tree", "tree_.n_held", put(10**9), "tree_.n_held has lengths that do not add up"),
    ("tree", "tree_.n_held", put(2**63 - 1), "tree_.n_held has lengths that do not add up"),
    ("tree", "tree_.n_bought", lambda array: array.astype(np.uint16), "tree_.n_bought has dtype uint16"),
    ("tree", "tree_.scores", lambda scores: scores[:, :-1], "tree_.projection has shape"),
    ("tree", "tree_.fill", shorter, "fill|not below 12"),
    ("tree", "tree_.prior", lambda prior: np.append(prior, 0.0), "tree_.prior has shape"),
    ("tree", "costs.prices", put(-1.0), "prices has numbers below 0"),
    ("tree", "costs.prices", shorter, "names has 13 entries; expected 12"),
    ("tree", "costs.prices", put(np.inf), "price"),
    ("tree", ".n_features_in_", lambda _: 3, "costs are for another number of columns"),
    ("tree", ".n_features_in_", lambda _: 13.0, "n_features_in_ is 13.0; expected a whole number"),
    ("tree", ".classes_", lambda classes: classes[:1], "fewer than two classes"),
    ("mapped", "feature_map_.forest.feature", put(99), "feature has numbers that are not below 13"),
    ("mapped", "feature_map_.evaluation_costs", lambda _: -1.0, "evaluation_costs is -1.0"),
    ("mapped", "feature_map_.evaluation_costs", lambda _: [1.0], "1 evaluation costs for 3 trees"),
    ("mapped", "._fill", shorter, "_fill has shape"),
    ("forest", "forest_.left", put(10**6), "left holds an index outside"),
    ("forest", "forest_.right", put(0), "is reached in two ways"),
    ("forest", "forest_.starts", put(-1), "starts has numbers below 0"),
    ("forest", "forest_.score_of", put(1), "score_of has numbers that are not below 1"),
    ("forest", "forest_.value", shorter, "value has shape"),
    ("forest", "forest_.base", lambda base: base[None], r"base has shape \(1, 1\)"),
    ("forest", "forest_.n_features", lambda _: 1000, "other columns"),
    ("forest", "forest_.n_features", lambda _: 2**40, "n_features is 1099511627776"),
    ("forest", "evaluation_costs_", shorter, "evaluation_costs"),
    ("exits", "checkpoints_", put(10**6, -1), "ascending order"),
    ("exits", "checkpoints_", lambda _: np.array([2**63 - 1, -2]), "checkpoints_ has numbers below 0"),
    ("exits", "checkpoints_", lambda _: np.array([2**63 - 1, 5]), "ascending order"),
    ("exits", "checkpoints_", shorter, "ascending order up to the last round"),
    ("exits", "checkpoints_", lambda steps: steps.astype(np.uint16), "has dtype uint16; expected int64"),
    ("exits", ".top", lambda _: -3, "top is -3; expected a whole number from 1"),
    ("chain", "chain_.terms.vectors", lambda vectors: vectors[:, :-1], "has shape"),
    ("chain", "chain_.terms.vectors", single, "vectors has dtype float32"),
    ("chain", "chain_.terms.weights", single, "weights has dtype float32"),
    ("chain", "chain_.terms.ids", put(10**6), "ids of a chain"),
    ("chain", "chain_.terms.kernel.name", lambda _: "laplacian", "name is 'laplacian'; expected one of linear"),
    ("chain", "chain_.order", shorter, "has shape"),
    ("chain", "chain_.checkpoints.weights", single, "weights has dtype float32"),
    ("chain", "chain_.checkpoints.n_terms", lambda _: 10**6, "checkpoint 0 of a chain"),
    ("chain", "chain_.checkpoints.n_terms", lambda _: 2**63 - 1, "checkpoint 0 of a chain"),
    ("chain", "chain_.checkpoints.first", lambda _: -1, "first is -1"),
    ("chain", "chain_.boundary.lower", shorter, "upper has shape"),
    ("linear chain", "chain_.terms.ids", put(99), "ids of a chain"),
    ("wrapped chain", "estimator.terms.ids", put(10**6), "ids of a chain"),
    ("wrapped chain", "estimator.terms.fill", lambda _: None, "fill of a chain"),
    ("wrapped chain", "estimator.classes_", lambda _: np.arange(3), "scores of other classes"),
    ("queue", ".queue_", lambda queue: [["nothing"], *queue], "queue is not a list of its factors"),
    ("queue", ".queue_", lambda queue: [queue[0], queue[0]], "queue is not a list of its factors"),
    ("tree chain", "terms.forest.n_features", lambda _: 12, "forest"),
    ("policy", "factors_.groups", lambda _: 5, "groups is 5; expected a list"),
    ("policy", "factors_.groups", lambda groups: [[-1], *groups[1:]], r"groups\[0\]\[0\] is -1"),
    ("policy", "factors_.groups", lambda groups: groups[1:], "groups is"),
    ("policy", "scores_.starts", put(10**6, -1), "other factors"),
    ("policy", "scores_.weights", single, "weights has dtype float32"),
    ("policy", "scores_.intercepts", lambda array: array[:, :1], "intercepts has shape"),
    ("policy", "policy_.values", lambda array: array[:, :-1], "other columns or actions"),
    ("policy", "policy_.meta", lambda array: array[:-1], "other columns or actions"),
    ("policy", "policy_.intercepts", shorter, "intercepts has shape"),
    ("policy", "standardiser_.slope", shorter, "slope has shape"),
    ("policy", "standardiser_.slope", put(np.inf), "slope has numbers that are not finite"),
    ("converted", ".classes_", shorter, "scores of other classes"),
    ("converted", ".intercepts_", shorter, "its intercepts are not one number per score|has shape"),
    ("table", "encoder_.source_", put(7), "derives other columns"),
    ("table", "encoder_.fields_.kind", lambda _: "colour", "kind is 'colour'; expected one of number"),
    ("table", ".cap", lambda _: -1.0, "cap is not a limit of at least 0"),
    ("random forest", "models.forest.left", put(10**6), "left holds an index outside"),
    ("random forest", "models.forest.left", put(0), "is reached in two ways"),
    ("random forest", "models.forest.feature", put(99), "feature has numbers that are not below"),
    ("random forest", "models.classes_", shorter, "fewer than two classes"),
    ("boosting", "models.forest.n_features", lambda _: 99, "trees that read other columns"),
    ("boosting", "models.n_features_in_", lambda _: 99, "trees that read other columns"),
    ("boosting", "models.forest.base", lambda _: np.zeros(3), "another number of scores"),
    ("histograms", "models.forest.category_sizes", lambda _: np.array([5]), "category_sizes has shape"),
    ("histograms", "models.forest.task.classes", lambda _: {"tuple": []}, "classes is a dict; expected a list"),
    ("machine", "models.machine.vectors", lambda array: array[:, :-1], "other columns or classes"),
    ("machine", "models.machine.weights", lambda array: array[:-1], "weights has shape"),
    ("machine", "models.machine.intercepts", lambda _: np.zeros(2), "intercepts has shape"),
    ("bayes", "models.theta", lambda array: array[:, :-1], "theta has shape"),
    ("bayes", "policy_.classifier.classes_", lambda classes: classes + 99, "other columns or actions"),
    ("bayes", "policy_.classifier.classes_", lambda classes: classes.astype(float), "other columns or actions"),
    ("bayes", "policy_.n_actions", lambda _: 3, "other columns or actions"),
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
