"""What all reproductions have in common, and how contests are measured and judged."""

import json
import pickle

import numpy as np
import pytest

from thrifty.bench.reproductions import modules
from thrifty.bench.reproductions._measuring.contests import Contest
from thrifty.bench.reproductions._measuring.curves import area, measured_curve
from thrifty.bench.reproductions._measuring.leads import Lead, judged_as_good, judged_better
from thrifty.bench.reproductions._measuring.problems import ranking, tabular
from thrifty.bench.reproductions.cstc_figure_6 import OTHERS
from thrifty.bench.reproductions.cstc_figure_7 import BASELINES
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key
from thrifty.datasets import load_heart, make_ltr, skew_ranking

MODULES = modules()
CONTESTS = {name: module.CONTEST for name, module in MODULES.items() if hasattr(module, "CONTEST")}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("full", [False, True])
def test_runs_have_their_own_keys_and_can_be_pickled(name, full):
    found = MODULES[name].runs(full)
    assert found
    assert len({run.key for run in found}) == len(found)
    assert {(run.key.name, run.key.full) for run in found} == {(name, full)}
    pickle.dumps(found)


@pytest.mark.parametrize("name", MODULES)
def test_without_results_nothing_is_claimed(name):
    module, results = MODULES[name], Results()
    first = module.runs(False)[0]
    results.left_out[first.key] = "left out: no such table"
    verdicts = module.verdicts(results)
    assert verdicts
    assert {verdict.outcome for verdict in verdicts} == {"not run"}
    assert "no such table" in verdicts[0].sentence
    assert module.figure(results) is None


@pytest.fixture(scope="module")
def tiny():
    """Two classes of rows, rare relevance, and graded relevance."""
    queries = make_ltr(40, 8, 12, random_state=0)
    return {
        "accuracy": tabular(load_heart(), 0, 150, 100),
        "precision@5": ranking(skew_ranking(queries, relevant_from=2, n_copies=2), 0, "precision@5"),
        "ndcg@5": ranking(queries, 0, "ndcg@5"),
    }


FAST = [  # some contenders of each kind: fits of all of them would take too long
    ("astc_figure_3", "l1", "accuracy"),
    ("cstc_figure_7", "early exit, s=0.3", "precision@5"),
    ("cstc_figure_7", "stage-wise regression", "precision@5"),
    ("miser_figure_1_right", "Greedy Miser", "ndcg@5"),
    ("cstc_figure_11", "no cost", "ndcg@5"),
    ("cstc_figure_6", "single cost-sensitive classifier", "ndcg@5"),
    ("dynamic_figure_1_curves", "weight per cost", "accuracy"),
    ("dynamic_figure_1_curves", "oracle", "accuracy"),
]


@pytest.mark.parametrize(("name", "contender", "scoring"), FAST)
def test_contenders_give_curves_in_json(tiny, name, contender, scoring):
    found = measured_curve(CONTESTS[name].contenders[contender], tiny[scoring], 0)
    assert json.loads(json.dumps(found)) == found
    assert len(found["spend"]) == len(found["score"]) == len(found["held_spend"]) == len(found["held_score"])
    assert 0 <= area(found) <= 1


def constructed(contest: Contest, scores: dict[str, float]) -> Results:
    """Return results in which each contender has one score, a little different for each seed."""
    results = Results()
    for run in contest.runs(False):
        problem, contender = run.key.setting.split(": ", 1)
        score = scores[contender] + 1e-5 * run.key.seed
        values = {"problem": problem, "contender": contender, "scoring": "accuracy", "total": 10.0}
        values |= {"spend": [1.0], "score": [score], "held_spend": [1.0], "held_score": [1.0]}
        results.append(Result(run.key, values | {"baseline": 0.2, "held_baseline": 0.2}))
    return results


