import numpy as np
import pytest

from thrifty.datasets import make_quadrants
from thrifty.models.expected_cost.criterion import CSTCCriterion, cstc_criterion, jaccard_matrix

N_LABELS = 5


def planted(columns_of_pair, n_per_label=150, seed=0):
    """Return rows in which the step from label k to k + 1 is visible in the columns of pair k only."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(N_LABELS), n_per_label)
    steps = np.zeros((N_LABELS - 1, 1 + max(map(max, columns_of_pair))))
    for pair, columns in enumerate(columns_of_pair):
        steps[pair, columns] = 1.5
    levels = np.vstack([np.zeros(steps.shape[1]), np.cumsum(steps, axis=0)])
    return 10 + levels[y] + rng.standard_normal((len(y), steps.shape[1])), y


def l1_logistic(X, y, weight, share):
    """Fit by proximal gradient on standardised columns, with an intercept that is not penalised."""
    mean = weight @ X / weight.sum()
    Z = (X - mean) / np.sqrt(weight @ (X - mean) ** 2 / weight.sum())
    weight = weight / weight.sum()
    penalty = share * np.abs(Z.T @ (weight * (y - weight @ y))).max()
    beta, bias, step = np.zeros(Z.shape[1]), 0.0, 4 / (1 + np.linalg.norm(Z.T * np.sqrt(weight), 2) ** 2)
    for _ in range(20_000):
        residual = weight * (1 / (1 + np.exp(-(Z @ beta + bias))) - y)
        bias -= step * residual.sum()
        moved = beta - step * Z.T @ residual
        beta = np.sign(moved) * np.maximum(np.abs(moved) - step * penalty, 0)
    return beta


SLIDING = [[k, k + 1, k + 2] for k in range(N_LABELS - 1)]


def test_planted_supports_are_found_and_their_overlap_falls_with_the_distance():
    criterion = cstc_criterion(*planted(SLIDING), penalty=0.35)
    assert criterion.pairs == ((0, 1), (1, 2), (2, 3), (3, 4))
    assert [np.flatnonzero(support).tolist() for support in criterion.supports] == SLIDING
    np.testing.assert_allclose(criterion.jaccard[0], [1, 2 / 4, 1 / 5, 0])
    np.testing.assert_array_equal(criterion.jaccard, criterion.jaccard.T)
    assert criterion.trend == pytest.approx(-1)
    assert "and here it does: neighbouring classifiers share 50%" in criterion.verdict
    assert "the two furthest apart 0% (rank correlation -1.00)" in criterion.verdict


def test_labels_in_a_meaningless_order_are_reported():
    criterion = cstc_criterion(*planted([[0, 1], [2, 3], [4, 5], [0, 1]]), penalty=0.35)
    assert criterion.trend > 0.5
    assert "here it does not clearly do so" in criterion.verdict


@pytest.mark.parametrize("share", [0.1, 0.4])
def test_supports_are_those_of_the_l1_problem(share):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((120, 12)) @ rng.standard_normal((12, 12)) + 5
    y = np.digitize(X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(120), [3, 12])
    weight = rng.uniform(0.5, 3, size=120)
    criterion = cstc_criterion(X, y, weight, penalty=share)
    for lower in (0, 1):
        rows = (y == lower) | (y == lower + 1)
        beta = l1_logistic(X[rows], y[rows] - lower, weight[rows], share)
        np.testing.assert_array_equal(criterion.supports[lower], np.abs(beta) > 1e-9)
    assert 0 < criterion.supports.sum() < criterion.supports.size


def test_weighting_a_row_equals_repeating_it():
    X, y = planted(SLIDING, n_per_label=40)
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    weighted = cstc_criterion(X, y, weight, penalty=0.05)
    repeated = cstc_criterion(np.repeat(X, weight, axis=0), np.repeat(y, weight), penalty=0.05)
    np.testing.assert_array_equal(weighted.supports, repeated.supports)
    assert not np.array_equal(weighted.supports, cstc_criterion(X, y, penalty=0.05).supports)
    rescaled = cstc_criterion(X * np.geomspace(1e-3, 1e3, X.shape[1]) - 7, y, 1e-6 * weight, penalty=0.05)
    np.testing.assert_array_equal(weighted.supports, rescaled.supports)


def test_a_larger_penalty_weighs_fewer_features():
    X, y = planted(SLIDING)
    sizes = [cstc_criterion(X, y, penalty=penalty).supports.sum() for penalty in (0.02, 0.2, 0.9)]
    assert sizes[0] > sizes[1] > sizes[2] >= N_LABELS - 1


def test_a_continuous_y_is_cut_at_its_quantiles():
    data = make_quadrants(2000, label_means=(27, 9, -9, -27), random_state=0)
    criterion = cstc_criterion(data.X, data.y, n_bins=4)
    assert len(criterion.pairs) == 3
    assert criterion.pairs[0][0].startswith("≤ -")
    assert criterion.pairs[0][1] == criterion.pairs[1][0]
    quarter = np.searchsorted(np.quantile(data.y, [0.25, 0.5, 0.75]), data.y)
    np.testing.assert_array_equal(criterion.supports, cstc_criterion(data.X, quarter).supports)


def test_ties_make_fewer_bins():
    X, y = planted(SLIDING, n_per_label=30)
    binned, plain = cstc_criterion(X, y, n_bins=50), cstc_criterion(X, y)
    np.testing.assert_array_equal(binned.supports, plain.supports)
    assert binned.pairs[0] == ("≤ 0", "0 to 1")
    assert binned.pairs[-1] == ("2 to 3", "> 3")


def test_three_labels_have_an_overlap_but_no_trend():
    X, y = planted(SLIDING)
    criterion = cstc_criterion(X[y < 3], y[y < 3], penalty=0.35)
    assert np.isnan(criterion.trend)
    assert criterion.verdict.startswith("The two classifiers share 50% of their features")


def test_missing_and_constant_columns_are_not_weighed():
    X, y = planted(SLIDING)
    more = np.column_stack([X, np.full(len(y), np.nan), np.full(len(y), 3.3)])
    more[::7, 0] = np.nan
    criterion = cstc_criterion(more, y, penalty=0.35)
    assert [np.flatnonzero(support).tolist() for support in criterion.supports] == SLIDING
    constant = cstc_criterion(np.full((len(y), 2), 0.1), y)
    assert not constant.supports.any()
    assert constant.verdict.startswith("4 of 4 classifiers find no feature")


def test_jaccard_matrix():
    supports = np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 0]], dtype=bool)
    np.testing.assert_allclose(
        jaccard_matrix(supports), [[1, 1 / 3, 0, 0], [1 / 3, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    )


def test_equal_overlap_has_a_trend_of_zero():
    criterion = CSTCCriterion(((0, 1), (1, 2), (2, 3)), np.eye(3, dtype=bool), np.eye(3))
    assert criterion.trend == 0
    assert repr(criterion) == (
        "CSTCCriterion(3 classifiers from (0, 1) to (2, 3), which weigh 1 to 1 of 3 features, trend 0.00)"
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": np.tile([0, 1], 30)}, r"y has 2 label\(s\), \[0, 1\]; expected at least 3"),
        ({"y": np.linspace(0, 1, 60)}, "y is continuous; pass n_bins"),
        ({"penalty": 1.0}, "penalty == 1.0"),
        ({"penalty": 0}, "penalty == 0"),
        ({"n_bins": 2}, "n_bins == 2"),
        ({"y": np.tile([0, 1], 30), "n_bins": 5}, r"y has 2 label\(s\)"),
        ({"y": np.zeros(60), "n_bins": 5}, r"y has 1 label\(s\)"),
    ],
)
def test_bad_input_is_named(change, message):
    X = np.random.default_rng(0).standard_normal((60, 2))
    with pytest.raises(ValueError, match=message):
        cstc_criterion(**{"X": X, "y": np.arange(60) % 3} | change)
