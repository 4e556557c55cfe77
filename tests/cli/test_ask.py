"""Sessions in the terminal: from a keyboard, from a pipe, complete and interrupted."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import thrifty as package

THRIFTY = Path(sys.executable).with_name("thrifty")


@pytest.fixture(scope="module")
def everything(tmp_path_factory, heart, mixed):
    """Return a folder with models that ask for every column."""
    folder, (table, targets) = tmp_path_factory.mktemp("asking"), mixed
    forest = package.GreedyMiserClassifier(n_estimators=20, charge="row", cost_weight=0)
    package.save(package.TableModel(forest, costs=heart.costs).fit(heart.X, heart.y), folder / "heart.thrifty")
    package.save(package.TableModel(forest).fit(table, targets["sick"].to_numpy()), folder / "mixed.thrifty")
    return folder


def answered(thrifty, model, answers, *arguments):
    """Answer questions by name, repeated questions with the next answer; return what was printed and the trace."""
    given, asked = {name: list(each) for name, each in answers.items()}, []
    while True:
        done = thrifty("ask", model, "--json", *arguments, stdin="".join(f"{each}\n" for each in asked))
        if done.code == 0:
            return done.err, json.loads(done.out)
        assert done.code == 1
        name = done.err.rpartition("Ended")[0].rstrip().rsplit("\n", 1)[-1].partition(" (")[0]
        asked.append(given[name].pop(0))


def test_a_pipe_is_answered_as_the_batch_answers(thrifty, everything, mixed):
    model = package.load(everything / "mixed.thrifty")
    row = {"age": "61", "town": "Ulm", "smokes": "yes", "seen": "2021-05-01", "w;eird [b]<i>": "0.25"}
    said, told = answered(thrifty, everything / "mixed.thrifty", {name: [value] for name, value in row.items()})
    acquisition = model.acquire(pd.DataFrame([row]).astype({"age": float, "w;eird [b]<i>": float}))
    assert told["prediction"] == acquisition.prediction[0]
    assert told["spend"] == acquisition.spend[0]
    assert "age (1): 61" in said


def test_each_purchase_is_explained(thrifty, explained, heart):
    row = heart.X.iloc[0].to_dict()
    said, told = answered(thrifty, explained, {name: [value] for name, value in row.items()})
    assert told["steps"]
    for step in told["steps"]:
        cost = f"{step['cost']:.2f}".removesuffix(".00")
        assert f"bought {', '.join(step['bought'])} for {cost} CAD: {step['explanation']}" in " ".join(said.split())


def test_nonsense_is_asked_for_again_and_help_lists_the_levels(thrifty, everything):
    answers = {
        "age": ["old", "", "61"],
        "town": ["?", "Mars", "ulm"],
        "smokes": ["perhaps", "n"],
        "seen": ["yesterday", "2021-05-01"],
        "w;eird [b]<i>": ["inf", "Unavailable"],
    }
    said, told = answered(thrifty, everything / "mixed.thrifty", answers)
    assert "'old' is not valid. age: a finite number" in said
    assert "one of Bern, Graz, Ulm" in said
    assert "'Mars' is new to the model" in said
    assert "true or false" in said
    found = {name: value for step in told["steps"] for name, value in step["bought"].items()}
    assert found["town"] == "Ulm"
    assert found["w;eird [b]<i>"] is None


def test_a_new_level_is_taken_when_it_is_meant(thrifty, everything):
    answers = {"age": ["61"], "town": ["Mars", "Mars"], "smokes": ["no"], "seen": ["none"], "w;eird [b]<i>": ["1"]}
    _, told = answered(thrifty, everything / "mixed.thrifty", answers)
    assert {name: value for step in told["steps"] for name, value in step["bought"].items()}["town"] == "Mars"


def test_what_is_shared_is_charged_once_and_by_its_name(thrifty, everything, heart):
    row = heart.X.iloc[0].to_dict()
    done = thrifty("ask", everything / "heart.thrifty", stdin="".join("1\n" for _ in row))
    assert done.code == 0
    assert done.out.count("blood draw 2.10 CAD + ") == 1
    assert " saved." in done.out
    assert "Stopped: done" in done.out


def test_evaluation_is_told_and_asks_for_nothing(thrifty, tmp_path, heart):
    boosted = package.GreedyMiserClassifier(n_estimators=3, costs=heart.costs).fit(heart.X, heart.y)
    model = boosted.forest_.with_costs(heart.costs, evaluation_costs=0.5)
    package.save(model, tmp_path / "forest.thrifty")
    row = heart.X.iloc[0].to_dict()
    said, told = answered(thrifty, tmp_path / "forest.thrifty", {name: [value] for name, value in row.items()})
    assert told["spend"] == pytest.approx(model.spend(heart.X.iloc[[0]].to_numpy())[0])
    assert "evaluation of the model (0.50 CAD): no column needed" in said
    for step in told["steps"]:
        assert sum(part["cost"] for part in step["bill"]) == pytest.approx(step["cost"])
    shown = thrifty("explain", tmp_path / "forest.thrifty", "--row", json.dumps(row)).out
    assert ("evaluation, no column needed" in shown) == any(not step["bought"] for step in told["steps"])
    assert "evaluation, no column needed" in shown


def test_columns_without_names_are_asked_for_by_number(thrifty, tmp_path, mixed):
    table, targets = mixed
    model = package.TableModel(package.GreedyMiserClassifier(n_estimators=2)).fit(table.to_numpy(), targets["sick"])
    package.save(model, tmp_path / "plain.thrifty")
    answers = {f"x{j}": [value] for j, value in enumerate(["61", "Ulm", "yes", "2021-05-01", "0.25"])}
    said, told = answered(thrifty, tmp_path / "plain.thrifty", answers)
    assert "x0 (1): 61" in said
    assert told["spend"] == model.spend(pd.DataFrame([[61, "Ulm", True, "2021-05-01", 0.25]]).to_numpy())[0]


def test_a_cap_ends_it(thrifty, everything):
    done = thrifty("ask", everything / "mixed.thrifty", "--cap", 1, stdin="1\n" * 5)
    assert done.code == 0
    assert "Stopped: cap" in done.out
    assert "for 1; 4 of 5 saved" in done.out


def test_the_end_of_the_input_ends_it_cleanly(thrifty, everything):
    done = thrifty("ask", everything / "mixed.thrifty", stdin="")
    assert (done.code, done.err) == (1, "")
    assert done.out.endswith("Ended without an answer.\n")


def test_a_bad_cap_is_one_line(thrifty, everything):
    done = thrifty("ask", everything / "mixed.thrifty", "--cap", "-1")
    assert (done.code, done.err.count("\n")) == (2, 1)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal to pretend")
def test_a_keyboard_answers_and_interrupts(everything):
    keyboard, terminal = pty.openpty()
    command = [THRIFTY, "ask", everything / "heart.thrifty"]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True) as running:
        os.close(terminal)
        try:
            screen = read_until(keyboard, "CAD): ")
            assert 'with "unavailable"' in screen
            os.write(keyboard, b"nonsense\n")
            assert "is not valid" in read_until(keyboard, "CAD): ")
            os.write(keyboard, b"1\n")
            assert "Stopped" not in read_until(keyboard, "CAD): ")
            running.send_signal(signal.SIGINT)
            assert running.wait(timeout=60) == 130
        finally:  # otherwise a failure waits for the process for ever
            running.kill()
    os.close(keyboard)


def read_until(keyboard, words, seconds=60):
    screen, deadline = "", time.monotonic() + seconds
    while words not in screen:
        assert time.monotonic() < deadline, screen
        screen += os.read(keyboard, 4096).decode()
    return screen
