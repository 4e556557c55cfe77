"""The framework of the suite: keys, the file of results, the runner, verdicts and the page."""

import os
from functools import partial

import pytest

from thrifty.bench.claims import Claim, Verdict
from thrifty.bench.reports.page import picture, table
from thrifty.bench.results import Result, Results
from thrifty.bench.runner import compute
from thrifty.bench.runs import Key, Run
from thrifty.bench.suite import parts
from thrifty.exceptions import DatasetNotFoundError


def double(number):
    return {"double": 2 * number}


def raise_error(error):
    raise error


def run(setting, measure, seed=0):
    return Run(Key("part", seed, setting), measure, {"size": 3})


def spin():
    while True:
        sum(range(1000))


def test_results_are_appended_and_read_again(tmp_path):
    path = tmp_path / "folder" / "results.jsonl"
    compute([run("a", partial(double, 3)), run("b", partial(double, 4))], Results(path))
    found = Results(path).of("part")
    assert [each.values for each in found] == [{"double": 6}, {"double": 8}]
    assert found[0].settings == {"size": 3}
    assert "numpy" in found[0].versions
    assert set(found[0].machine) == {"processor", "cores", "system"}


def test_a_later_call_computes_only_what_is_missing(tmp_path):
    path, calls = tmp_path / "results.jsonl", []
    compute([run("a", lambda: double(3))], Results(path))
    compute([run("a", lambda: calls.append("a")), run("b", lambda: calls.append("b") or {})], Results(path))
    assert calls == ["b"]


def test_errors_are_recorded_and_tried_again(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    compute([run("a", partial(raise_error, ValueError("wrong")))], results)
    assert results[Key("part", 0, "a")].error == "ValueError: wrong"
    assert results.of("part") == []
    compute([run("a", partial(double, 1))], results)
    assert results[Key("part", 0, "a")].values == {"double": 2}


@pytest.mark.parametrize("error", [DatasetNotFoundError("no data"), ImportError("no package")])
def test_missing_data_and_packages_are_left_out_of_the_file(tmp_path, error):
    results = Results(tmp_path / "results.jsonl")
    compute([run("a", partial(raise_error, error))], results)
    assert len(results) == 0
    assert results.left_out == {Key("part", 0, "a"): f"left out: {error}"}


def test_a_run_ends_at_its_limit_and_is_not_tried_again():
    results, calls = Results(), []
    compute([run("a", spin)], results, limit=0.2)
    assert results[Key("part", 0, "a")].error == "given up after 0.2 s of CPU time"
    compute([run("a", lambda: calls.append("a"))], results)
    assert calls == []


def test_runs_in_other_processes_give_the_same(tmp_path):
    runs = [run(f"{k}", partial(double, k), seed) for seed in range(2) for k in range(3)]
    alone, several = Results(), Results(tmp_path / "results.jsonl")
    compute(runs, alone)
    compute(runs, several, jobs=2)
    assert {each.key: each.values for each in several} == {each.key: each.values for each in alone}


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_missing_when_time_is_up_is_computed_later(jobs):
    runs, results = [run(f"{k}", partial(double, k)) for k in range(4)], Results()
    compute(runs, results, jobs=jobs, seconds=-1.0)
    assert len(results) == 0
    compute(runs, results, jobs=jobs)
    assert len(results) == 4


def test_full_results_count_where_both_are_there():
    results = Results()
    results.append(Result(Key("part", 0, "a", full=False), {"score": 1}))
    results.append(Result(Key("part", 0, "a", full=True), {"score": 2}))
    assert [each.values["score"] for each in results.of("part")] == [2]
    assert [each.values["score"] for each in results.of("part", full=False)] == [1]


@pytest.mark.parametrize("line", [b'{"name": "part"}\n', b"hello\n", b"\xff\n", b"[]\n"])
def test_a_line_that_is_no_result_is_refused(tmp_path, line):
    path = tmp_path / "results.jsonl"
    path.write_bytes(line)
    with pytest.raises(ValueError, match=r"results.jsonl, line 1: this is not a result"):
        Results(path)


def test_a_line_that_was_not_written_to_its_end_is_computed_again(tmp_path):
    path = tmp_path / "results.jsonl"
    runs = [run(name, partial(double, 3)) for name in "abc"]
    compute(runs, Results(path))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    found = Results(path)
    assert [key.setting for key in (runs[k].key for k in range(3)) if key in found] == ["a", "b"]
    compute(runs, found)
    assert [each.values for each in Results(path).of("part")] == [{"double": 6}] * 3
    assert len(path.read_bytes().splitlines()) == 3


def test_fields_of_other_versions_are_left_out():
    line = Result(Key("part", 0, "a"), {"score": 1}).to_line()
    assert Result.from_line(line.replace('"error"', '"gpu": "none", "error"')).values == {"score": 1}


def end_process():
    os._exit(3)


def test_a_run_that_ends_its_process_is_recorded_and_the_others_are_computed(tmp_path):
    results = Results(tmp_path / "results.jsonl")
    deadly = run("deadly", end_process)
    compute(
        [run("a", partial(double, 1)), deadly, *(run(f"{k}", partial(double, k)) for k in range(3))], results, jobs=2
    )
    assert len(results) == 5
    assert "ended its process" in results[deadly.key].error
    assert len(results.of("part")) == 4


def test_reasons_are_told_once(tmp_path, capsys):
    results = Results()
    compute([run(f"{k}", partial(raise_error, DatasetNotFoundError("no data"))) for k in range(3)], results)
    assert capsys.readouterr().err.count("no data") == 1
    assert {why: len(keys) for why, keys in results.reasons().items()} == {"left out: no data": 3}


def test_a_verdict_has_one_of_four_outcomes():
    with pytest.raises(ValueError, match="outcome is 'good'; expected one of reproduced, not reproduced, better"):
        Verdict(Claim("paper", "Fig. 1", "text"), "good", "sentence")


def test_unknown_parts_are_refused():
    with pytest.raises(ValueError, match="--only is 'nothing'; expected some of"):
        parts(["nothing"])


def test_cells_and_alternative_text_are_escaped():
    from matplotlib.figure import Figure

    assert "<td>a &lt; b</td>" in table(["x"], [["a < b"]], "cells")
    assert 'alt="&quot;a&quot;"' in picture(Figure(), '"a"')
