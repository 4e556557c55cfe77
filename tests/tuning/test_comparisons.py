"""What the points of a search say about the value of money."""

import numpy as np

from thrifty.tuning.comparisons import (
    best_beyond,
    best_of_all,
    best_same_for_all,
    best_within,
    complete,
    notes,
    smoothed,
    succeeded,
)


def point(method, spend, score, **more):
    return {
        "method": method,
        "spend": spend,
        "spend_bound": spend,
        "score": score,
        "error": "",
        "note": "",
    } | more


POINTS = [
    point("l1", 2.0, 0.70),
    point("static", 6.0, 0.80),
    point("astc", 6.0, 0.85),
    point("static", 3.0, 0.99, spend_bound=np.nan, note="dropped after 2 folds: score 0.7"),
    point("astc", 9.0, 0.85),
    point("astc", 9.0, 0.99, spend_bound=None, note="dropped after 1 fold"),
    point("cstc", np.nan, np.nan, error="ValueError: no"),
]


def test_points_that_failed_or_were_dropped_do_not_compete():
    assert len(succeeded(POINTS)) == 6
    assert [each["spend"] for each in complete(POINTS)] == [2.0, 6.0, 6.0, 9.0]


def test_the_same_for_all_within_a_spend():
    assert best_same_for_all(POINTS, 5.0)["method"] == "l1"
    assert best_same_for_all(POINTS, 6.0)["method"] == "static"
    assert best_same_for_all(POINTS, 1.0) is None


def test_more_money_buys_something_or_nothing():
    assert best_beyond(POINTS, POINTS[2]) is None
    assert best_beyond(POINTS, POINTS[0])["score"] == 0.85
    assert best_of_all(POINTS)["spend"] == 6.0
    assert best_of_all([]) is None


def test_scores_along_a_curve_are_smoothed_before_they_are_compared():
    lucky = [point("l1", spend, score, parameters={"cost_weight": 1 / spend}) for spend, score in ((1, 0.8), (2, 0.6))]
    other = point("astc", 1.5, 0.75, parameters={"max_depth": 1})
    assert [each["score"] for each in smoothed([*lucky, other, POINTS[3]])] == [0.7, 0.7, 0.75]
    assert best_within(smoothed([*lucky, other]), 2.0)["method"] == "astc"
    assert smoothed([]) == []


def test_less_money_buys_something_or_nothing():
    assert best_within(POINTS, 6.0)["spend"] == 6.0
    assert best_within(POINTS, 5.0)["spend"] == 2.0
    assert best_within(POINTS, 1.0) is None


def test_notes_are_counted():
    assert notes(POINTS) == [("dropped after 2 folds", ["static"], 1), ("dropped after 1 fold", ["astc"], 1)]


def test_points_of_older_files_have_no_notes():
    old = [{"method": "l1", "spend": 1.0, "spend_bound": 2.0, "score": 0.5, "error": ""}]
    assert complete(old) == old
    assert notes(old) == []
