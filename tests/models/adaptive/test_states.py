"""The states on which the predictor and the gains are learned."""

import numpy as np
import pytest

from models.adaptive.problems import policy_of, training_rows
from thrifty.models.adaptive.boosting import constant_tree
from thrifty.models.adaptive.simulation import walk
from thrifty.models.adaptive.states import copies_along_order, copies_on_policy, explored, perturbed_prefixes

ORDER = np.array([3, 0, 5, 2, 4, 1])
N = 600


def problem(costs):
    return training_rows(np.random.default_rng(0).normal(size=(N, 6)), np.arange(N) % 2, costs)


@pytest.fixture
def rows():
    return problem(np.ones(6))


@pytest.fixture
def with_free():
    return problem([1.0, 0.0, 2.0, 1.0, 0.0, 1.0])


def policies(rows, **parameters):
    policy = policy_of(rows, [constant_tree(1)], 0.0, ORDER, **parameters)
    return [policy.training_arrays] * rows.n_folds


def is_prefix(mask, order):
    """Whether the groups of a mask are the first ones of the order."""
    return bool((np.diff(mask[order].astype(int)) <= 0).all())


def test_prefixes_have_the_asked_sizes_and_many_have_no_noise(rows):
    bought = perturbed_prefixes(rows, np.arange(N), ORDER, 1, 4)
    assert set(bought.sum(axis=1).tolist()) == {1, 2, 3, 4}
    in_order = np.mean([is_prefix(mask, ORDER) for mask in bought])
    assert 0.35 < in_order < 0.9
    assert bought.mean(axis=0)[ORDER[0]] > bought.mean(axis=0)[ORDER[-1]] > 0


def test_no_state_has_more_groups_than_there_are(rows):
    bought = perturbed_prefixes(rows, np.arange(N), ORDER, 4, 99)
    assert set(bought.sum(axis=1).tolist()) == {4, 5, 6}


def test_masks_always_contain_free_groups(with_free):
    every, free = np.arange(N), [1, 4]
    assert perturbed_prefixes(with_free, every, ORDER, 0, 3)[:, free].all()
    forced = explored(with_free, policies(with_free), every, n_forced=2, share_forced=1.0, stages=(0, 4))
    assert forced[:, free].all()
    assert copies_along_order(with_free, ORDER, (0, 4), 2).bought[:, free].all()
    assert copies_on_policy(with_free, policies(with_free), ORDER, (0, 4), 2).bought[:, free].all()


def test_rows_that_are_not_forced_follow_the_order(with_free):
    bought = explored(with_free, policies(with_free), np.arange(N), n_forced=2, share_forced=0.0, stages=(1, 3))
    priced = np.array([3, 0, 5, 2])
    assert all(is_prefix(mask, priced) for mask in bought)
    assert set(bought[:, priced].sum(axis=1).tolist()) == {1, 2, 3}


def test_forced_rows_leave_the_order(rows):
    bought = explored(rows, policies(rows), np.arange(N), n_forced=1, share_forced=1.0, stages=(0, 6))
    in_order = np.mean([is_prefix(mask, ORDER) for mask in bought])
    assert 0.3 < in_order < 0.95
    assert set(bought.sum(axis=1).tolist()) == set(range(7))


def test_the_first_purchase_of_a_policy_is_in_every_state(rows):
    bought = explored(rows, policies(rows, first=[1]), np.arange(N), n_forced=1, share_forced=0.0, stages=(1, 2))
    assert bought[:, 1].all()
    assert set(bought.sum(axis=1).tolist()) == {1, 2}


def test_every_row_has_the_same_number_of_copies(rows):
    for copies in (
        copies_along_order(rows, ORDER, (0, 6), 3),
        copies_on_policy(rows, policies(rows), ORDER, (0, 6), 3),
    ):
        assert copies.bought.shape == (3 * N, 6)
        assert (np.bincount(copies.row) == 3).all()


def test_walks_tell_what_was_bought_and_spent(with_free):
    walks = walk(with_free, policies(with_free, n_at_stage=[1, 1, 2]), np.arange(20))
    assert walks.n_stages == 3
    assert (walks.spend == [0.0, 1.0, 2.0, 5.0]).all()
    assert (walks.stage_of == [2, 0, 3, 1, 0, 3]).all()
    assert walks.bought(1).sum() == 3 * 20
    assert walks.bought(np.arange(20) % 4).sum(axis=1).tolist() == [2, 3, 4, 6] * 5
