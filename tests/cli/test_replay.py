"""The command replay tells what another model would have spent and predicted; reference records rows for a watch."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from thrifty import ASTCClassifier, ThriftyClassifier, load, save
from thrifty.runtime import Call, Reference, Result, Step, Trace, TraceFile

THRIFTY = Path(sys.executable).with_name("thrifty")


def write_traces(path, frame, *, without=(), prediction="absent", spend=50.0):
    with TraceFile(path) as traces:
        for key, values in enumerate(frame.drop(columns=list(without)).to_dict("records")):
            call = Call("clinic", tuple(values), "ok", spend, 0.0, 0.01, 1, 1, "", values)
            trace = Trace(key, (Step(tuple(values), spend, "", (call,)),))
            traces(Result(key, prediction, None, 0.0, spend, 0.01, False, 0, "done", "Model", trace))


@pytest.fixture
def folder(tmp_path, monkeypatch, heart):
    monkeypatch.chdir(tmp_path)
    write_traces("traces.jsonl", heart.X[:60])
    return tmp_path


def test_a_process_of_its_own_replays_what_the_model_answers(folder, models, heart):
    command = [THRIFTY, "replay", "traces.jsonl", "--model", models / "heart.thrifty", "-o", "rows.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    acquisition, rows = load(models / "heart.thrifty").acquire(heart.X[:60]), pd.read_csv("rows.csv")
    np.testing.assert_array_equal(rows["prediction"], acquisition.prediction)
    np.testing.assert_array_equal(rows["spend"], acquisition.spend)
    assert rows["known"].all()
    assert "60 rows, of which the traces know 60 in full." in done.stdout
    assert f"50 CAD on average as recorded, {acquisition.spend.mean():.2f}" in done.stdout
    assert f"changes on {np.mean(acquisition.prediction != 'absent'):.1%}" in done.stdout
    assert "clinic" in done.stdout
    assert "Written to rows.csv." in done.stdout


def test_values_that_the_traces_lack_leave_bounds(folder, heart, thrifty):
    tree = ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=[4, 10, 100], overflow="skip")
    path = save(tree.fit(heart.X, heart.frame["diagnosis"].to_numpy()), "tree.thrifty")
    acquisition = tree.acquire(heart.X[:60])
    rare = heart.X.columns[np.argmin(np.where(acquisition.acquired.any(axis=0), acquisition.acquired.sum(axis=0), 99))]
    write_traces("part.jsonl", heart.X[:60], without=[rare])
    done = thrifty("replay", "part.jsonl", "--model", path, "--json", "-o", "rows.jsonl")
    found = json.loads(done.out)
    assert (found["rows"], found["unit"]) == (60, "CAD")
    assert 0 < found["known_rows"] == 60 - acquisition.acquired[:, heart.X.columns == rare].sum() < 60
    bounds = found["all_rows"]
    assert bounds["spend_at_least"] <= acquisition.spend.mean() <= bounds["spend_at_most"]
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert {tuple(row["unknown"]) for row in rows} == {(), (rare,)}
    assert all((row["prediction"] is None) == bool(row["unknown"]) for row in rows)
    shown = thrifty("replay", "part.jsonl", "--model", path)
    assert "On all rows: 50 CAD on average as recorded, between " in shown.out


def test_a_cap_holds_for_each_row(folder, models, heart, thrifty):
    done = thrifty("replay", "traces.jsonl", "--model", models / "heart.thrifty", "--cap", "5", "--json")
    expected = load(models / "heart.thrifty").spend(heart.X[:60], 5).mean()
    assert json.loads(done.out)["known"]["spend"] == pytest.approx(expected)


def test_a_budget_chooses_the_operating_point(folder, heart, thrifty):
    light = ThriftyClassifier(costs=heart.costs, cost_weight=1e-4, n_estimators=10, n_rounds=0, random_state=0)
    model = light.fit(heart.X, heart.frame["diagnosis"].to_numpy())
    save(model, "light.thrifty")
    done = thrifty("replay", "traces.jsonl", "--model", "light.thrifty", "--budget", "10", "--json")
    assert done.code == 0, done.err
    expected = model.at_budget(10).spend(heart.X[:60]).mean()
    assert json.loads(done.out)["known"]["spend"] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.jsonl"], ["'none.jsonl'", "No such file"]),
        (["empty.jsonl"], ["empty.jsonl: the file has no traces"]),
        (["odd.jsonl"], ["odd.jsonl: line 1 is not a trace"]),
        (["binary.jsonl"], ["binary.jsonl: the file is not UTF-8 text"]),
        (["traces.jsonl", "--cap", "-1"], ["--cap is -1"]),
        (["traces.jsonl", "--budget", "5"], ["--budget is 5", "one operating point"]),
        (["traces.jsonl", "-o", "rows.txt"], ["--output is 'rows.txt'", ".csv or .tsv or .jsonl"]),
        (["traces.jsonl", "-o", "traces.jsonl"], ["which the command reads"]),
        (["odd.jsonl", "-o", "rows.csv"], ["line 1 is not a trace"]),
        (["empty.jsonl", "-o", "rows.csv"], ["no traces"]),
    ],
)
def test_bad_input_of_replay_is_one_line_and_nothing_is_written(arguments, says, folder, models, refused):
    Path("empty.jsonl").write_text("")
    Path("odd.jsonl").write_text('{"key": 1}\n')
    Path("binary.jsonl").write_bytes(b"\xff\xfe\x00")
    before = {path: path.read_bytes() for path in folder.iterdir()}
    message = refused("replay", *arguments, "--model", models / "heart.thrifty")
    for words in says:
        assert words in message
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_reference_records_what_rows_look_like_to_a_model(tables, models, heart, mixed, thrifty):
    done = thrifty("reference", models / "heart.thrifty", "heart.csv", "-o", "reference.json")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("270 rows, ")
    assert Reference.load("reference.json") == Reference.of(load(models / "heart.thrifty"), heart.X)
    done = thrifty("reference", models / "sick.thrifty", "mixed.csv", "-o", "mixed.json")
    assert (done.code, done.err) == (0, "")
    assert Reference.load("mixed.json").n_rows == len(mixed[0])


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["heart.csv"], ["--output"]),
        (["heart.csv", "-o", "reference.txt"], ["--output is 'reference.txt'", ".json"]),
        (["heart.csv", "-o", "kept.json"], ["which exists already"]),
        (["none.csv", "-o", "new.json"], ["none.csv"]),
        (["costs.csv", "-o", "new.json"], ["none of the model's columns"]),
        (["short.csv", "-o", "new.json"], ["no rows"]),
        (["heart.csv", "-o", "new.json", "--cap", "-2"], ["--cap is -2"]),
    ],
)
def test_bad_input_of_reference_is_one_line_and_nothing_is_written(arguments, says, tables, models, refused):
    Path("kept.json").write_text("mine")
    Path("short.csv").write_text(Path("heart.csv").read_text().splitlines()[0] + "\n")
    before = {path: path.read_bytes() for path in tables.iterdir()}
    message = refused("reference", models / "heart.thrifty", *arguments)
    for words in says:
        assert words in message
    assert {path: path.read_bytes() for path in tables.iterdir()} == before
