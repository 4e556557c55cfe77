"""The summary of the benchmark of the search: what the lines of its runs say."""

import json

import pytest
from benchmarks.search.summary import read_results, summary


def line(seed, share, **numbers):
    found = {"table": "heart", "seed": seed, "share": share, "score": 0.7, "spend": 0.9, "bound": 0.95, "seconds": 5.0}
    return found | {"rise": 0.1, "promised_error": 0.02} | numbers


@pytest.fixture
def cells(tmp_path):
    """Return a function that writes two files and returns the cells of the first table in the summary."""

    def run(this, other):
        for name, lines in (("this", this), ("other", other)):
            (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in lines))
        rows = list(summary(read_results(tmp_path / "this"), read_results(tmp_path / "other")))
        return [cell.strip() for cell in rows[2].strip("|").split("|")]

    return run


def test_runs_that_ended_in_both_files_are_compared(cells):
    this = [line(0, 0.15, score=0.8), line(0, 0.4, score=0.7), line(1, 0.15, score=0.9), line(1, 0.4, score=0.1)]
    other = [line(0, 0.15), line(0, 0.4), line(1, 0.15), {"table": "heart", "seed": 1, "share": 0.4, "limit": 900}]
    found = cells(this, other)
    assert found[:4] == ["heart", "4 of 4 (3 of 4)", "0.800 (0.700)", "+0.125 ± 0.075"]


def test_what_is_spent_and_kept(cells):
    spends = (0.5, 1.0, 1.01, 0.7)
    this = [line(k, 0.4, spend=spend, seconds=k) for k, spend in enumerate(spends)]
    found = cells(this, [])
    assert found[3:6] == ["", "0.80", "75%"]
    assert found[9] == "2"


def test_a_bound_far_below_the_budget_is_fine_if_the_frontier_is_flat(cells):
    far = {"bound": 0.4}
    this = [line(0, 0.4), line(1, 0.4, **far), line(2, 0.4, **far, rise=0.0), line(3, 0.4, **far, rise=0.01)]
    assert cells(this, [])[6:9] == ["25%", "50%", "75%"]
    unknown = {name: each for name, each in line(0, 0.4, **far).items() if name != "rise"}
    assert cells([unknown], [])[6:9] == ["0%", "0%", "0%"]


def test_the_last_line_of_a_run_counts(cells):
    assert cells([line(0, 0.4, score=0.1), line(0, 0.4, score=0.9)], [])[2] == "0.900"
