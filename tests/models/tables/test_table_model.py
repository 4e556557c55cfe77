"""Estimators on mixed tables: batch and session agree, and both refer to raw columns and pay for them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import cross_val_score

from models.tables.mixed import COSTS, NAMES, as_objects, as_pandas, as_polars, columns, targets
from thrifty import (
    Acquire,
    AndOrClassifier,
    ASTCClassifier,
    ASTCRegressor,
    AttentiveClassifier,
    CostError,
    CostWeightedL1Regressor,
    CSTCClassifier,
    CSTCRegressor,
    DynamicSelectionClassifier,
    EarlyExitRanker,
    GreedyMiserClassifier,
    GreedyMiserRanker,
    GreedyMiserRegressor,
    SessionError,
    StaticSelectionClassifier,
    TableModel,
    ThriftyClassifier,
    load,
    save,
)
from thrifty.metrics.ranking import ndcg_at_k
from thrifty.models.session import drive

VALUES = columns()
CAPS = (0.0, 0.3, 1.1, 3.2, 6.9)
ESTIMATORS = [
    ASTCClassifier(node_budget=3.0, max_depth=3),
    ASTCRegressor(node_budget=3.0, max_depth=4, min_samples_leaf=10),
    AndOrClassifier(),
    AttentiveClassifier(evaluation_cost=0.1),
    CostWeightedL1Regressor(cost_weight=0.01),
    CSTCRegressor(max_depth=3),
    DynamicSelectionClassifier(n_iterations=2, random_state=0),
    EarlyExitRanker(GreedyMiserRanker(n_estimators=8, min_samples_leaf=5), evaluation_cost=0.01),
    GreedyMiserClassifier(n_estimators=15, charge="row", min_samples_leaf=5),
    StaticSelectionClassifier(ranking="weight_per_cost", random_state=0),
]


def suited(estimator, y):
    if is_classifier(estimator):
        return np.where(y > np.median(y), "ill", "well")
    return y if is_regressor(estimator) else np.digitize(y, np.quantile(y, [0.3, 0.6, 0.9]))


def fitted(estimator, make=as_pandas, **options):
    return TableModel(clone(estimator), costs=COSTS, **options).fit(make(VALUES), suited(estimator, targets(VALUES)))


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda estimator: type(estimator).__name__)
def model(request):
    return fitted(request.param)


@pytest.fixture(scope="module")
def tree():
    return fitted(ASTCRegressor(node_budget=3.0, max_depth=4, min_samples_leaf=10))


# The contract, on a mixed table


def test_batch_equals_session_to_the_bit(model):
    table = as_pandas(VALUES)
    for cap in (None, *CAPS):
        batch = model.acquire(table[:40], cap)
        for i in range(40):
            session, asked, paid = model.session(cap), [], 0.0
            while isinstance(step := session.next(), Acquire):
                asked, paid = asked + list(step.features), paid + step.cost
                session.observe({name: VALUES[name][i] for name in step.features})
            assert len(asked) == len(set(asked))
            assert set(asked) == {NAMES[j] for j in np.flatnonzero(batch.acquired[i])}
            assert (session.spend, step.exit, step.prediction) == (batch.spend[i], batch.exit[i], batch.prediction[i])
            np.testing.assert_array_equal(step.score, batch.score[i])
            np.testing.assert_allclose(paid, session.spend, rtol=1e-12)


def test_spend_is_a_recount_of_raw_units_and_within_the_cap(model):
    caps = np.resize(CAPS, 300)
    for cap in (None, 2.2, caps):
        acquisition = model.acquire(as_pandas(VALUES), cap)
        assert acquisition.acquired.shape == (300, 7)
        assert cap is None or (acquisition.spend <= cap).all()
        if not getattr(model.estimator, "evaluation_cost", 0):
            np.testing.assert_array_equal(acquisition.spend, model.cost_model_.of(acquisition.acquired))


def test_values_that_are_not_acquired_do_not_matter(model):
    for cap in (None, 3.2):
        honest = model.acquire(as_pandas(VALUES), cap)
        for poison in (None, "poison", float("nan")):
            table = as_objects(VALUES)
            table[~honest.acquired] = poison
            poisoned = model.acquire(pd.DataFrame(table, columns=NAMES), cap)
            for name in ("prediction", "score", "acquired", "spend", "exit"):
                np.testing.assert_array_equal(getattr(poisoned, name), getattr(honest, name), err_msg=name)


def test_tables_of_every_library_give_the_same_predictions(model):
    expected = model.acquire(as_pandas(VALUES))
    again = fitted(model.estimator, as_polars)
    np.testing.assert_array_equal(model.acquire(pa.table(VALUES)).score, expected.score)
    np.testing.assert_array_equal(again.acquire(as_polars(VALUES)).score, expected.score)
    np.testing.assert_array_equal(model.acquire(as_polars(VALUES)).score, expected.score)


# Kinds of estimator


def test_it_has_the_task_of_its_estimator():
    classifier, regressor, ranker = (
        fitted(each) for each in (ASTCClassifier(), ASTCRegressor(), GreedyMiserRanker(n_estimators=5))
    )
    assert [is_classifier(each) for each in (classifier, regressor, ranker)] == [True, False, False]
    assert [is_regressor(each) for each in (classifier, regressor, ranker)] == [False, True, False]
    assert [hasattr(each, "predict_proba") for each in (classifier, regressor, ranker)] == [True, False, False]
    assert [hasattr(each, "classes_") for each in (classifier, regressor, ranker)] == [True, False, False]
    assert classifier.classes_.tolist() == ["ill", "well"]


def test_probabilities_and_scores_are_those_of_the_estimator():
    table = as_pandas(VALUES)
    for each in (CSTCClassifier(max_depth=2), AttentiveClassifier()):
        model = fitted(each)
        derived = model.encoder_.transform(table)
        np.testing.assert_array_equal(model.predict_proba(table, 2.5), model.estimator_.predict_proba(derived, 2.5))
        np.testing.assert_array_equal(model.decision_function(table), model.estimator_.decision_function(derived))


def test_it_can_be_cross_validated(tree):
    scores = cross_val_score(TableModel(ASTCRegressor(max_depth=3), costs=COSTS), as_pandas(VALUES), targets(VALUES))
    assert scores.mean() > 0.7
    assert tree.score(as_pandas(VALUES), targets(VALUES)) > 0.5


def test_queries_reach_a_ranker_that_compares_documents():
    table, qid = as_pandas(VALUES), np.arange(300) // 30
    labels = suited(GreedyMiserRanker(), targets(VALUES))
    model = TableModel(EarlyExitRanker(GreedyMiserRanker(n_estimators=20), s=0.1), costs=COSTS)
    model.fit(table, labels, qid=qid)
    derived = model.encoder_.transform(table)
    np.testing.assert_array_equal(model.spend(table, qid=qid), model.estimator_.spend(derived, qid=qid))
    assert model.spend(table, qid=qid).sum() < model.spend(table).sum()
    assert model.score(table, labels, qid=qid) == model.estimator_.score(derived, labels, qid=qid)
    other = TableModel(GreedyMiserRanker(n_estimators=5), costs=COSTS).fit(table, labels, qid=qid)
    np.testing.assert_array_equal(other.predict(table, qid=qid), other.predict(table))


def test_queries_are_accepted_by_every_estimator_and_score_by_query():
    table, y, qid = as_pandas(VALUES), targets(VALUES), np.arange(300) // 30
    relevance = np.digitize(y, np.quantile(y, [0.3, 0.6, 0.9]))
    model = TableModel(ASTCRegressor(), costs=COSTS).fit(table, relevance, qid=qid)
    np.testing.assert_array_equal(model.predict(table, qid=qid), clone(model).fit(table, relevance).predict(table))
    assert model.score(table, relevance, qid=qid) == ndcg_at_k(relevance, model.predict(table), qid=qid, k=5)


def test_a_table_of_numbers_gives_the_model_of_the_estimator_alone():
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    y = X @ [3, 2, 1, 0] + random.normal(size=200)
    for frame in (X, pd.DataFrame(X, columns=list("abcd"))):
        alone = GreedyMiserRegressor(costs=[4, 3, 2, 1], n_estimators=10).fit(frame, y)
        table = TableModel(GreedyMiserRegressor(n_estimators=10), costs=[4, 3, 2, 1]).fit(frame, y)
        np.testing.assert_array_equal(table.predict(frame), alone.predict(frame))
        assert table.estimator_.cost_model_ == table.cost_model_ == alone.cost_model_


def test_factors_name_raw_columns():
    table, labels = as_pandas(VALUES), suited(ASTCClassifier(), targets(VALUES))
    options = {"ranking": "weight_per_cost", "random_state": 0}
    alone = TableModel(StaticSelectionClassifier(**options), costs=COSTS).fit(table, labels)
    assert len(alone.estimator_.factors_) == 7  # all levels of a category are bought at once
    pairs = [["age", "city"], ["pain", "pulse"]]
    paired = TableModel(StaticSelectionClassifier(**options, factors=pairs), costs=COSTS).fit(table, labels)
    acquired = paired.acquire(table, cap=8.0).acquired
    for a, b in pairs:
        np.testing.assert_array_equal(acquired[:, NAMES.index(a)], acquired[:, NAMES.index(b)])


def test_columns_that_are_listed_as_categorical_are_raw_ones():
    table = as_pandas(VALUES).astype({"age": float})
    kinds = [["age", "city"], [0, 1], [name in ("age", "city") for name in NAMES]]
    for listed in kinds:
        model = fitted(GreedyMiserRegressor(n_estimators=3, categorical_features=listed, costs=COSTS))
        assert model.estimator_.categorical_features == [0]  # city has one column per level already
        assert np.isfinite(model.predict(table)).all()
    last = fitted(GreedyMiserRegressor(n_estimators=3, categorical_features=[3]))
    assert last.encoder_.source_[last.estimator_.categorical_features] == [3]
    with pytest.raises(ValueError, match=r"categorical_features.*'height'.*not a column of X"):
        fitted(GreedyMiserRegressor(categorical_features=["height"]))


# Costs and caps


def test_costs_may_come_with_the_estimator():
    y = targets(VALUES)
    model = TableModel(ASTCRegressor(costs=COSTS)).fit(as_pandas(VALUES), y)
    assert model.cost_model_ == COSTS
    assert TableModel(ASTCRegressor()).fit(as_pandas(VALUES), y).cost_model_.total == 7
    both = TableModel(ASTCRegressor(costs=COSTS), costs=np.arange(7.0)).fit(as_pandas(VALUES), y)
    assert both.cost_model_.total == 21


def test_the_smaller_cap_holds(tree):
    table = as_pandas(VALUES)
    capped = clone(tree).set_params(cap=3.0).fit(table, targets(VALUES))
    np.testing.assert_array_equal(capped.spend(table), tree.spend(table, 3.0))
    np.testing.assert_array_equal(capped.spend(table, 9.0), tree.spend(table, 3.0))
    np.testing.assert_array_equal(capped.spend(table, 1.1), tree.spend(table, 1.1))
    caps = np.resize([0.0, 2.0, 5.0], 300)
    np.testing.assert_array_equal(capped.spend(table, caps), tree.spend(table, np.minimum(caps, 3.0)))
    assert drive(capped.session(9.0), lambda name: VALUES[name][0]).prediction == tree.predict(table[:1], 3.0)[0]


# Values that are missing, and values that cannot be read


def test_an_unreadable_value_matters_only_where_it_is_acquired(tree):
    table = as_pandas(VALUES)
    acquired = tree.acquire(table).acquired[:, NAMES.index("smokes")]
    assert acquired.any()
    assert not acquired.all()
    bought, left = acquired.argmax(), acquired.argmin()
    table.loc[left, "smokes"] = "maybe"
    np.testing.assert_array_equal(tree.predict(table), tree.predict(as_pandas(VALUES)))
    table.loc[bought, "smokes"] = "maybe"
    with pytest.raises(ValueError, match=rf"TableModel: row {bought} acquires 'smokes', which is 'maybe'; expected"):
        tree.predict(table)
    assert len(tree.predict(table, cap=0.5)) == 300  # no row can pay for it


def test_probabilities_refuse_unreadable_values_too():
    model = fitted(GreedyMiserClassifier(n_estimators=10, cost_weight=0, min_samples_leaf=5))
    table = as_pandas(VALUES).astype({"age": object})
    row = model.acquire(table).acquired[:, NAMES.index("age")].argmax()
    table.loc[row, "age"] = "n/a"
    for method in (model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match=f"row {row} acquires 'age', which is 'n/a'; expected a finite number"):
            method(table)


def test_rows_with_unknown_levels_are_predicted(tree):
    table = as_pandas(VALUES).astype({"city": object, "pain": object})
    table["city"], table["pain"] = "Zug", "sharp"
    assert np.isfinite(tree.predict(table)).all()


def test_columns_that_are_empty_or_constant_do_no_harm():
    table = as_pandas(VALUES).assign(
        nothing=np.nan, none=pd.Series([None] * 300, dtype=object), constant="same", one=1.0
    )
    for each in (ASTCRegressor(max_depth=3), GreedyMiserRegressor(n_estimators=5), CostWeightedL1Regressor()):
        model = TableModel(each).fit(table, targets(VALUES))
        assert [field.kind for field in model.encoder_.fields_[7:]] == ["number", "number", "category", "number"]
        assert np.isfinite(model.predict(table)).all()


# Refusals


def refused(message, X=None, y=None, error=ValueError, **options):
    X = as_pandas(VALUES) if X is None else X
    options = {"estimator": ASTCRegressor(), **options}
    with pytest.raises(error, match=message):
        TableModel(**options).fit(X, targets(VALUES) if y is None else y)


def test_bad_parameters_are_refused():
    refused(r"TableModel: estimator is 'astc'; expected an estimator of thrifty", estimator="astc")
    refused(r"TableModel: estimator is TableModel", estimator=TableModel(ASTCRegressor()))
    refused(r"TableModel: cap is -1; expected a limit of at least 0", cap=-1)
    refused(r"TableModel: max_levels is 0; expected a whole number of at least 1", max_levels=0)


def test_queries_of_another_length_are_refused():
    with pytest.raises(ValueError, match=r"TableModel: qid has shape \(3,\) for 300 rows. Pass one query per row"):
        TableModel(ASTCRegressor()).fit(as_pandas(VALUES), targets(VALUES), qid=[1, 2, 3])


def test_costs_and_columns_must_match():
    refused(r"TableModel: costs has no price for column 'pulse' of X, but one for 'puls'", error=CostError,
            costs={**dict.fromkeys(NAMES[:5] + NAMES[6:], 1.0), "puls": 1.0})  # fmt: skip


def test_bad_tables_are_refused():
    frame = as_pandas(VALUES)
    refused(r"several columns named 'age'", X=pd.concat([frame, frame[["age"]]], axis=1))
    refused(r"several columns named 'a'", X=pa.table([[1.0, 2.0], [3.0, 4.0]], names=["a", "a"]), y=[1.0, 2.0])
    refused(r"X has shape \(300, 0\)", X=frame[[]])
    refused(r"X has shape \(0, 7\)", X=frame[:0], y=[])
    refused(r"column 'lists' holds values of type", X=frame.assign(lists=[[1]] * 300))
    refused(r"TableModel: y has shape \(1,\) for 300 rows. Pass one entry per row", y=[1.0])
    with pytest.raises(ValueError, match="TableModel requires y to be passed, but the target y is None"):
        TableModel(ASTCRegressor()).fit(frame, None)


def test_missing_targets_are_refused():
    gap = np.where(np.arange(300) == 7, np.nan, targets(VALUES))
    refused(r"TableModel: y is missing in 1 of 300 rows, first in row 7", y=gap)
    words = [None if i == 3 else "abc"[i % 3] for i in range(300)]
    refused("y is missing .* row 3", y=words, estimator=ASTCClassifier())
    refused("y is missing .* row 3", y=pl.Series(words), estimator=ASTCClassifier())


def test_other_columns_are_refused_as_scikit_learn_does(tree):
    frame = as_pandas(VALUES)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing"):
        tree.predict(frame[NAMES[1:]])
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- extra"):
        tree.predict(frame.assign(extra=1))
    with pytest.raises(ValueError, match="Feature names must be in the same order"):
        tree.predict(frame[NAMES[::-1]])


def test_nested_lists_of_mixed_values_are_tables():
    rows = [list(row) for row in zip(*VALUES.values(), strict=True)]
    model = TableModel(ASTCRegressor(max_depth=2)).fit(rows, targets(VALUES))
    assert [field.kind for field in model.encoder_.fields_][:3] == ["number", "category", "category"]
    np.testing.assert_array_equal(model.predict(rows), model.predict(as_objects(VALUES)))


# Operating points


def test_operating_points_share_the_fit_and_keep_their_budgets(tmp_path):
    table, light = as_pandas(VALUES), ThriftyClassifier(n_estimators=10, n_rounds=0, random_state=0)
    model = TableModel(light, costs=COSTS).fit(table, suited(light, targets(VALUES)))
    cheap, dear = model.at_budget(0.5), model.at_cost_weight(0.0)
    assert cheap.spend(table).mean() <= 0.5 < dear.spend(table).mean()
    assert cheap.estimator_.policy_ is model.estimator_.policy_
    assert (cheap.estimator.budget, dear.estimator.cost_weight, model.estimator.budget) == (0.5, 0.0, None)
    twin = load(save(cheap, tmp_path / "cheap.thrifty"))
    np.testing.assert_array_equal(twin.spend(table), cheap.spend(table))
    assert not hasattr(TableModel(ASTCClassifier()), "at_budget")


# Sessions


def test_a_session_takes_values_written_as_text(tree):
    spoken = {"age": "59", "city": "Bern", "pain": "typical", "smokes": "yes", "visit": "2021-05-04", "pulse": "71.5"}
    stop = drive(tree.session(), (spoken | {"note": "a"}).__getitem__)
    typed = {"age": 59, "smokes": True, "visit": pd.Timestamp("2021-05-04"), "pulse": 71.5, "note": "a"}
    batch = tree.acquire(pd.DataFrame([{**spoken, **typed}])[NAMES])
    assert stop.prediction == batch.prediction[0]


def test_a_session_names_what_it_cannot_read(tree):
    session = tree.session()
    step = session.next()
    name = next(name for name in step.features if name == "age")
    for value in ("old", float("inf")):
        with pytest.raises(SessionError, match=r"feature 'age' was observed as .*; expected a finite number, or None"):
            session.observe({name: value})
    assert session.next() == step


def test_a_session_takes_partial_and_missing_values(tree):
    row = dict.fromkeys(NAMES)
    session, asked = tree.session(), []
    while isinstance(step := session.next(), Acquire):
        asked += step.features[:1]
        session.observe({step.features[0]: row[step.features[0]]})
    assert len(asked) == len(set(asked))
    assert step.prediction == tree.predict(pd.DataFrame([row])[NAMES])[0]
