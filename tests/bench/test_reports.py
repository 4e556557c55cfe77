"""Figures, ranks, verdicts, the check and the page, from results whose figures are known."""

import json
import re
from math import isnan, sqrt
from pathlib import Path

import numpy as np
import pytest

from browsers import launched, violations
from thrifty.bench import check
from thrifty.bench.contenders import FLAGSHIP, FULL
from thrifty.bench.curves import standings
from thrifty.bench.flagship_verdict import all_standings, ranking_of, verdicts
from thrifty.bench.ranks import critical_difference, ranked
from thrifty.bench.reports.page import write_page
from thrifty.bench.reports.race_figures import describe_curves
from thrifty.bench.reports.race_tables import problem_rows
from thrifty.bench.reports.terminal import print_report
from thrifty.bench.reproductions import promised_budgets
from thrifty.bench.results import Result, Results
from thrifty.bench.runs import Key
from thrifty.bench.suite import parts
from thrifty.bench.summary import committed, committed_ranking, figures, summary_of, write_summary

PROBLEMS = ("heart", "pima")


def result(problem, seed, name, spend, score):
    points = [{"spend": spend, "score": score, "held_out": [spend, score], "setting": {}, "model": ""}]
    values = {
        "points": points,
        "floor": 0.5,
        "total": 10.0,
        "score": "accuracy",
        "n_test": 400,
        "fit_seconds": 2.0,
        "tuning_seconds": 8.0,
    }
    return Result(Key(problem, seed, name), values, versions={"numpy": "2"}, machine={"cores": 2})


@pytest.fixture
def results():
    found = Results()
    for problem in PROBLEMS:
        for seed in range(3):
            found.append(result(problem, seed, FULL, 10.0, 0.9))
            found.append(result(problem, seed, FLAGSHIP, 2.0, 0.9))
            found.append(result(problem, seed, "l1", 5.0, 0.7 + 0.1 * seed))
    return found


def test_areas_are_normalised(results):
    first, second, full = standings(results, "heart")
    assert (first.contender, second.contender, full.contender) == (FLAGSHIP, "l1", FULL)
    assert first.area == pytest.approx(0.8 + 0.5 * 0.2)
    assert first.interval == pytest.approx(0.0)
    assert full.area == pytest.approx(0.5)
    assert list(second.areas.values()) == pytest.approx([0.75 * 0.5, 0.75 * 0.75, 0.75 * 1.0])
    assert second.interval == pytest.approx(4.3027 * np.std(list(second.areas.values()), ddof=1) / sqrt(3), rel=1e-4)


def test_the_spend_for_a_good_score_is_on_the_line_between_points(results):
    first, second, _ = standings(results, "heart")
    assert first.spend_for_enough == pytest.approx(0.2 * (0.891 - 0.5) / 0.4)
    assert isnan(second.spend_for_enough)  # two seeds never reach it


def test_gains_are_points_above_the_constant_answer(results):
    first, second, full = standings(results, "heart")
    assert (first.gain, full.gain) == (pytest.approx(40 * 0.9), pytest.approx(40 * 0.5))
    assert first.area == pytest.approx(first.gain / 40)
    assert second.gain_interval == pytest.approx(40 * second.interval)


def test_a_full_model_that_is_hardly_above_the_constant_answer_divides_nothing(results):
    few = Results()
    for seed in range(3):
        for name, score in ((FULL, 0.55), (FLAGSHIP, 0.6)):
            few.append(result("heart", seed, name, 5.0, score))
    first, full = standings(few, "heart")
    assert (first.contender, first.gain) == (FLAGSHIP, pytest.approx(10 * 0.75))
    assert isnan(first.area)
    assert problem_rows(few, "heart")[0][1:3] == ("7.50 ± 0.00", "-")
    assert "is not clearly above the error" in describe_curves(few, "heart")
    assert figures([first, full])[FLAGSHIP]["area"] is None
    assert "not clearly above" not in describe_curves(results, "heart")


