"""Fits of the data model: out of fold, to masked copies, and by weight."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from thrifty import CostModel
from thrifty.models.distinct_rows import assign_folds, distinct_rows
from thrifty.models.factors import Factors
from thrifty.models.policies.data_model_fits import (
    draw_masks,
    fit_model,
    fit_out_of_fold,
    n_masked_copies,
    select_by_loss,
    with_masked_copies,
)
from thrifty.models.policies.tasks import Classification
from thrifty.models.rows import Rows

RANDOM = np.random.RandomState


def test_a_class_in_one_fold_only_is_known_to_all_classifiers():
    X = np.random.default_rng(0).normal(size=(21, 2))
    rows = distinct_rows(X, np.array([0, 1] * 10 + [2]), np.ones(21))
    factors = Factors.of(CostModel([1.0, 1.0]), None, "here")
    fold = assign_folds(rows.y, 5, RANDOM(0))
    scores = fit_out_of_fold(LogisticRegression(), Classification(), rows, fold, factors, None)
    assert scores.weights.shape == (5, 2, 3)
    held_out = rows.X[fold == 0]
    seen = (fold != 0) | (rows.y == 2)
    expected = LogisticRegression().fit(rows.X[seen], rows.y[seen]).decision_function(held_out)
    np.testing.assert_allclose(held_out @ scores.weights[0] + scores.intercepts[0], expected)


def test_masks_keep_whole_factors_and_large_shares_are_more_likely():
    factors = Factors.of(CostModel(np.ones(6)), [[0, 1, 2], [3, 4]], "here")
    masks = draw_masks(4000, 2, factors, RANDOM(0))
    assert masks.shape == (2, 4000, 6)
    assert (masks[..., 0] == masks[..., 2]).all()
    kept = masks[..., [0, 3, 5]].sum(axis=-1)
    np.testing.assert_allclose(np.bincount(kept.ravel()) / kept.size, [0.1, 0.2, 0.3, 0.4], atol=0.02)


@pytest.mark.parametrize(("n_rows", "n_copies"), [(10, 8), (4000, 5), (7291, 3), (10**6, 3)])
def test_few_rows_are_copied_more_often(n_rows, n_copies):
    assert n_masked_copies(n_rows) == n_copies


def test_copies_share_the_weight_of_their_row():
    rows, masks = Rows(np.ones((3, 2)), np.array([0, 1, 1]), np.array([1.0, 2.0, 4.0])), np.zeros((4, 3, 2), dtype=bool)
    copies = with_masked_copies(rows, masks)
    assert copies.X[:3].all()
    assert not copies.X[3:].any()
    np.testing.assert_allclose(copies.weight[:3], [0.5, 1.0, 2.0])
    np.testing.assert_allclose(copies.weight.reshape(5, 3).sum(axis=0), [1.0, 2.0, 4.0])
    assert copies.y.tolist() == [0, 1, 1] * 5


def test_the_classifier_with_the_smallest_loss_on_held_out_rows_is_selected():
    random = np.random.default_rng(0)
    X, masks = random.normal(size=(200, 8)), np.ones((1, 200, 8), dtype=bool)
    fold, strong, weak = np.arange(200) % 5, LogisticRegression(C=1e-3), LogisticRegression(C=1e4)
    clear = distinct_rows(X, (X[:, 0] > 0).astype(int), np.ones(200))
    noise = distinct_rows(X, (random.normal(size=200) > 0).astype(int), np.ones(200))
    assert select_by_loss([strong, weak], Classification(), clear, fold, masks) is weak
    assert select_by_loss([strong, weak], Classification(), noise, fold, masks) is strong
    assert select_by_loss([strong, weak], Classification(), noise, np.zeros(200, dtype=int), masks) is strong


def test_masked_copies_improve_the_loss_on_masked_rows():
    random = np.random.default_rng(0)
    signal = random.normal(size=(600, 1))
    X = signal + 0.3 * random.normal(size=(600, 2))
    y = (signal[:, 0] > 0).astype(int)
    masks = draw_masks(600, 2, Factors.of(CostModel([1.0, 1.0]), None, "here"), RANDOM(0))
    half = X * [1.0, 0.0]
    rows = Rows(X, y, np.ones(600))
    plain, masked = (fit_model(LogisticRegression(), rows, each) for each in (None, masks))
    log_loss = [-np.log(each.predict_proba(half)[np.arange(600), y]).mean() for each in (plain, masked)]
    assert log_loss[1] < log_loss[0]


def test_rows_are_repeated_for_classifiers_without_weights():
    X, y = np.array([[0.0], [0.4], [0.5]]), np.array([0, 0, 1])
    neighbours = KNeighborsClassifier(3)
    assert fit_model(neighbours, Rows(X, y, np.array([1.0, 1.0, 4.0]))).predict([[0.5]]) == [1]
    message = r"KNeighborsClassifier does not accept sample_weight, and a row cannot be repeated 0\.5 times"
    with pytest.raises(ValueError, match=message):
        fit_model(neighbours, Rows(X, y, np.array([0.5, 1.0, 1.0])))
