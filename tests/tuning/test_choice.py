"""The choice: scores of named methods are smoothed along their curves, and points without a bound do not compete."""

import numpy as np
import pandas as pd

from thrifty.tuning.choice import by_preference, smoothed_scores


def table(method, spend, score, **more):
    settings = [{"cost_weight": 1.0 / (1 + k)} for k in range(len(spend))]
    columns = {"method": method, "parameters": settings, "spend": spend, "spend_bound": spend, "score": score}
    return pd.DataFrame({**columns, "error": "", **more})


def test_a_lucky_cheap_point_is_averaged_with_its_more_expensive_neighbours():
    points = table("l1", [1.0, 2.0, 3.0, 4.0], [0.7, 0.9, 0.7, 0.8])
    np.testing.assert_allclose(smoothed_scores(points), [0.7, 0.8, 0.8, 0.8])
    assert by_preference(points, None).tolist() == [1, 2, 3, 0]
    assert by_preference(points, 1.5).tolist() == [0, 1, 2, 3]


def test_settings_that_the_user_listed_and_scores_that_count_the_spend_are_not_smoothed():
    points = table("my grid", [1.0, 2.0, 3.0], [0.7, 0.9, 0.8])
    np.testing.assert_array_equal(smoothed_scores(points), points["score"])
    points = table("l1", [1.0, 2.0, 3.0], [-7.0, -5.0, -6.0])
    assert by_preference(points, None, smooth=False).tolist() == [1, 2, 0]


def test_points_without_a_bound_and_points_that_failed_do_not_compete():
    points = table("l1", [1.0, 2.0, 3.0], [0.7, 0.8, 0.9])
    points.loc[2, "spend_bound"] = np.nan
    points.loc[1, "error"] = "failed"
    assert by_preference(points, None).tolist() == [0]


def test_of_points_whose_scores_differ_by_rounding_the_first_one_is_preferred():
    points = table("l1", [2.0, 2.0, 2.0], [0.7, 0.7 + 1e-16, 0.7 - 1e-16])
    points["method"] = ["l1", "static", "thrifty"]
    assert points["score"].nunique() > 1
    assert by_preference(points, None).tolist() == [0, 1, 2]