def test_seeds_that_reach_a_good_score_are_counted(results):
    first, second, _ = standings(results, "heart")
    assert (first.n_enough, second.n_enough) == (3, 1)
    assert [row[3] for row in problem_rows(results, "heart")[:2]] == ["20 ± 0%", "1 of 3 seeds"]


def test_a_run_that_was_given_up_counts_as_the_constant_answer(results):
    results.append(Result(Key("heart", 0, "cstc"), {}, error="given up after 1 s of CPU time"))
    last = standings(results, "heart")[-1]
    assert (last.contender, last.area, last.failures) == ("cstc", 0.0, ("given up after 1 s of CPU time",))


def test_seeds_that_some_contender_misses_do_not_count(results):
    results.append(result("heart", 0, "cstc", 1.0, 0.9))
    assert {tuple(each.areas) for each in standings(results, "heart")} == {(0,)}


def test_ranks_share_places_and_leave_out_contenders_with_gaps():
    ranking = ranked({"x": {"a": 0.9, "b": 0.9, "c": 0.1, "d": 1.0}, "y": {"a": 0.8, "b": 0.7, "c": 0.1}})
    assert ranking.contenders == ("a", "b", "c")
    assert ranking.mean_ranks.tolist() == [1.25, 1.75, 3.0]


def test_the_critical_difference_is_the_published_one():
    assert critical_difference(4, 14) == pytest.approx(2.569 * sqrt(4 * 5 / (6 * 14)), rel=1e-3)  # Demsar (2006)


def test_holm_needs_many_problems():
    few = ranked({f"{k}": {"a": 0.9, "b": 0.5 + 0.01 * k} for k in range(4)})
    many = ranked({f"{k}": {"a": 0.9, "b": 0.5 + 0.01 * k} for k in range(10)})
    assert few.worse_than("a") == []
    assert many.worse_than("a") == ["b"]
    assert many.worse_than("b") == []


def test_the_verdict_names_problems_that_are_lost(results):
    assert "It loses on no problem. Seeds: 3 per problem." in verdicts(results)[0].sentence
    for seed in range(3):
        results.append(result("pima", seed, "l1", 1.0, 0.9))
    (verdict,) = verdicts(results)
    assert verdict.outcome == "not reproduced"
    assert "Others have a larger gain on 1 of 2 problems: pima (l1, 38.00 against 36.00 points)" in verdict.sentence
    assert verdicts(Results())[0].outcome == "not run"


def test_full_takes_no_part_in_ranks(results):
    assert set(ranking_of(all_standings(results)).contenders) == {FLAGSHIP, "l1"}


def small(areas, seconds=10.0):
    reference = {"areas": {"0": 0.5, "1": 0.5}, "seconds": 2.0}
    return {"heart": {FLAGSHIP: {"areas": areas, "seconds": seconds}, check.REFERENCE: reference}}


@pytest.mark.parametrize(
    ("after", "is_met"),
    [
        (small({"0": 0.9, "1": 0.7}), True),
        (small({"0": 0.71, "1": 0.5}), True),  # a loss of 0.195, below 2 s / sqrt(2) = 0.2
        (small({"0": 0.69, "1": 0.5}), False),
        (small({"0": 0.9, "1": 0.7}, seconds=29.0), True),
        (small({"0": 0.9, "1": 0.7}, seconds=31.0), False),
        ({}, False),
    ],
)
def test_the_check_fails_beyond_noise(after, is_met):
    lines = check.compared(small({"0": 0.9, "1": 0.7}), after)
    assert all(line.is_met for line in lines) == is_met


def test_the_committed_summary_has_what_the_check_compares():
    before = committed()["check"]
    assert set(before) == set(check.PROBLEMS)
    assert {name for each in before.values() for name in each} == set(check.CONTENDERS)
    assert all(line.is_met for line in check.compared(before, before))


