import numpy as np
import pytest

from thrifty.datasets import load_heart, make_ltr, make_ltr_skewed, make_quadrants, skew_ranking
from thrifty.datasets.yahoo import COUNTS, PRICES, draw_yahoo_prices


@pytest.fixture(scope="module")
def quadrants():
    return make_quadrants(4000, random_state=0)


@pytest.fixture(scope="module")
def ltr():
    return make_ltr(n_queries=400, docs_per_query=20, random_state=0)


@pytest.fixture(scope="module")
def graded():
    data = make_ltr(n_queries=60, docs_per_query=8, n_features=10, dtype=np.float32, random_state=0)
    data.test = data.qid % 3 == 0
    return data


@pytest.fixture(scope="module")
def skewed(graded):
    return skew_ranking(graded)


def prices_of(data):
    return data.costs.marginal(np.zeros((1, data.X.shape[1]), dtype=bool))[0]


class TestQuadrants:
    def test_prices_are_those_of_the_paper(self, quadrants):
        assert quadrants.names == ["sign(x)", "sign(z)", "z++", "z+-", "z-+", "z--"]
        assert quadrants.costs.names == tuple(quadrants.names)
        np.testing.assert_array_equal(prices_of(quadrants), [1, 1, 10, 10, 10, 10])

    def test_points_are_uniform_and_signs_match_them(self, quadrants):
        np.testing.assert_array_equal(quadrants.X[:, :2], np.sign(quadrants.points))
        deciles = np.quantile(quadrants.points, np.linspace(0, 1, 11), axis=0)
        np.testing.assert_allclose(deciles, np.linspace([-1, -1], [1, 1], 11), atol=0.06)

    def test_a_perfect_prediction_costs_exactly_twelve(self, quadrants):
        rows = np.arange(len(quadrants.y))
        x, z = quadrants.X[:, 0], quadrants.X[:, 1]
        expensive = 2 + np.select([(x > 0) & (z > 0), (x > 0) & (z < 0), (x < 0) & (z > 0)], [0, 1, 2], default=3)
        np.testing.assert_array_equal(quadrants.X[rows, expensive], quadrants.y)
        acquired = np.zeros(quadrants.X.shape, dtype=bool)
        acquired[:, :2] = True
        acquired[rows, expensive] = True
        np.testing.assert_array_equal(quadrants.costs.of(acquired), 12.0)

    def test_labels_have_unit_variance_and_are_higher_for_negative_z(self, quadrants):
        labels = [quadrants.y[quadrants.quadrant == q] for q in range(4)]
        plus_plus, plus_minus, minus_plus, minus_minus = (part.mean() for part in labels)
        assert max(plus_plus, minus_plus) < min(plus_minus, minus_minus)
        np.testing.assert_allclose([part.std() for part in labels], 1, atol=0.1)

    def test_an_expensive_value_does_not_show_whether_it_is_the_label(self, quadrants):
        others = quadrants.X[:, 2:][np.arange(4) != quadrants.quadrant[:, None]]
        levels = np.linspace(0.1, 0.9, 9)
        spread = quadrants.y.std()
        np.testing.assert_allclose(np.quantile(others, levels), np.quantile(quadrants.y, levels), atol=0.15 * spread)
        one = quadrants.X[quadrants.quadrant != 0, 2]
        assert abs(np.corrcoef(one, quadrants.y[quadrants.quadrant != 0])[0, 1]) < 0.1

    def test_random_state_determines_the_data(self):
        first, again, other = (make_quadrants(50, random_state=seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(first.X, again.X)
        np.testing.assert_array_equal(first.y, again.y)
        assert not np.array_equal(first.y, other.y)

    def test_zero_rows_are_refused(self):
        with pytest.raises(ValueError, match="n_samples == 0"):
            make_quadrants(0)

    def test_label_means_are_in_the_order_of_the_quadrants(self):
        data = make_quadrants(4000, label_means=(27, 9, -9, -27), random_state=0)
        x, z = data.points.T
        by_quadrant = [(x > 0) & (z > 0), (x < 0) & (z > 0), (x < 0) & (z < 0), (x > 0) & (z < 0)]
        np.testing.assert_allclose([data.y[part].mean() for part in by_quadrant], [27, 9, -9, -27], atol=0.15)
        others = data.X[:, 2:][np.arange(4) != data.quadrant[:, None]]
        assert set(np.unique(np.round(others / 9).astype(int)).tolist()) == {-3, -1, 1, 3}

    def test_default_data_do_not_change(self):
        first = [13.33138015734403, -14.723554240479, 15.700544885349391, 14.555232544317215]
        data = make_quadrants(20, random_state=3)
        assert data.y[:4].tolist() == first
        np.testing.assert_array_equal(data.X, make_quadrants(20, label_means=[-15, -5, 15, 5.0], random_state=3).X)

    @pytest.mark.parametrize("label_means", [(1, 2, 3), 5.0, None, "abcd", (1, 2, 3, np.nan), [[1, 2], [3, 4]]])
    def test_label_means_must_be_four_finite_numbers(self, label_means):
        with pytest.raises(ValueError, match=r"make_quadrants: label_means is .* expected four numbers"):
            make_quadrants(5, label_means=label_means)


class TestYahooPrices:
    def test_published_counts(self):
        prices = draw_yahoo_prices(519, np.random.default_rng(0))
        np.testing.assert_array_equal([(prices == price).sum() for price in PRICES], COUNTS)
        assert not np.array_equal(prices, np.sort(prices))

    @pytest.mark.parametrize("n_features", [1, 2, 7, 46, 100, 136, 1000])
    def test_shares_are_kept_to_within_one_feature(self, n_features):
        prices = draw_yahoo_prices(n_features, np.random.default_rng(0))
        sizes = np.array([(prices == price).sum() for price in PRICES])
        assert sizes.sum() == n_features
        assert np.abs(sizes - n_features * COUNTS / 519).max() < 1


class TestLtr:
    def test_prices_are_the_published_ones(self, ltr):
        prices = prices_of(ltr)
        np.testing.assert_array_equal([(prices == price).sum() for price in PRICES], COUNTS)
        assert ltr.costs.total == (PRICES * COUNTS).sum()
        assert ltr.costs.names == tuple(ltr.names)

    def test_queries_are_consecutive_and_of_varying_size(self, ltr):
        assert (np.diff(ltr.qid) >= 0).all()
        sizes = np.bincount(ltr.qid)
        assert len(sizes) == 400
        assert sizes.min() >= 1
        assert sizes.max() > 2 * np.median(sizes)
        assert abs(sizes.mean() - 20) < 2.5

    def test_grades_are_skewed_to_the_low_end(self, ltr):
        shares = np.bincount(ltr.y, minlength=5) / len(ltr.y)
        assert len(shares) == 5
        assert shares[:3].sum() > 0.85
        assert shares[4] < shares[3] < shares[2]
        assert shares[4] > 0

    def test_expensive_features_are_more_correlated_on_average(self, ltr):
        prices, strength = prices_of(ltr), correlations_in_regions(ltr).mean(axis=0)
        by_class = [strength[band].mean() for band in (prices <= 5, (prices > 5) & (prices <= 50), prices > 50)]
        assert by_class[0] < by_class[1] < by_class[2]

    def test_best_features_differ_between_regions(self, ltr):
        best = [set(np.argsort(strength)[-40:]) for strength in correlations_in_regions(ltr)]
        overlaps = [len(best[a] & best[b]) for a in range(4) for b in range(a)]
        assert max(overlaps) < 20

    def test_cheap_features_show_the_region(self, ltr):
        cheap = ltr.X[:, prices_of(ltr) == 1]
        bit = ltr.region >> 1
        assert max(abs(np.corrcoef(column, bit)[0, 1]) for column in cheap.T) > 0.8

    def test_features_are_correlated(self, ltr):
        strength = np.abs(np.corrcoef(ltr.X[:2000, prices_of(ltr) >= 100].T))
        assert (np.sort(strength, axis=1)[:, -2] > 0.3).mean() > 0.8

    def test_random_state_determines_the_data(self):
        first, again, other = (make_ltr(5, 6, 30, random_state=seed) for seed in (1, 1, 2))
        for key in ("X", "y", "qid", "region"):
            np.testing.assert_array_equal(first[key], again[key])
        np.testing.assert_array_equal(prices_of(first), prices_of(again))
        assert first.X.shape != other.X.shape or not np.array_equal(first.X, other.X)

    @pytest.mark.parametrize("dtype", [np.float32, "float64"])
    def test_dtype(self, dtype):
        assert make_ltr(3, 5, 20, dtype=dtype, random_state=0).X.dtype == dtype

    @pytest.mark.parametrize("n_features", [1, 2, 3])
    def test_few_features(self, n_features):
        assert make_ltr(2, 3, n_features, random_state=0).X.shape[1] == n_features

    @pytest.mark.parametrize("name", ["n_queries", "docs_per_query", "n_features"])
    def test_sizes_below_one_are_refused_by_name(self, name):
        with pytest.raises(ValueError, match=f"{name} == 0"):
            make_ltr(**{name: 0})


class TestSkewed:
    def test_relevant_rows_appear_once_and_others_ten_times(self, graded, skewed):
        row_of = {row.tobytes(): i for i, row in enumerate(graded.X)}
        assert len(row_of) == len(graded.X)
        origin = np.array([row_of[row.tobytes()] for row in skewed.X])
        np.testing.assert_array_equal(np.bincount(origin), np.where(graded.y >= 3, 1, 10))
        np.testing.assert_array_equal(skewed.y, graded.y[origin] >= 3)
        for key in ("qid", "region", "test"):
            np.testing.assert_array_equal(skewed[key], graded[key][origin])
        assert [skewed.target_names[y] for y in (0, 1)] == ["irrelevant", "relevant"]

    def test_fields_and_types_are_kept(self, graded, skewed):
        assert set(skewed) == {*graded, "target_names"}
        assert skewed.X.dtype == np.float32
        assert skewed.y.dtype == np.int64
        assert skewed.costs is graded.costs
        assert (np.diff(skewed.qid) >= 0).all()
        n_relevant = (skewed.y == 1).sum()
        assert f"1 relevant row to {(len(skewed.y) - n_relevant) / n_relevant:.3g} others" in skewed.description

    def test_rows_are_sorted_by_query(self, graded):
        order = np.random.default_rng(0).permutation(len(graded.y))
        shuffled = type(graded)(**{**graded, **{key: graded[key][order] for key in ("X", "y", "qid")}})
        again = skew_ranking(shuffled, n_copies=2)
        assert (np.diff(again.qid) >= 0).all()
        expected = np.bincount(graded.qid, weights=np.where(graded.y >= 3, 1, 2))
        np.testing.assert_array_equal(np.bincount(again.qid), expected)

    def test_about_ninety_irrelevant_rows_to_one_relevant(self):
        data = make_ltr_skewed(n_queries=50, n_features=8, random_state=1)
        assert (data.y == 0).sum() / (data.y == 1).sum() == pytest.approx(90, rel=0.02)
        same = skew_ranking(make_ltr(n_queries=50, n_features=8, random_state=1))
        np.testing.assert_array_equal(data.X, same.X)

    def test_parameters_are_passed_on(self):
        data = make_ltr_skewed(20, 6, 4, relevant_from=2, n_copies=1, dtype=np.float32, random_state=1)
        graded = make_ltr(20, 6, 4, dtype=np.float32, random_state=1)
        np.testing.assert_array_equal(data.X, graded.X)
        np.testing.assert_array_equal(data.y, graded.y >= 2)

    @pytest.mark.parametrize("relevant_from", [5, 0, np.nan])
    def test_a_single_class_is_refused(self, graded, relevant_from):
        with pytest.raises(ValueError, match=f"relevant_from is {relevant_from} but grades run from 0 to 4"):
            skew_ranking(graded, relevant_from=relevant_from)

    def test_error_messages_name_the_argument(self, graded):
        with pytest.raises(ValueError, match="n_copies == 0"):
            skew_ranking(graded, n_copies=0)
        with pytest.raises(TypeError, match="relevant_from must be"):
            skew_ranking(graded, relevant_from="3")
        with pytest.raises(ValueError, match="data has no qid"):
            skew_ranking(load_heart())


def correlations_in_regions(data):
    """Return the absolute correlation of each feature with the grade in each region, shape (4, d)."""
    parts = [(data.X[data.region == r], data.y[data.region == r]) for r in range(4)]
    return np.array([np.abs(np.corrcoef(X.T, y)[-1, :-1]) for X, y in parts])
