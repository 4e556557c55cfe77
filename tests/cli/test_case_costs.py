"""``thrifty fit --error-costs``: tests and errors together are minimised, and the report says what a case costs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import load

THRIFTY = Path(sys.executable).with_name("thrifty")
PAIRS = "true,predicted,cost\npresent,absent,800\nabsent,present,200\n"
COSTS_OF_ERRORS = {("present", "absent"): 800, ("absent", "present"): 200}


@pytest.fixture
def folder(tmp_path, heart):
    """A table of patients, its prices, and what mistakes cost."""
    frame = heart.X.copy()
    frame["disease"] = np.where(heart.y == heart.y.max(), "present", "absent")
    frame.to_csv(tmp_path / "patients.csv", index=False)
    heart.costs.to_file(tmp_path / "prices.csv")
    (tmp_path / "errors.csv").write_text(PAIRS)
    return tmp_path


def arguments(folder, *more, target="disease", with_errors=True):
    errors = ("--error-costs", folder / "errors.csv") if with_errors else ()
    given = ("fit", folder / "patients.csv", "--target", target, "--costs", folder / "prices.csv", "--method", "l1")
    return (*given, *errors, "--output", folder / "model.thrifty", *more)


def test_a_process_of_its_own_says_what_a_case_costs(folder):
    command = [THRIFTY, *map(str, arguments(folder))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    found = {" ".join(line[:2]): [float(each) for each in line if each.replace(".", "").isdigit()] for line in lines}
    constant, everything, model = found["the cheapest"], found["all tests"], found["this model"]
    assert constant[0] == 0.0
    assert everything[0] == pytest.approx(323.97)
    for spend, errors, total in (constant, everything, model):
        assert spend + errors == pytest.approx(total, abs=0.011)
    assert model[2] < min(constant[2], everything[2])
    (saved,) = re.findall(r"The model saves ([\d.]+) CAD a case, compared with the cheapest answer", done.stdout)
    assert float(saved) == pytest.approx(constant[2] - model[2], abs=0.011)
    fitted, patients = load(folder / "model.thrifty"), pd.read_csv(folder / "patients.csv")
    assert fitted.error_costs_.of(["present", "absent"], ["absent", "present"]).tolist() == [800.0, 200.0]
    acquired = fitted.acquire(patients.drop(columns="disease"))
    errors = [COSTS_OF_ERRORS.get(pair, 0) for pair in zip(patients["disease"], acquired.prediction, strict=True)]
    assert acquired.spend.mean() + np.mean(errors) == pytest.approx(model[2], rel=0.2)


def test_json_has_the_same_numbers(thrifty, folder):
    told = json.loads(thrifty(*arguments(folder, "--json", "--class-weight", "balanced")).out)
    costs, promise = told["case_costs"], told["promise"]
    assert list(costs) == ["constant", "everything", "model"]
    assert costs["model"]["total"] == pytest.approx(-promise["score"])
    assert costs["model"]["spend"] == promise["spend"]
    for each in costs.values():
        assert each["spend"] + each["errors"] == pytest.approx(each["total"])


def test_without_error_costs_there_is_no_such_report(thrifty, folder):
    done = thrifty(*arguments(folder, "--json", with_errors=False))
    assert json.loads(done.out)["case_costs"] is None


def test_errors_of_numbers(thrifty, folder):
    (folder / "errors.csv").write_text("absolute,5\n")
    told = json.loads(thrifty(*arguments(folder, "--json", "--drop", "disease", target="chol")).out)
    assert told["scoring"] == "total_cost"
    assert told["case_costs"]["model"]["total"] <= told["case_costs"]["constant"]["total"] * 1.05


@pytest.mark.parametrize(
    ("text", "more", "says"),
    [
        ("true,predicted,cost\npresent,sick,800\n", (), "line 2: 'sick' is not a class of the data"),
        ("true,predicted,cost\npresent,absent,-8\n", (), "line 2: the answer 'absent' for 'present' costs '-8'"),
        (PAIRS + "absent,present,3\n", (), "line 4: the pair absent,present appears twice"),
        ("true,predicted,cost\npresent,present,8\n", (), "the class 'absent' of the data is missing"),
        ("absolute,3\n", (), "line 1: a matrix needs the same classes"),
        (PAIRS, ("--class-weight", "heavy"), "--class-weight is 'heavy'; expected balanced"),
        (PAIRS, ("--scoring", "r2"), "--scoring is 'r2', which compares numbers, but the targets are classes"),
        (PAIRS, ("--qid", "age", "--task", "ranking"), "text such as"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(refused, folder, text, more, says):
    (folder / "errors.csv").write_text(text)
    assert says in refused(*arguments(folder, *more))
    assert not (folder / "model.thrifty").exists()


def test_a_ranking_has_no_errors_that_cost(refused, folder):
    given = arguments(folder, "--qid", "cp", "--drop", "disease", target="slope")
    assert "a ranking has no errors that cost" in refused(*given)


def test_total_cost_needs_error_costs(refused, folder):
    given = arguments(folder, "--scoring", "total_cost", with_errors=False)
    assert "--scoring is 'total_cost', but there are no error costs. Pass --error-costs." in refused(*given)


def test_the_frontier_takes_error_costs_too(thrifty, folder):
    _, *given = arguments(folder, "--json")
    at = given.index("--output")
    told = json.loads(thrifty("frontier", *given[:at], *given[at + 2 :]).out)
    assert told["scoring"] == "total_cost"
