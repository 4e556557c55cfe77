"""``thrifty evaluate`` in processes of its own and in this one: the report, the exit code, the page, and bad input."""

import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty as package
from cli.pages import Page
from thrifty.evaluation import evaluate

THRIFTY = Path(sys.executable).with_name("thrifty")


@pytest.fixture
def broken(models, tmp_path):
    """Return a model file whose promise its rows do not keep."""
    model = package.load(models / "heart.thrifty")
    model.promise_ = replace(model.promise_, budget=1.0, spend_bound=1.0)
    return package.save(model, tmp_path / "broken.thrifty")


def run(*arguments):
    return subprocess.run([THRIFTY, "evaluate", *arguments], capture_output=True, text=True, check=False)


def test_a_process_of_its_own_reports_a_promise_that_holds(models, tables, heart):
    done = run(models / "heart.thrifty", "heart.csv", "--target", "diagnosis")
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    model = package.load(models / "heart.thrifty")
    right = (model.predict(heart.X) == heart.frame["diagnosis"]).mean()
    assert f"accuracy {right:.3f} (95% interval" in said
    assert "The promise holds: at most 40 CAD a row on average." in said
    assert "The cap of 150 CAD stops" in said
    assert "Expected calibration error" in said


def test_a_broken_promise_is_exit_code_1(broken, tables):
    done = run(broken, "heart.csv")
    assert (done.returncode, done.stderr) == (1, "")
    said = " ".join(done.stdout.split())
    assert "The promise is broken: at most 1 CAD a row on average, but these rows spend more than" in said


def test_the_only_other_column_is_the_target(thrifty, models, tables, heart):
    told = json.loads(thrifty("evaluate", models / "heart.thrifty", "heart.csv", "--json").out)
    model = package.load(models / "heart.thrifty")
    found = evaluate(model, heart.X, heart.frame["diagnosis"].to_numpy())
    assert told["score"] == pytest.approx(vars(found.score))
    assert told["spend"] == pytest.approx(vars(found.spend))
    assert told["promise_kept"] is True
    assert told["promise"]["budget"] == 40
    assert sum(each["n_rows"] for each in told["classes"]) == told["n_rows"] == 270


def test_the_file_of_a_search_names_its_target(thrifty, tables, heart):
    arguments = ("heart.csv", "--target", "diagnosis", "--costs", "costs.csv", "--method", "l1", "--cv", 2)
    assert thrifty("fit", *arguments, "-o", "m.thrifty").code == 0
    assert package.read_manifest("m.thrifty").target == "diagnosis"
    heart.frame.assign(visit=range(len(heart.frame))).to_csv("more.csv", index=False)
    assert thrifty("evaluate", "m.thrifty", "more.csv").code == 0


def test_what_less_and_more_money_buy_is_told(thrifty, models, tables):
    """The fixture's search has points on both sides of the chosen one."""
    for command in (("evaluate", models / "heart.thrifty", "heart.csv"), ("explain", models / "heart.thrifty")):
        said = " ".join(thrifty(*command).out.split())
        assert "The constant answer scores" in said
        assert "Everything for everyone scores" in said
        assert "Less money: within half of this spend, the best smoothed score is" in said
        assert "More money buys more" in said or "has a better smoothed score." in said
    told = json.loads(thrifty("evaluate", models / "heart.thrifty", "heart.csv", "--json").out)
    assert set(told["anchors"]) == {"constant", "everything"}


def test_numbers_and_rankings(thrifty, models, tables, mixed):
    table, targets = mixed
    told = json.loads(thrifty("evaluate", models / "amount.thrifty", "mixed.csv", "--target", "amount", "--json").out)
    model = package.load(models / "amount.thrifty")
    assert told["scoring"] == "r2"
    assert told["score"]["value"] == pytest.approx(model.score(table, targets["amount"]))
    assert (told["classes"], told["calibration"], told["promise_kept"]) == ([], None, None)
    ranking = ("--target", "grade", "--qid", "query")
    told = json.loads(thrifty("evaluate", models / "ranks.thrifty", "mixed.csv", *ranking, "--json").out)
    assert told["scoring"] == "ndcg@5"
    shown = thrifty("evaluate", models / "ranks.thrifty", "mixed.csv", *ranking)
    assert (shown.code, shown.out.count("without a promise")) == (0, 1)


