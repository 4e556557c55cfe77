"""From a table and a price list to a model file, a frontier and a promise."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty as package
from cli.pages import Page
from thrifty.cli.search import METHOD_NAMES
from thrifty.cli.search_report import SearchReport
from thrifty.tuning import METHODS

THRIFTY = Path(sys.executable).with_name("thrifty")
HEART = ("heart.csv", "--target", "diagnosis", "--costs", "costs.csv", "--budget", 40, "--cap", 150, "--cv", 3)
PNG = b"\x89PNG\r\n\x1a\n"


def test_a_process_of_its_own_fits_promises_and_saves(tables, heart):
    command = [THRIFTY, "fit", *map(str, HEART), "--method", "l1", "-o", "m.thrifty"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said, promise = " ".join(done.stdout.split()), package.read_manifest("m.thrifty").promise
    assert "▸ l1" in said
    assert f"At most 40 CAD a row on average: measured {promise['spend']:.2f}".removesuffix(".00") in said
    assert "with 95% confidence below" in said
    for part in (
        "never more than 150 CAD.",
        "The constant answer scores 0.556 for nothing.",
        "Everything for everyone",
    ):
        assert part in said
    assert said.endswith("Saved as m.thrifty.")
    model = package.load("m.thrifty")
    assert model.spend(heart.X).max() <= 150
    assert set(model.classes_) == {"absent", "present"}


def test_json_holds_every_point_and_the_file_is_named_like_the_table(thrifty, tables):
    done = thrifty("fit", *HEART, "--method", "l1", "--json")
    found = json.loads(done.out)
    assert (found["model"], found["unit"], found["scoring"]) == ("heart.thrifty", "CAD", "accuracy")
    assert sum(point["chosen"] for point in found["frontier"]) == 1
    assert found["promise"]["budget"] == 40
    manifest = package.read_manifest("heart.thrifty")
    assert manifest.promise == found["promise"]
    assert [point["spend"] for point in manifest.frontier] == [point["spend"] for point in found["frontier"]]


def test_without_prices_and_budget_every_column_costs_one(thrifty, tables):
    done = thrifty("fit", "mixed.csv", "--target", "sick", "--drop", "amount", "--drop", "grade", "--drop", "query",
                   "--method", "l1", "--cv", 2)  # fmt: skip
    assert done.code == 0
    assert "On average " in done.out
    manifest = package.read_manifest("mixed.thrifty")
    assert manifest.cost_model.total == 5
    kinds = {feature["name"]: feature["kind"] for feature in manifest.features}
    assert kinds == {
        "age": "number",
        "town": "category",
        "smokes": "boolean",
        "seen": "date",
        "w;eird [b]<i>": "number",
    }


@pytest.mark.parametrize(
    ("target", "arguments", "scoring"),
    [
        (["yes", "no"] * 30, [], "accuracy"),
        ([True, False] * 30, [], "accuracy"),
        ([1, 2, 3] * 20, [], "accuracy"),
        (range(60), [], "r2"),
        (np.arange(60) / 7, [], "r2"),
        ([1, 2, 3] * 20, ["--task", "regression"], "r2"),
        (range(60), ["--qid", "q"], "ndcg@5"),
        ([0.5, 1.5] * 30, ["--task", "classification", "--scoring", "roc_auc"], "roc_auc"),
    ],
)
def test_the_target_tells_the_task_unless_it_is_told(thrifty, tables, target, arguments, scoring):
    y = pd.Series(target)
    signal = y.rank() + np.random.default_rng(0).normal(size=60)
    pd.DataFrame({"x": signal, "q": np.repeat(range(6), 10), "y": y}).to_csv("rows.csv", index=False)
    done = thrifty("fit", "rows.csv", "--target", "y", "--method", "l1", "--cv", 2, "--json", *arguments)
    assert done.code == 0, done.err
    assert json.loads(done.out)["scoring"] == scoring


def test_rows_without_a_target_are_left_out_and_whole_numbers_stay_so(thrifty, tables):
    rows = pd.DataFrame({"x": np.arange(40.0), "y": np.repeat([1.0, 2.0], 20)})
    rows.loc[3, "y"] = None
    rows.to_csv("rows.csv", index=False)
    done = thrifty("fit", "rows.csv", "--target", "y", "--method", "l1", "--cv", 2)
    assert done.err == "thrifty: 1 of 40 rows have no 'y' and are left out.\n"
    assert package.load("rows.thrifty").classes_.tolist() == [1, 2]


def test_large_whole_targets_stay_numbers(thrifty, tables):
    rows = pd.DataFrame({"x": np.arange(60.0), "y": 43e19 + 1e18 * np.arange(60.0)})
    rows.to_csv("rows.csv", index=False)
    done = thrifty("fit", "rows.csv", "--target", "y", "--method", "l1", "--cv", 2)
    assert done.code == 0, done.err
    assert package.load("rows.thrifty").predict(rows[["x"]]) == pytest.approx(rows["y"], rel=0.01)


def test_the_help_lists_all_methods(thrifty):
    assert METHOD_NAMES.split(", ") == list(METHODS)
    said = " ".join(thrifty("fit", "--help").out.split())
    assert "greedy-miser" in said


def test_decimal_commas_are_not_taken_for_text(refused, tables):
    Path("rows.csv").write_text("x;y\n" + "1,5;0\n2,25;1\n;1\n" * 10)
    assert "decimal commas, as in '1,5'" in refused("fit", "rows.csv", "--target", "y")


def test_a_budget_that_cannot_be_met_is_said_to_be_missed(thrifty, tables):
    done = thrifty("fit", "heart.csv", "--target", "diagnosis", "--costs", "costs.csv", "--budget", "1e-3", "--method",
                   "attentive", "--cv", 2)  # fmt: skip
    assert done.code == 0
    assert "no candidate stays within the budget" in done.err
    assert "Misses the budget of 0.001 CAD" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["heart.csv"], "--target is missing"),
        (["heart.csv", "--target", "y"], "--target is 'y'"),
        (["heart.csv", "--target", "diagnosis", "--drop", "z"], "--drop is 'z'"),
        (["heart.csv", "--target", "diagnosis", "--qid", "z"], "--qid is 'z'"),
        (["heart.csv", "--target", "diagnosis", "--costs", "no.csv"], "no.csv"),
        (["heart.csv", "--target", "age", "--costs", "costs.csv"], "diagnosis"),
        (["heart.csv", "--target", "diagnosis", "--method", "magic"], "'magic'"),
        (["heart.csv", "--target", "diagnosis", "--budget", "-1"], "budget is -1"),
        (["heart.csv", "--target", "diagnosis", "--task", "guess"], "'guess'"),
        (["heart.csv", "--target", "diagnosis", "--task", "regression"], "text"),
        (["heart.csv", "--target", "diagnosis", "-o", "no/m.thrifty"], "no folder"),
        (["heart.csv", "--target", "diagnosis", "--cv", "1"], "'--cv'"),
        (["no.csv", "--target", "y"], "no.csv"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(refused, tables, arguments, says):
    assert says in refused("fit", *arguments)
    assert sorted(path.name for path in tables.iterdir()) == ["costs.csv", "heart.csv", "mixed.csv"]


def test_an_interrupt_leaves_nothing(tables):
    command = [THRIFTY, "fit", "-", "--target", "y", "-o", "m.thrifty"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdin.write(b"x,,y\n1,2,3\n")
        running.stdin.flush()
        assert b"no name" in running.stderr.readline()  # it reads
        running.send_signal(signal.SIGINT)
        said = running.stdout.read() + running.stderr.read()
    assert (running.returncode, said) == (130, b"")
    assert not (tables / "m.thrifty").exists()


# thrifty frontier


def test_the_frontier_of_a_model_file_is_that_of_its_search(thrifty, models, tables, searched):
    done = thrifty("frontier", models / "heart.thrifty", "--json")
    points = json.loads(done.out)["frontier"]
    np.testing.assert_array_equal([point["spend"] for point in points], searched.frontier_["spend"])
    assert [point["chosen"] for point in points].index(True) == searched.best_index_
    shown = thrifty("frontier", models / "heart.thrifty").out
    lines = [line for line in shown.splitlines() if "±" in line and "CAD" in line]
    kept = (~searched.frontier_["dominated"]).sum() + bool(searched.frontier_["dominated"].iloc[searched.best_index_])
    assert len([line for line in lines if line.startswith((" ▸", "   "))]) == kept
    assert sum("▸" in line for line in lines) == 1


def test_the_page_needs_nothing_but_itself_and_escapes_everything(tables):
    name = "a<script>&'.csv"
    (tables / "heart.csv").rename(tables / name)
    command = [THRIFTY, "frontier", name, "--target", "diagnosis", "--costs", "costs.csv", "--method", "l1",
               "--cv", "3", "--budget", "100", "--png", "f.png", "--html", "f.html"]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    page = Page(tables / "f.html")
    assert name in page.text
    assert (tables / "f.png").read_bytes().startswith(PNG)
    loaded = [a.get("src") or a.get("href", "") for _, a in page.tags]
    assert not [address for address in loaded if address and not address.startswith("data:")]
    assert not {"iframe", "object", "img"} & {tag for tag, _ in page.tags}
    assert "url(" not in page.text
    assert "--target diagnosis --costs costs.csv --cv 3 --method l1 --budget" in page.text
    for line in done.stdout.splitlines():
        if " l1 " in line:
            assert line.split()[1] in page.text  # its spend
    assert not list(tables.glob("*.thrifty"))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["heart.csv"], "--target is missing"),
        (["no.thrifty"], "no.thrifty"),
        (["heart.csv", "--target", "diagnosis", "--png", "no/f.png"], "no folder"),
        (["heart.csv", "--target", "diagnosis", "--html", "f.html"], "is a folder"),
    ],
)
def test_bad_input_of_the_frontier_is_one_line(refused, tables, arguments, says):
    Path("f.html").mkdir()
    assert says in refused("frontier", *arguments)


def test_a_model_that_no_search_made_has_no_frontier(refused, models):
    assert "does not come from a search" in refused("frontier", models / "sick.thrifty")


@pytest.mark.parametrize("option", ["--drop", "--qid"])
def test_the_target_has_no_other_role(refused, tables, option):
    said = refused("fit", *HEART, "--method", "l1", option, "diagnosis", "-o", "m.thrifty")
    assert f"{option} is 'diagnosis', which is the target" in said


def test_queries_are_not_dropped(refused, tables):
    said = refused("fit", *HEART, "--method", "l1", "--qid", "sex", "--drop", "sex", "-o", "m.thrifty")
    assert "--drop is 'sex', which is the column with the queries" in said


# Groups, time limits and thrifty refit


def test_another_budget_from_a_model_file(thrifty, tables):
    done = thrifty("fit", *HEART, "--method", "l1", "-o", "m.thrifty")
    assert done.code == 0, done.err
    again = thrifty("refit", "m.thrifty", "heart.csv", "--budget", 5, "--json")
    assert again.code == 0, again.err
    found, manifest = json.loads(again.out), package.read_manifest("m-5.thrifty")
    assert found["model"] == "m-5.thrifty"
    assert manifest.promise == found["promise"]
    assert (manifest.promise["budget"], manifest.promise["cap"]) == (5, 150)
    assert len(manifest.frontier) == len(package.read_manifest("m.thrifty").frontier)
    assert manifest.target == "diagnosis"
    capped = thrifty("refit", "m.thrifty", "heart.csv", "--budget", 5, "--cap", 2, "-o", "c.thrifty")
    assert "never more than 2 CAD" in " ".join(capped.out.split())


def test_what_money_buys_is_compared_with_the_promise_if_its_point_is_not_in_the_table():
    points = [
        {"method": "l1", "parameters": {}, "spend": x, "spend_bound": x, "score": y, "error": "", "note": ""}
        for x, y in ((1.0, 0.6), (4.0, 0.8), (9.0, 0.9))
    ]
    promise = {"method": "l1", "parameters": {}, "spend": 3.0, "score": 0.7}
    less, more = SearchReport(points, promise, None, "$", "accuracy").worth()[-2:]
    assert "is 0.600, for $1 a row" in less
    assert "is 0.900, for $9 a row" in more


def test_a_refit_that_cannot_work_is_refused_in_one_line(refused, models, tables):
    model = models / "heart.thrifty"
    assert "--budget is missing" in refused("refit", model, "heart.csv", "-o", "n.thrifty")
    assert "does not come from a search" in refused(
        "refit", models / "sick.thrifty", "mixed.csv", "--budget", 5, "-o", "n.thrifty"
    )
    assert "exists already" in refused("refit", model, "heart.csv", "--budget", 5, "-o", "mixed.csv")
    assert "lacks" in refused("refit", model, "mixed.csv", "--budget", 5, "-o", "n.thrifty")
    assert not Path("n.thrifty").exists()


def test_rows_of_a_group_are_held_out_together_and_the_column_is_no_feature(thrifty, refused, tables, heart):
    heart.frame.assign(patient=np.arange(len(heart.frame)) // 2).to_csv("visits.csv", index=False)
    told = ("visits.csv", *HEART[1:], "--method", "truncated", "--group")
    done = thrifty("fit", *told, "patient", "-o", "m.thrifty")
    assert done.code == 0, done.err
    assert "patient" not in {feature["name"] for feature in package.read_manifest("m.thrifty").features}
    assert "--group is 'z', which is not a column" in refused("fit", *told, "z", "-o", "n.thrifty")
    assert "--group is 'diagnosis', which is the target" in refused("fit", *told, "diagnosis", "-o", "n.thrifty")


def test_a_time_limit_keeps_what_was_measured(thrifty, tables):
    done = thrifty("fit", *HEART, "--method", "l1", "--method", "cstc", "--time-limit", "0.001", "-o", "m.thrifty")
    assert done.code == 0, done.err
    assert "Chosen: l1" in done.out
    notes = {point["method"]: point["note"] for point in package.read_manifest("m.thrifty").frontier}
    assert notes["cstc"] == "time limit"


MANY_LINES = """
import thrifty.tuning.budget_search as search
from thrifty.cli import main
search.SECONDS_BETWEEN_LINES = 0.05
raise SystemExit(main())
"""


def test_an_interrupt_keeps_the_best_so_far_if_asked(tables):
    """The methods take a while; the signal comes when the search has measured something."""
    methods = [part for name in ("l1", "astc", "greedy-miser", "cstc", "dynamic") for part in ("--method", name)]
    command = [sys.executable, "-c", MANY_LINES, "fit", *map(str, HEART), *methods, "--keep-best", "-o", "m.thrifty"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        for line in running.stderr:
            if "best so far" in line:
                running.send_signal(signal.SIGINT)
                break
        said, _ = running.communicate()
    assert running.returncode == 0
    assert "Chosen: " in said
    assert "interrupted" in {point["note"] for point in package.read_manifest("m.thrifty").frontier}


def test_a_terminal_shows_the_method_at_work(tables):
    parent, child = pty.openpty()
    command = [THRIFTY, "fit", *map(str, HEART), "--method", "astc", "-o", "m.thrifty"]
    environment = {**os.environ, "COLUMNS": "90", "TERM": "xterm"}
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=child, env=environment) as running:
        os.close(child)
        shown = b"".join(iter(lambda: read_terminal(parent), b""))
    os.close(parent)
    assert running.returncode == 0
    assert "Searching" in shown.decode()
    assert "astc" in shown.decode()


def read_terminal(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""
