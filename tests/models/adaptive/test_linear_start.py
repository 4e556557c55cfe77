"""The linear model of masked rows, from which boosting may start."""

import numpy as np
import pytest

from models.adaptive.problems import training_rows
from thrifty.models.adaptive.boosting import Plan
from thrifty.models.adaptive.linear_start import fit_start, standardisation, start_scores
from thrifty.models.adaptive.predictor import MaskedCopies, Phase, enough_rounds, fit_predictor, fit_predictors
from thrifty.models.growing.growth import Limits

N = 400
RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(N, 4)) * [1.0, 10.0, 0.1, 1.0] + [0.0, 5.0, 0.0, 0.0]
LINEAR = X[:, 0] + 0.1 * (X[:, 1] - 5.0)
ROW, EVERYTHING = np.arange(N), np.ones((N, 4), dtype=bool)
TARGETS = {
    0: (LINEAR - LINEAR.mean()) / LINEAR.std(),
    2: (LINEAR + RANDOM.normal(size=N) > 0).astype(float),
    3: np.digitize(LINEAR + 0.3 * RANDOM.normal(size=N), [-0.7, 0.7]).astype(float),
}


def plain_scores(rows, start, bought):
    """The formula of the module, column by column."""
    centre, width = standardisation(rows)
    scores = np.tile(start.base, (len(rows), 1))
    for i in range(len(rows)):
        for j in np.flatnonzero(bought[i]):
            if np.isfinite(rows.X[i, j]):
                z = np.clip((rows.X[i, j] - centre[j]) / width[j], -3.0, 3.0)
                scores[i] += start.offset[j] + start.slope[j] * z
    return scores


@pytest.mark.parametrize("n_classes", TARGETS)
def test_scores_are_those_of_the_formula(n_classes):
    values = X.copy()
    values[::7, 2] = np.nan
    rows = training_rows(values, TARGETS[n_classes], n_classes=n_classes)
    bought = np.random.default_rng(1).random((N, 4)) < 0.6
    start = fit_start(rows, ROW, bought, rows.random)
    np.testing.assert_allclose(start_scores(rows, start, ROW, bought), plain_scores(rows, start, bought), atol=1e-12)


@pytest.mark.parametrize("n_classes", TARGETS)
def test_a_linear_problem_is_learned(n_classes):
    rows = training_rows(X, TARGETS[n_classes], n_classes=n_classes)
    start = fit_start(rows, ROW, EVERYTHING, rows.random)
    loss = rows.objective.losses(start_scores(rows, start, ROW, EVERYTHING)[:, None], rows.targets)[:, 0].mean()
    base = np.tile(rows.loss(ROW).base(slice(None)), (N, 1, 1))
    assert loss < 0.8 * rows.objective.losses(base, rows.targets)[:, 0].mean()


def test_without_a_class_there_is_no_linear_model():
    rows = training_rows(X, TARGETS[3], n_classes=3)
    assert fit_start(rows, ROW[TARGETS[3] != 2], EVERYTHING[TARGETS[3] != 2], rows.random) is None


def test_standardisation_survives_huge_and_constant_columns():
    values = np.column_stack([np.full(N, 7.0), 1e300 * RANDOM.normal(size=N), np.full(N, np.nan), X[:, 0]])
    centre, width = standardisation(training_rows(values, TARGETS[2]))
    assert np.isfinite(centre).all()
    assert np.isfinite(width).all()
    assert (width > 0).all()
    assert centre[3] == pytest.approx(X[:, 0].mean())
    assert width[3] == pytest.approx(X[:, 0].std())


def test_held_out_rows_decide_about_the_start():
    plan = Plan(40, 0.1, Limits(None, 4, 20.0, 5.0), patience=10)
    signs = np.sign(X[:, 0] * X[:, 3]) > 0  # no linear model helps
    for targets, wanted in ((TARGETS[2], True), (signs.astype(float), None)):
        rows = training_rows(X, targets)
        predictors, decided = fit_predictors(rows, [Phase([MaskedCopies(ROW, EVERYTHING)], 4, plan)])
        assert len(predictors) == rows.n_folds
        assert wanted is None or decided[0].is_linear is wanted
        assert all(each.is_linear[0] == decided[0].is_linear for each in predictors)
        final = fit_predictor(rows, decided)
        assert final.is_linear[0] == decided[0].is_linear


def test_a_phase_with_several_bags_is_the_mean_of_their_ensembles():
    plan = Plan(6, 0.1, Limits(None, 4, 20.0, 5.0))
    rows = training_rows(X, TARGETS[2])
    bags = [MaskedCopies(np.repeat(ROW, 2), np.random.default_rng(k).random((2 * N, 4)) < 0.7) for k in range(3)]
    predictors, decided = fit_predictors(rows, [Phase(bags, 4, plan._replace(patience=6))])
    assert decided[0].bags is bags
    assert decided[0].is_linear  # decided with the first bag alone
    assert all(each.is_linear[0] for each in predictors)
    alone = [fit_predictor(rows, [Phase([bag], 4, plan, False, 6)]) for bag in bags]
    together = fit_predictor(rows, [Phase(bags, 4, plan, False, 6)])
    assert together.forest.n_trees == sum(each.forest.n_trees for each in alone)
    outputs = [each.forest.outputs(X).sum(axis=1) for each in (*alone, together)]
    assert np.corrcoef(np.mean(outputs[:3], axis=0), outputs[3])[0, 1] > 0.95
    assert np.std(outputs[3]) == pytest.approx(np.std(np.mean(outputs[:3], axis=0)), rel=0.2)


def test_rounds_that_hardly_decrease_the_loss_are_left_out():
    losses = [0.8, 0.6, 0.506, 0.502, 0.5, 0.51]
    assert [enough_rounds(losses, share) for share in (0.0, 0.005, 0.02, 0.3, 1.0)] == [4, 3, 2, 1, 0]


def test_all_folds_have_the_same_number_of_rounds():
    plan = Plan(60, 0.3, Limits(None, 4, 20.0, 5.0), patience=5)
    rows = training_rows(X, TARGETS[2])
    predictors, (decided,) = fit_predictors(rows, [Phase([MaskedCopies(ROW, EVERYTHING)], 4, plan, False)])
    assert decided.n_rounds < 60
    assert {each.forest.n_trees for each in predictors} == {decided.n_rounds}
    assert fit_predictor(rows, [decided]).forest.n_trees == round(1.1 * decided.n_rounds)