def test_the_committed_ranking_follows_from_the_committed_gains():
    ranking = committed_ranking()
    found = {name: round(ranking.rank_of(name), 4) for name in ranking.contenders}
    assert found == committed()["ranking"]["mean_ranks"]


def test_the_picture_of_the_documentation_has_the_committed_ranks():
    picture = (Path(__file__).parents[2] / "docs" / "figures" / "ranks.svg").read_text(encoding="utf-8")
    ranking = committed_ranking()
    shown = [line for line in re.findall(r"<!-- (.*?) -->", picture) if line in ranking.contenders]
    assert shown == list(ranking.contenders)
    assert f"<!-- critical difference {ranking.critical_difference:.1f} -->" in picture


def test_the_summary_is_json_without_host_names(results, tmp_path):
    path = tmp_path / "summary.json"
    write_summary(path, summary_of(parts(PROBLEMS), results, results))
    found = json.loads(path.read_text())
    assert found["problems"]["heart"][FLAGSHIP]["area"] == pytest.approx(0.9)
    assert found["problems"]["heart"]["l1"]["spend_for_enough"] is None
    assert set(committed()["machine"]) == {"processor", "cores", "system"}


def test_the_page_is_one_file_with_figures_and_their_alternative_text(results, tmp_path):
    results.left_out[Key("heart", 0, "catboost-penalties")] = "left out: catboost is missing"
    path = tmp_path / "report.html"
    write_page(path, parts(PROBLEMS), results)
    page = path.read_text(encoding="utf-8")
    pictures = re.findall(r"<img [^>]*>", page)
    assert len(pictures) == 3
    assert all(re.search(r'alt="[^"]{40,}"', picture) for picture in pictures)
    assert re.findall(r'(?:src|href)="(?!data:|#)[^"]*"', page) == []
    assert "$" not in re.sub(r'src="[^"]*"', "", page)
    for words in ("not reproduced", "Mean ranks", "catboost is missing", "numpy 2"):
        assert words in page


def test_the_page_without_results_says_so(tmp_path):
    path = tmp_path / "report.html"
    write_page(path, parts(PROBLEMS), Results())
    assert "There are too few results." in path.read_text(encoding="utf-8")


def test_the_terminal_shows_tables_and_verdicts(results, capsys):
    from rich.console import Console

    print_report(parts(PROBLEMS), results, Console(width=200))
    printed = capsys.readouterr().out
    assert "0.900 ± 0.000" in printed
    assert "race: not reproduced" in printed


def test_figures_of_a_summary_are_those_of_the_standings(results):
    found = figures(standings(results, "heart"))
    assert found[FLAGSHIP]["seconds"] == 10.0
    assert found["l1"]["areas"] == {"0": 0.375, "1": 0.5625, "2": 0.75}


def test_promised_budgets_are_judged_by_how_many_are_kept():
    def verdict_of(n_broken):
        results = Results()
        for seed in range(20):
            spend = 0.3 if seed < n_broken else 0.1
            values = {"budgets": [0.2], "spends": [spend], "n_test": 10}
            results.append(Result(Key("promised_budgets", seed, "heart"), values))
        return promised_budgets.verdicts(results)[0]

    assert verdict_of(1).outcome == "reproduced"
    assert verdict_of(5).outcome == "not reproduced"  # P(at most 15 of 20 kept) = 0.003
    assert "15 of 20 budgets (75%) are kept on test rows of heart, seeds 0 to 19." in verdict_of(5).sentence
    assert promised_budgets.verdicts(Results())[0].outcome == "not run"


def test_the_page_is_readable_in_a_browser_on_a_small_screen(results, tmp_path):
    path = tmp_path / "report.html"
    write_page(path, parts(PROBLEMS), results)
    with launched() as browser:
        page = browser.new_page(viewport={"width": 420, "height": 800}, offline=True)
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        page.goto(path.as_uri())
        assert page.evaluate("document.documentElement.scrollWidth") <= 420
        assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
        assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
        assert violations(page) == []
