"""A TableModel with error costs answers with the class of least expected cost; class weights are sample weights."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils.class_weight import compute_sample_weight

from models.tables.mixed import COSTS, as_pandas, columns, targets
from reference import error_costs as reference
from thrifty import (
    ASTCClassifier,
    AttentiveClassifier,
    CostWeightedL1Classifier,
    CostWeightedL1Regressor,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    StaticSelectionClassifier,
    TableModel,
    ThriftyClassifier,
    load,
    save,
)
from thrifty.costs.error_costs import NumberErrorCosts
from thrifty.models.session import drive

VALUES = columns()
X = as_pandas(VALUES)
NUMBERS = targets(VALUES)
TWO = np.where(np.median(NUMBERS) < NUMBERS, "well", "ill")
THREE = np.digitize(NUMBERS, np.quantile(NUMBERS, [0.3, 0.6]))
COSTS_OF_TWO = [[0.0, 50.0], [5.0, 0.0]]
COSTS_OF_THREE = [[0.0, 1.0, 9.0], [2.0, 0.0, 1.0], [30.0, 2.0, 0.0]]
CLASSIFIERS = [
    ASTCClassifier(node_budget=3.0, max_depth=3),
    AttentiveClassifier(),
    CostWeightedL1Classifier(cost_weight=0.01),
    GreedyMiserClassifier(n_estimators=15, charge="row", min_samples_leaf=5),
    StaticSelectionClassifier(random_state=0),
    ThriftyClassifier(n_rounds=0, n_estimators=20, random_state=0),
]


@pytest.mark.parametrize(("y", "matrix"), [(TWO, COSTS_OF_TWO), (THREE, COSTS_OF_THREE)], ids=["two", "three"])
@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=lambda each: type(each).__name__)
def test_answers_are_those_of_least_expected_cost_in_batch_and_session(estimator, y, matrix, tmp_path):
    model = clone(TableModel(estimator, costs=COSTS, error_costs=matrix)).fit(X, y)
    for cap in (None, 1.1):
        found = model.acquire(X, cap)
        codes = [reference.cheapest_answer(p, matrix) for p in model.predict_proba(X, cap)]
        assert found.prediction.tolist() == model.classes_[codes].tolist()
        for i in range(0, len(X), 20):
            session = model.session(cap)
            stop = drive(session, lambda name, i=i: X[name].iloc[i])
            assert (stop.prediction, session.spend) == (found.prediction[i], found.spend[i])
            np.testing.assert_allclose(stop.score, found.score[i])
    plain = TableModel(estimator, costs=COSTS).fit(X, y)
    assert (plain.predict(X) != model.predict(X)).any()
    loaded = load(save(model, tmp_path / "model.thrifty"))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))


def test_an_answer_so_far_is_the_cheapest_one_too():
    model = TableModel(CostWeightedL1Classifier(cost_weight=0.001), costs=COSTS, error_costs=COSTS_OF_TWO)
    session = model.fit(X, TWO).session()
    session.next()
    assert session.answer_so_far().prediction == model.predict(X, cap=0.0)[0] == "ill"


def test_pairs_are_kept_in_model_files(tmp_path):
    pairs = {("ill", "well"): 50.0, ("well", "ill"): 5.0}
    model = TableModel(CostWeightedL1Classifier(), costs=COSTS, error_costs=pairs).fit(X, TWO)
    loaded = load(save(model, tmp_path / "model.thrifty"))
    assert loaded.error_costs == pairs
    np.testing.assert_array_equal(loaded.error_costs_.matrix, COSTS_OF_TWO)


def test_class_weights_are_multiplied_into_sample_weights():
    own = 1.0 + np.arange(len(X)) % 3
    rare = np.where(np.arange(len(X)) % 7 == 0, "ill", TWO)
    for class_weight in ("balanced", {"well": 4.0}):
        weight = own * compute_sample_weight(class_weight, rare)
        by_hand = TableModel(CostWeightedL1Classifier(), costs=COSTS).fit(X, rare, weight)
        model = TableModel(CostWeightedL1Classifier(), costs=COSTS, class_weight=class_weight).fit(X, rare, own)
        np.testing.assert_array_equal(model.decision_function(X), by_hand.decision_function(X))


@pytest.mark.parametrize(
    ("parameters", "problem"),
    [
        ({"error_costs": [[0.0, 1.0]]}, r"error_costs is .*; expected a matrix of shape \(2, 2\)"),
        ({"class_weight": "heavy"}, "class_weight is 'heavy'; expected 'balanced'"),
        ({"class_weight": {"sick": 2.0}}, "class_weight has 'sick', which is not a class of y"),
        ({"class_weight": {"ill": 0.0}}, "class_weight of 'ill' is 0.0"),
    ],
)
def test_bad_parameters_are_refused(parameters, problem):
    with pytest.raises(ValueError, match=f"TableModel: {problem}"):
        TableModel(CostWeightedL1Classifier(), costs=COSTS, **parameters).fit(X, TWO)


def test_costs_of_errors_of_numbers_are_kept_and_change_no_answer(tmp_path):
    plain = TableModel(CostWeightedL1Regressor(), costs=COSTS).fit(X, NUMBERS)
    model = TableModel(CostWeightedL1Regressor(), costs=COSTS, error_costs={"absolute": 2.0}).fit(X, NUMBERS)
    np.testing.assert_array_equal(model.predict(X), plain.predict(X))
    loaded = load(save(model, tmp_path / "model.thrifty"))
    assert loaded.error_costs_ == NumberErrorCosts(2.0, power=1)


def test_other_tasks_are_refused():
    with pytest.raises(ValueError, match="TableModel: class_weight is 'balanced'; expected None, because"):
        TableModel(CostWeightedL1Regressor(), costs=COSTS, class_weight="balanced").fit(X, NUMBERS)
    with pytest.raises(ValueError, match=r"TableModel: error_costs is 1.0; expected None, because"):
        TableModel(GreedyMiserRanker(), costs=COSTS, error_costs=1.0).fit(X, THREE)