ORDERS = {  # contenders from best to worst, as each paper has them
    "astc_figure_3": ["ASTC", "ASTC soft", "CSTC", "l1"],
    "cstc_figure_6": ["CSTC", "CSTC, default fine-tuning", "CSTC without fine-tuning", "Cronus", *OTHERS],
    "cstc_figure_7": ["CSCC", "Cronus", "CSTC", *BASELINES],
    "cstc_figure_11": ["both costs", "feature cost only", "several rho", "evaluation cost only", "no cost"],
    "dynamic_figure_1_curves": [
        "oracle",
        "Coaching, default",
        "DAgger, default",
        "Coaching",
        "DAgger",
        "forward selection",
        "weight per cost",
        "all features",
    ],
    "miser_figure_1_right": [
        "Greedy Miser",
        "Greedy Miser, LambdaRank",
        "Cronus",
        "early exit, s=0.2",
        "early exit, s=0.3",
        "early exit, s=0.5",
        "boosting (lambda = 0)",
    ],
}


@pytest.mark.parametrize("name", CONTESTS)
def test_verdicts_follow_the_order_of_the_areas(name):
    module, order = MODULES[name], ORDERS[name]
    assert set(order) == set(CONTESTS[name].contenders)
    as_published = constructed(CONTESTS[name], {each: 0.9 - 0.02 * k for k, each in enumerate(order)})
    reversed_order = constructed(CONTESTS[name], {each: 0.5 + 0.02 * k for k, each in enumerate(order)})
    assert {verdict.outcome for verdict in module.verdicts(as_published)} <= {"reproduced", "better"}
    assert {verdict.outcome for verdict in module.verdicts(reversed_order)} == {"not reproduced"}
    assert "seeds 0, 1" in module.verdicts(as_published)[0].sentence
    assert len(module.figure(as_published).axes) >= len(CONTESTS[name].problems)


def test_the_area_is_that_of_the_settings_which_held_out_rows_choose():
    curve = {"total": 10.0, "baseline": 0.5, "held_baseline": 0.5}
    curve |= {"held_spend": [2.0, 4.0, 6.0], "held_score": [0.7, 0.6, 0.8]}
    curve |= {"spend": [2.5, 4.0, 6.0], "score": [0.6, 1.0, 0.7]}
    assert area(curve) == pytest.approx((2.5 * 0.5 + 3.5 * 0.6 + 4 * 0.7) / 10)
    assert area(curve, share=0.25) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("differences", "better", "as_good"),
    [
        ([0.02, 0.03, 0.025], "reproduced", "better"),
        ([0.001, -0.001, 0.0], "not reproduced", "reproduced"),
        ([-0.02, -0.03, -0.025], "not reproduced", "not reproduced"),
        ([0.03], "not reproduced", "reproduced"),
    ],
)
def test_leads_are_judged_by_their_error(differences, better, as_good):
    figures = {"a": {("p", k): 0.5 + d for k, d in enumerate(differences)}, "b": {("p", k): 0.5 for k in range(9)}}
    lead = Lead.of(figures, "a", "b")
    assert (judged_better(lead), judged_as_good(lead)) == (better, as_good)


def test_problems_keep_their_parts_apart(tiny):
    problem = tiny["ndcg@5"]
    queries = [set(part.qid) for part in (problem.train, problem.held, problem.test)]
    assert all(queries)
    assert sum(map(len, queries)) == len(set.union(*queries))
    heart = tiny["accuracy"]
    assert [len(part.y) for part in (heart.train, heart.held, heart.test)] == [113, 37, 100]
    assert np.abs(np.vstack([heart.train.X, heart.held.X]).mean(axis=0)).max() < 1e-12


def test_full_results_and_quick_ones_are_not_mixed():
    contest = CONTESTS["astc_figure_3"]
    results = constructed(contest, dict.fromkeys(contest.contenders, 0.9))
    first = next(iter(results))
    results.append(Result(Key(*first.key[:3], full=True), first.values))
    assert sum(map(len, contest.areas(results).values())) == 1