def test_classes_may_be_written_in_other_ways(thrifty, tables, heart):
    X = heart.X
    for name, y, written in (
        ("whole", heart.y.astype(int), [f"{label}.0" for label in heart.y]),
        ("boolean", heart.y == 1, ["TRUE" if label else "false" for label in heart.y]),
    ):
        model = package.TableModel(package.CostWeightedL1Classifier(cost_weight=0.01)).fit(X, y)
        package.save(model, f"{name}.thrifty")
        X.assign(truth=written).to_csv(f"{name}.csv", index=False)
        told = json.loads(thrifty("evaluate", f"{name}.thrifty", f"{name}.csv", "--json").out)
        assert told["score"]["value"] == pytest.approx(model.score(X, y))


def test_rows_without_a_target_are_left_out(thrifty, models, tables, heart):
    frame = heart.frame.copy()
    frame.loc[[3, 7], "diagnosis"] = None
    frame.to_csv("gaps.csv", index=False)
    done = thrifty("evaluate", models / "heart.thrifty", "gaps.csv", "--json")
    assert json.loads(done.out)["n_rows"] == 268
    assert "2 of 270 rows have no 'diagnosis' and are left out" in done.err


def test_long_tables_are_read_in_chunks(thrifty, models, tables, heart, monkeypatch):
    whole = thrifty("evaluate", models / "heart.thrifty", "heart.csv", "--json").out
    monkeypatch.setattr("thrifty.cli.tables.table_file.TableFile.rows_per_chunk", lambda table: 64)
    assert thrifty("evaluate", models / "heart.thrifty", "heart.csv", "--json").out == whole


def test_the_page_is_complete(thrifty, models, tables):
    assert thrifty("evaluate", models / "heart.thrifty", "heart.csv", "--html", "page.html").code == 0
    page = Page(Path("page.html"))
    assert "The promise holds" in page.text
    assert "present" in page.text
    assert not [each for tag, each in page.tags if tag in ("script", "link") and "src" in each]
    assert not [name for tag, each in page.tags for name in each.values() if name and name.startswith("http")]


def test_a_terminal_shows_the_tables(models, tables):
    parent, child = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    command = [THRIFTY, "evaluate", models / "heart.thrifty", "heart.csv"]
    with subprocess.Popen(command, stdout=child, stderr=child, env=environment) as process:
        os.close(child)
        shown = b""
        while part := _read(parent):
            shown += part
    os.close(parent)
    assert process.returncode == 0
    said = shown.decode()
    assert "probability" in said
    assert "Traceback" not in said


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


@pytest.fixture
def bad_tables(tables, heart):
    heart.frame.assign(diagnosis="ill").to_csv("unknown.csv", index=False)
    heart.X.to_csv("no_target.csv", index=False)
    heart.frame.assign(diagnosis=None).to_csv("empty_target.csv", index=False)
    heart.frame[:0].to_csv("empty.csv", index=False)
    heart.frame.assign(visit=1).to_csv("two.csv", index=False)
    pd.concat([heart.frame, heart.frame]).assign(query=np.arange(540) % 270).to_csv("queries.csv", index=False)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["unknown.csv"], "'diagnosis' is 'ill' in 270 rows, which is not a class of the model"),
        (["no_target.csv"], "beside the model's columns it has none. Pass --target"),
        (["no_target.csv", "--target", "diagnosis"], "--target is 'diagnosis', which is not a column"),
        (["empty_target.csv"], "no row has a value in 'diagnosis'"),
        (["empty.csv"], "there are no rows"),
        (["two.csv"], "it has 'diagnosis', 'visit'. Pass --target"),
        (["heart.csv", "--cap", "-1"], "--cap is -1"),
        (["heart.csv", "--scoring", "best"], "--scoring is 'best'"),
        (["heart.csv", "--scoring", "r2"], "--scoring is 'r2', which compares numbers"),
        (["heart.csv", "--scoring", "total_cost"], "--scoring is 'total_cost', but the model was fitted without"),
        (["heart.csv", "--scoring", "ndcg@5"], "Pass the column with the queries"),
        (["heart.csv", "--html", "page.txt"], "--html is 'page.txt'"),
        (["heart.csv", "--qid", "visit"], "--qid is 'visit'"),
        (["queries.csv", "--qid", "query", "--target", "diagnosis"], "comes again"),
        (["mixed.csv", "--target", "sick"], "the table lacks"),
    ],
)
def test_bad_input_is_one_line(refused, models, bad_tables, arguments, says):
    assert says in refused("evaluate", models / "heart.thrifty", *arguments)


def test_text_for_a_model_of_numbers_is_one_line(refused, models, tables):
    assert "'sick' has 'yes'" in refused("evaluate", models / "amount.thrifty", "mixed.csv", "--target", "sick")
