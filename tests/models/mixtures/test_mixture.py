"""Mixtures: which rows get the more expensive model, and what that costs."""

import numpy as np
import pytest

from thrifty import (
    CostWeightedL1Classifier,
    CostWeightedL1Regressor,
    MixtureClassifier,
    MixtureRanker,
    MixtureRegressor,
    TableModel,
    load,
    save,
)
from thrifty.models.mixtures.positions import are_chosen
from thrifty.models.row_positions import drawn_position, position_of
from thrifty.models.session import drive

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
Y = X @ [1.0, 2.0, 3.0]
CHEAP, DEAR = CostWeightedL1Regressor(cost_weight=100.0), CostWeightedL1Regressor(cost_weight=1e-3)


@pytest.fixture(scope="module")
def model():
    return MixtureRegressor(CHEAP, DEAR, share=0.3, costs=[1, 2, 3], random_state=0).fit(X, Y)


@pytest.mark.parametrize("first", [0, 7, 10**9])
@pytest.mark.parametrize("share", [0.0, 0.013, 0.3, 0.9, 1.0])
def test_rows_in_a_row_get_the_share_exactly_up_to_a_few(share, first):
    chosen = are_chosen(first + np.arange(1000), share, 0.77)
    assert abs(chosen.sum() - 1000 * share) <= 3
    assert share in (0.0, 1.0) or 0 < chosen.sum() < 1000


def test_a_larger_share_only_adds_rows():
    smaller, larger = (are_chosen(np.arange(300), share, 0.1) for share in (0.2, 0.25))
    assert (larger >= smaller).all()
    assert larger.sum() > smaller.sum()


@pytest.mark.parametrize("draw", [lambda i: drawn_position(), lambda i: position_of(f"patient {i}")])
def test_single_rows_get_the_share_on_average(draw):
    chosen = are_chosen(np.array([draw(i) for i in range(4000)]), 0.3, 0.5)
    assert abs(chosen.mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 4000)


def test_a_key_is_the_same_in_any_type():
    assert position_of(np.int64(17)) == position_of(17) != position_of("17")
    assert position_of(np.str_("a")) == position_of("a")


def test_the_rule_does_not_look_at_values(model):
    spend = model.spend(X)
    assert set(spend) == {0.0, 6.0}
    assert np.isclose(spend.mean(), 6.0 * 0.3, atol=0.03)
    np.testing.assert_array_equal(model.spend(RNG.normal(size=X.shape)), spend)


def test_parts_of_a_table_are_predicted_like_the_table(model):
    whole = model.predict(X)
    parts = [model.for_positions(rows).predict(X[rows]) for rows in np.split(np.arange(400), [1, 130])]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
    some = np.array([250, 3, 77])
    np.testing.assert_array_equal(model.for_positions(some).predict(X[some]), whole[some])
    with pytest.raises(ValueError, match="there are 3 positions for 2 rows"):
        model.for_positions(some).predict(X[:2])


def test_sessions_without_a_position_draw_one(model):
    spends = []
    for _ in range(600):
        session = model.session()
        drive(session, X[0].__getitem__)
        spends.append(session.spend)
    assert abs(np.mean(spends) / 6.0 - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 600)


def test_another_share_needs_no_fit(model):
    larger = model.at_share(0.8)
    assert np.isclose(larger.spend(X).mean(), 6.0 * 0.8, atol=0.03)
    assert larger.dear_ is model.dear_
    assert model.share == 0.3
    with pytest.raises(ValueError, match=r"share is 1\.5; expected a share from 0 to 1"):
        model.at_share(1.5)


def test_caps_of_the_parts_hold(model):
    capped = MixtureRegressor(CHEAP, DEAR, share=1.0, dear_cap=4.0, costs=[1, 2, 3]).fit(X, Y)
    assert capped.spend(X).max() <= 4.0
    assert capped.spend(X, cap=1.0).max() <= 1.0


def test_a_query_is_not_divided():
    qid = np.repeat(np.arange(80), 5)
    ranker = MixtureRanker(CHEAP, DEAR, share=0.5, costs=[1, 2, 3], random_state=0).fit(X, np.abs(Y).round(), qid=qid)
    spend = ranker.spend(X, qid=qid).reshape(80, 5)
    assert (spend == spend[:, :1]).all()
    assert abs((spend[:, 0] > 0).mean() - 0.5) < 0.1


def test_scores_of_both_models_are_log_odds():
    classes = np.where(Y > 0, "yes", "no")
    parts = CostWeightedL1Classifier(cost_weight=100.0), CostWeightedL1Classifier(cost_weight=1e-3)
    mixture = MixtureClassifier(*parts, share=0.5, random_state=1).fit(X, classes)
    probability, expected = mixture.predict_proba(X), np.empty((400, 2))
    bought = mixture.spend(X) > 0
    for part, rows in ((mixture.dear_, bought), (mixture.cheap_, ~bought)):
        expected[rows] = part.predict_proba(X[rows])
    np.testing.assert_array_equal(probability, expected)
    assert 0 < bought.sum() < 400


def test_a_model_file_keeps_the_rule(model, tmp_path):
    table = TableModel(MixtureRegressor(CHEAP, DEAR, share=0.3, random_state=5), costs=[1, 2, 3]).fit(X, Y)
    loaded = load(save(table, tmp_path / "mixture.thrifty"))
    np.testing.assert_array_equal(loaded.acquire(X).acquired, table.acquire(X).acquired)
    positions = 1000 + np.arange(9)
    np.testing.assert_array_equal(
        loaded.for_positions(positions).predict(X[:9]), table.for_positions(positions).predict(X[:9])
    )


def test_the_outline_names_both_models_and_what_they_buy(model):
    outline = model.outline()
    assert "30.0% of the rows" in outline.summary
    assert "CostWeightedL1Regressor" in outline.summary
    assert [use.feature for use in outline.uses] == ["x0", "x1", "x2"]


@pytest.mark.parametrize(
    ("mixture", "message"),
    [
        (MixtureClassifier(CHEAP, DEAR), "cheap is .*; expected a classifier of thrifty"),
        (MixtureRegressor(CHEAP, "astc"), "dear is 'astc'; expected a regressor of thrifty"),
        (MixtureRegressor(CHEAP, DEAR, share=-0.1), "share is -0.1; expected a share from 0 to 1"),
        (MixtureRegressor(CHEAP, DEAR, cheap_cap=-1), "cheap_cap is -1; expected a limit of at least 0"),
    ],
)
def test_bad_parameters_are_refused(mixture, message):
    with pytest.raises(ValueError, match=message):
        mixture.fit(X, Y)
