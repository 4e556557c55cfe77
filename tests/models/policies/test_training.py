"""Distinct rows, fair folds, and classifiers that know every class."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from thrifty import CostModel
from thrifty.models.policies.factors import Factors
from thrifty.models.policies.training import (
    deal_folds,
    distinct_rows,
    draw_masks,
    fit_classifier,
    hold_out,
    likeliest,
    n_masked_copies,
    order_of_columns,
    out_of_fold,
    with_copies,
)

RANDOM = np.random.RandomState


def test_equal_rows_become_one_wherever_they_stand():
    random = np.random.default_rng(0)
    X, labels, count = random.normal(size=(20, 3)), np.arange(20) % 3, np.ones(20)
    X[3] = [np.nan, 0.0, 1.0]
    twice = np.concatenate([X, X[::-1]])
    twice[-4, 1] = -0.0
    once = distinct_rows(X, labels, 2 * count)
    merged = distinct_rows(twice, np.concatenate([labels, labels[::-1]]), np.ones(40))
    for name in ("X", "labels", "count"):
        np.testing.assert_array_equal(getattr(merged, name), getattr(once, name))


def test_equal_rows_of_different_classes_stay_apart():
    assert len(distinct_rows(np.ones((4, 2)), np.array([0, 1, 0, 1]), np.ones(4)).X) == 2


def test_neither_rows_nor_columns_depend_on_their_order():
    random = np.random.default_rng(1)
    X, labels = random.normal(size=(30, 6)), np.arange(30) % 2
    order, columns = random.permutation(30), random.permutation(6)
    plain = distinct_rows(X, labels, np.ones(30))
    mixed = distinct_rows(X[order][:, columns], labels[order], np.ones(30))
    for rows, its in ((plain, order_of_columns(plain.X)), (mixed, order_of_columns(mixed.X))):
        np.testing.assert_array_equal(rows.X[:, its], plain.X[:, order_of_columns(plain.X)])


def test_folds_share_classes_fairly():
    labels = np.repeat([0, 1, 2], [50, 30, 20])
    fold = deal_folds(labels, 10, RANDOM(0))
    shares = np.array([np.bincount(labels[fold == k], minlength=3) for k in range(10)])
    np.testing.assert_array_equal(shares, np.tile([5, 3, 2], (10, 1)))
    learn_from, held = hold_out(labels, 0.2, RANDOM(0))
    assert np.bincount(labels[held]).tolist() == [10, 6, 4]
    assert sorted([*learn_from, *held]) == list(range(100))


@pytest.mark.parametrize("fraction", [0.0, 0.2])
def test_of_too_few_rows_all_serve_as_both(fraction):
    learn_from, held = hold_out(np.array([0, 1, 0]), fraction, RANDOM(0))
    assert learn_from.tolist() == held.tolist() == [0, 1, 2]


def test_a_class_that_one_fold_holds_alone_is_known_everywhere():
    X = np.random.default_rng(0).normal(size=(21, 2))
    rows = distinct_rows(X, np.array([0, 1] * 10 + [2]), np.ones(21))
    factors = Factors.of(CostModel([1.0, 1.0]), None, "here")
    fold = deal_folds(rows.labels, 5, RANDOM(0))
    scores = out_of_fold(LogisticRegression(), rows.X, rows, fold, factors, None)
    assert scores.weights.shape == (5, 2, 3)
    held = rows.X[fold == 0]
    seen = (fold != 0) | (rows.labels == 2)
    expected = LogisticRegression().fit(rows.X[seen], rows.labels[seen]).decision_function(held)
    np.testing.assert_allclose(held @ scores.weights[0] + scores.intercepts[0], expected)


def test_masks_keep_whole_factors_and_rather_many_of_them():
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
    Z, masks = np.ones((3, 2)), np.zeros((4, 3, 2), dtype=bool)
    copies, labels, weight = with_copies(Z, np.array([0, 1, 1]), np.array([1.0, 2.0, 4.0]), masks)
    assert copies[:3].all()
    assert not copies[3:].any()
    np.testing.assert_allclose(weight[:3], [0.5, 1.0, 2.0])
    np.testing.assert_allclose(weight.reshape(5, 3).sum(axis=0), [1.0, 2.0, 4.0])
    assert labels.tolist() == [0, 1, 1] * 5


def test_the_likeliest_classifier_is_the_one_that_fits_rows_it_has_not_seen():
    random = np.random.default_rng(0)
    X, masks = random.normal(size=(200, 8)), np.ones((1, 200, 8), dtype=bool)
    fold, timid, bold = np.arange(200) % 5, LogisticRegression(C=1e-3), LogisticRegression(C=1e4)
    clear = distinct_rows(X, (X[:, 0] > 0).astype(int), np.ones(200))
    noise = distinct_rows(X, (random.normal(size=200) > 0).astype(int), np.ones(200))
    assert likeliest([timid, bold], clear.X, clear, fold, masks) is bold
    assert likeliest([timid, bold], noise.X, noise, fold, masks) is timid
    assert likeliest([timid, bold], noise.X, noise, np.zeros(200, dtype=int), masks) is timid


def test_masked_copies_make_a_classifier_surer_of_partial_rows():
    random = np.random.default_rng(0)
    signal = random.normal(size=(600, 1))
    X = signal + 0.3 * random.normal(size=(600, 2))
    y = (signal[:, 0] > 0).astype(int)
    masks = draw_masks(600, 2, Factors.of(CostModel([1.0, 1.0]), None, "here"), RANDOM(0))
    half = X * [1.0, 0.0]
    plain, honest = (fit_classifier(LogisticRegression(), X, y, np.ones(600), each) for each in (None, masks))
    log_loss = [-np.log(each.predict_proba(half)[np.arange(600), y]).mean() for each in (plain, honest)]
    assert log_loss[1] < log_loss[0]


def test_rows_are_repeated_for_classifiers_without_weights():
    X, y = np.array([[0.0], [0.4], [0.5]]), np.array([0, 0, 1])
    neighbours = KNeighborsClassifier(3)
    assert fit_classifier(neighbours, X, y, np.array([1.0, 1.0, 4.0])).predict([[0.5]]) == [1]
    with pytest.raises(
        ValueError, match=r"KNeighborsClassifier takes no sample_weight, and rows cannot be repeated 0\.5"
    ):
        fit_classifier(neighbours, X, y, np.array([0.5, 1.0, 1.0]))
