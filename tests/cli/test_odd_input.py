"""Odd cells, odd names and odd paths: what is said about them, in one line each."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty as package
from thrifty.cli.words import MAX_MESSAGE

THRIFTY = Path(sys.executable).with_name("thrifty")
FAST = ("--target", "diagnosis", "--method", "l1", "--cv", 2)
ESCAPE = "\x1b[31m\x9b2J\u202e"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")


@pytest.fixture
def rows(tables, heart):
    """Return the heart table, in which row 6 has a word for the age."""
    frame = heart.frame.astype({"age": object})
    frame.loc[5, "age"] = "abc"
    frame.to_csv("rows.csv", index=False)
    return frame


# What columns are taken for


def test_one_word_among_numbers_is_told_and_missing(rows):
    command = [THRIFTY, "fit", "rows.csv", *map(str, FAST)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stderr == (
        "thrifty: 1 of 270 values of 'age' is not a finite number, first 'abc' in row 6, and is treated as missing. "
        "Pass --category 'age' to take the column as a category.\n"
    )
    assert " ".join(done.stdout.split()).startswith("Numbers: age, sex, cp,")


def test_the_user_says_what_a_column_is(thrifty, rows):
    done = thrifty("fit", "rows.csv", *FAST, "--category", "age", "--category", "cp", "--json")
    assert done.err == ""
    columns = {each["column"]: each for each in json.loads(done.out)["columns"]}
    assert (columns["age"]["kind"], columns["cp"]["kind"], columns["sex"]["kind"]) == ("category", "category", "number")
    assert columns["age"]["levels"] == rows["age"].nunique()
    done = thrifty("fit", "rows.csv", *FAST, "--numeric", "age", "--json", "--force")
    age = json.loads(done.out)["columns"][0]
    assert (age["kind"], age["odd"]) == ("number", {"count": 1, "first": "abc", "row": 6})
    assert "Pass" not in done.err


def test_categories_keep_their_leading_zeros(thrifty, tables):
    code, y = np.tile(["007", "7"], 40), np.tile(["a", "b"], 40)
    pd.DataFrame({"code": code, "y": y}).to_csv("codes.csv", index=False)
    arguments = ("--target", "y", "--method", "l1", "--cv", 2, "--category", "code", "-o", "m.thrifty")
    assert thrifty("fit", "codes.csv", *arguments).code == 0
    assert thrifty("predict", "m.thrifty", "codes.csv", "-o", "out.csv").code == 0
    np.testing.assert_array_equal(pd.read_csv("out.csv")["prediction"], y)


def test_columns_in_doubt_are_categories_if_many_values_are_words(thrifty, heart, tables):
    frame = heart.frame.astype({"age": object})
    frame.loc[::5, "age"] = "old"
    frame.to_csv("rows.csv", index=False)
    done = thrifty("fit", "rows.csv", *FAST)
    assert (
        "54 of 270 values of 'age' are not a finite number, first 'old' in row 1. The column is taken as a category"
        in (done.err)
    )
    assert "Categories: age (" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--strict"], ["--strict refuses", "'age'", "'abc' in row 6"]),
        (["--strict", "--numeric", "age"], ["--strict refuses", "'abc' in row 6"]),
        (["--numeric", "nope"], ["--numeric is 'nope'", "not a column"]),
        (["--category", "diagnosis"], ["--category is 'diagnosis'", "not a feature"]),
        (["--numeric", "age", "--category", "age"], ["'age'", "both"]),
        (["--drop", "age", "--numeric", "age"], ["--numeric is 'age'", "not a feature"]),
        (["--numeric", "word"], ["--numeric is 'word'", "none of its values is a number", "row 1 has 'w'"]),
    ],
)
def test_what_is_odd_can_be_refused(refused, rows, arguments, says):
    rows.assign(word="w").to_csv("rows.csv", index=False)
    message = refused("fit", "rows.csv", *FAST, *arguments)
    for words in says:
        assert words in message
    assert not list(Path().glob("*.thrifty"))


def test_rows_are_counted_as_in_the_file(refused, tables, heart):
    heart.frame.assign(age=heart.frame["age"].where(heart.frame.index != 7, np.inf)).to_csv("rows.csv", index=False)
    text = Path("rows.csv").read_text().splitlines(True)
    text[2] = text[2].rsplit(",", 1)[0] + ",\n"  # row 2 has no target and is left out
    Path("rows.csv").write_text("".join(text))
    command = [THRIFTY, "fit", "rows.csv", *map(str, FAST)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "thrifty: rows.csv: row 8 holds 'age', which is inf; expected a finite number" in done.stderr


# Odd cells in predictions


def test_new_levels_and_cells_that_cannot_be_read_are_counted(thrifty, refused, models, tables, mixed):
    table = mixed[0].astype({"age": object, "seen": object})
    table.loc[[3, 9], "town"] = ["Oslo", "Rome"]
    table.loc[4, "age"], table.loc[5, "seen"] = "old", "yesterday"
    table.to_csv("rows.csv", index=False)
    done = thrifty("predict", models / "sick.thrifty", "rows.csv", "-o", "out.csv")
    assert done.code == 0
    assert done.err.splitlines()[:3] == [
        "thrifty: 1 cell of 'age' is not a finite number, first 'old' in row 5, and treated as unavailable.",
        "thrifty: 2 cells of 'town' are new to the model, first 'Oslo' in row 4, and treated as unlike all levels.",
        "thrifty: 1 cell of 'seen' is not a date, first 'yesterday' in row 6, and treated as unavailable.",
    ]
    table.loc[4, "age"], table.loc[5, "seen"] = None, None
    expected = package.load(models / "sick.thrifty").acquire(table)
    np.testing.assert_array_equal(pd.read_csv("out.csv")["spend"], expected.spend)
    np.testing.assert_array_equal(pd.read_csv("out.csv")["prediction"], expected.prediction)
    message = refused("predict", models / "sick.thrifty", "rows.csv", "-o", "new.csv", "--strict")
    assert "--strict refuses odd cells: 1 cell of 'age' is not a finite number" in message
    assert not Path("new.csv").exists()
    assert "2 cells of 'town' are new" in thrifty("explain", models / "sick.thrifty", "--rows", "rows.csv").err


def test_kept_columns_are_written_as_they_are(thrifty, refused, models, tables, heart):
    frame = heart.frame.assign(id=[f"{k:04}" for k in range(270)], land="NA")
    frame.to_csv("rows.csv", index=False)
    arguments = ("predict", models / "heart.thrifty", "rows.csv", "--keep", "id", "--keep", "land", "--keep", "age")
    assert thrifty(*arguments, "-o", "out.csv").code == 0
    answers = pd.read_csv("out.csv", dtype=str, keep_default_na=False)
    assert list(answers) == ["id", "land", "age", "prediction", "probability", "spend", "bought"]
    assert (answers["id"].tolist(), set(answers["land"])) == (frame["id"].tolist(), {"NA"})
    np.testing.assert_array_equal(answers["age"].astype(float), heart.X["age"])
    record = json.loads(thrifty(*arguments, "--json").out.splitlines()[0])
    assert (record["id"], record["land"]) == ("0000", "NA")
    frame.to_parquet("rows.parquet")
    thrifty("predict", models / "heart.thrifty", "rows.parquet", "--keep", "id", "-o", "out.parquet")
    assert pd.read_parquet("out.parquet")["id"].tolist() == frame["id"].tolist()
    frame.assign(spend=1).to_csv("rows.csv", index=False)
    assert "--keep is 'spend'" in refused("predict", models / "heart.thrifty", "rows.csv", "--keep", "spend")
    assert "--keep is 'nope'" in refused("predict", models / "heart.thrifty", "rows.csv", "--keep", "nope")


# Price lists that are shared


def test_prices_of_columns_that_are_not_bought_are_not_used(thrifty, refused, tables, heart):
    Path("shared.csv").write_text(Path("costs.csv").read_text() + "diagnosis,500,,\n")
    arguments = ("--target", "diagnosis", "--drop", "chol", "--drop", "thal")
    done = thrifty("fit", "heart.csv", *arguments, "--costs", "shared.csv", "--method", "l1", "--cv", 2)
    assert done.code == 0, done.err
    prices = package.read_manifest("heart.thrifty").cost_model
    assert prices == heart.costs.select([name for name in heart.X if name not in ("chol", "thal")])
    done = thrifty("costs", "check", "shared.csv", "--data", "heart.csv", *arguments, "--json")
    assert json.loads(done.out)["total"] == prices.total
    assert (
        "no price for 'sex'" in refused("costs", "check", "list.csv", "--data", "heart.csv", "--target", "diagnosis")
        if (Path("list.csv").write_text("name,price\nage,1\n"))
        else False
    )
    assert "--drop is given, but there is no table" in refused("costs", "check", "shared.csv", "--drop", "age")


def test_the_column_of_queries_needs_no_price(thrifty, tables):
    others = [f"--drop={name}" for name in ("sick", "amount")]
    arguments = ("mixed.csv", "--target", "grade", "--qid", "query", *others)
    assert thrifty("costs", "template", *arguments, "-o", "list.toml").code == 0
    assert "query" not in Path("list.toml").read_text()
    data, *rest = arguments
    assert thrifty("costs", "check", "list.toml", "--data", data, *rest).code == 0
    assert thrifty("fit", *arguments, "--costs", "list.toml", "--method", "l1", "--cv", 2).code == 0


# Outputs


def test_a_model_is_not_replaced_without_force(thrifty, refused, tables):
    Path("m.thrifty").write_text("mine")
    assert "'m.thrifty', which exists already" in refused("fit", "heart.csv", *FAST, "-o", "m.thrifty")
    assert Path("m.thrifty").read_text() == "mine"
    assert thrifty("fit", "heart.csv", *FAST, "-o", "m.thrifty", "--force").code == 0
    package.load("m.thrifty")


@pytest.mark.parametrize(
    ("path", "says"),
    [
        ("no/m.thrifty", "no folder"),
        ("heart.csv/m.thrifty", "is a file, not a folder"),
        ("heart.csv", "which the command reads"),
        ("costs.csv", "which the command reads"),
        ("folder", "is a folder"),
        ("pipe", "not a regular file"),
        ("loop", "cannot be written"),
        ("/proc/m.thrifty", "cannot be written"),
        ("a" * 300, "too long"),
        ("-", "standard output"),
    ],
)
def test_models_that_cannot_be_written_are_refused_before_the_search(refused, tables, path, says):
    Path("folder").mkdir()
    os.mkfifo("pipe")
    Path("loop").symlink_to("loop")
    before = sorted(tables.iterdir())
    message = refused("fit", "heart.csv", *FAST, "--costs", "costs.csv", "-o", path, "--force", "--method", "magic")
    assert says in message  # not "magic", which the search would refuse
    assert sorted(tables.iterdir()) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder_is_refused(refused, tables):
    Path("folder").mkdir(mode=0o500)
    assert "permission denied" in refused("fit", "heart.csv", *FAST, "-o", "folder/m.thrifty")


@pytest.mark.parametrize(("option", "name", "suffix"), [("--png", "f.docx", ".png"), ("--html", "f.pdf", ".html")])
def test_pictures_and_pages_have_their_formats(refused, models, tables, option, name, suffix):
    message = refused("frontier", models / "heart.thrifty", option, name)
    assert f"{option} is '{name}'; expected a name that ends in {suffix}" in message


@pytest.mark.parametrize(("option", "value"), [("--budget", "3"), ("--cv", "5"), ("--target", "disease")])
def test_a_model_file_takes_no_options_of_a_search(refused, models, tables, option, value):
    message = refused("frontier", models / "heart.thrifty", option, value)
    assert f"{option} is for a new search" in message


def test_settings_are_not_cut_in_a_pipe(models):
    command = [THRIFTY, "frontier", models / "heart.thrifty"]
    narrow = {**os.environ, "COLUMNS": "40"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=narrow)
    assert "node_budget 4 10 100" in done.stdout
    assert "…" not in done.stdout


# Names and values that would harm a terminal


def test_control_characters_never_reach_the_terminal(thrifty, tables, heart):
    name, label = f"age{ESCAPE}\nx", f"pre{ESCAPE}sent"
    frame = heart.frame.rename(columns={"cp": name}).replace({"diagnosis": {"present": label}})
    frame["town"] = np.tile([f"Ulm{ESCAPE}", "Bern"], 135)
    frame.to_csv("odd.csv", index=False)
    prices = {**heart.costs.costs, "town": 1.0}
    prices[name] = prices.pop("cp")
    package.CostModel(prices, bundles={f"draw{ESCAPE}": (["chol", "fbs"], 2.0)}, unit="$").to_file("odd.toml")
    fit = ("fit", "odd.csv", *FAST[:2], "--method", "astc", "--method", "l1", "--cv", 2, "--costs", "odd.toml")
    for arguments in (
        (*fit, "-o", "m.thrifty"),
        (*fit, "-o", "m.thrifty", "--force", "--json"),
        ("frontier", "m.thrifty"),
        ("explain", "m.thrifty"),
        ("explain", "m.thrifty", "--json"),
        ("explain", "m.thrifty", "--rows", "odd.csv"),
        ("explain", "m.thrifty", "--rows", "odd.csv", "--row", 1),
        ("costs", "check", "odd.toml"),
        ("costs", "check", "odd.toml", "--data", "odd.csv", "--target", "diagnosis", "--json"),
        ("ask", "m.thrifty"),
    ):
        done = thrifty(*arguments, stdin=f"?\nwhat{ESCAPE}\n" + "unavailable\n" * 20)
        assert done.code in (0, 1), done
        assert not CONTROL.search(done.out + done.err), (arguments, CONTROL.search(done.out + done.err))
    for arguments in (
        ("fit", f"no{ESCAPE}.csv", "--target", "y"),
        ("fit", "odd.csv", "--target", f"y{ESCAPE}"),
        ("predict", "m.thrifty", "odd.csv", "--keep", f"z{ESCAPE}"),
        ("explain", f"m{ESCAPE}.thrifty"),
        (f"verb{ESCAPE}",),
    ):
        done = thrifty(*arguments)
        assert (done.code, done.err.count("\n")) == (2, 1)
        assert not CONTROL.search(done.err), arguments


def test_predictions_are_written_as_they_are_but_not_to_a_terminal(thrifty, models, tables, heart, monkeypatch):
    heart.frame.head(3).assign(id=f"i{ESCAPE}").to_csv("rows.csv", index=False)
    arguments = ("predict", models / "heart.thrifty", "rows.csv", "--keep", "id")
    assert ESCAPE in thrifty(*arguments).out
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    done = thrifty(*arguments)
    assert done.out.count("\n") == 4
    assert not CONTROL.search(done.out)


# Messages


@pytest.mark.parametrize(
    "command",
    [
        ["fit", "heart.csv", "--target", "diagnosis", "--budget", "-1"],
        ["fit", "heart.csv", "--target", "diagnosis", "--budget", "nan"],
        ["fit", "heart.csv", "--target", "diagnosis", "--cap", "-1"],
        ["fit", "heart.csv", "--target", "diagnosis", "--confidence", "2"],
        ["fit", "heart.csv", "--target", "diagnosis", "--task", "guess"],
        ["fit", "heart.csv", "--target", "diagnosis", "--scoring", "wrong"],
        ["fit", "heart.csv", "--target", "diagnosis", "--scoring", "ndcg@5", "--method", "l1"],
        ["fit", "heart.csv", "--target", "diagnosis", "--jobs", "0"],
        ["fit", "heart.csv", "--target", "diagnosis", "--seed", "-1"],
        ["fit", "heart.csv", "--target", "diagnosis", "--method", "magic"],
        ["fit", "heart.csv", "--target", "diagnosis", "--costs", "list.csv"],
        ["fit", "heart.csv", "--target", "age", "--method", "adaboost-rs", "--task", "ranking"],
        ["fit", "one.csv", "--target", "diagnosis"],
        ["fit", "two.csv", "--target", "diagnosis", "--method", "l1", "--cv", "2"],
        ["fit", "same.csv", "--target", "diagnosis"],
        ["fit", "long.csv", "--target", "diagnosis"],
        ["fit", "heart.csv", "--target", "diagnosis", "--costs", "long-list.csv"],
        ["costs", "check", "long-list.csv"],
        ["predict", "heart.csv", "heart.csv"],
        ["predict", "MODEL", "heart.csv", "--cap", "-1"],
        ["explain", "MODEL", "--cap", "-1"],
        ["explain", "MODEL", "--row", '{"age": "abc"}'],
        ["explain", "MODEL", "--rows", "mixed.csv"],
        ["ask", "MODEL", "--cap", "-1"],
    ],
    ids=" ".join,
)
def test_messages_speak_of_options_and_columns(refused, models, tables, command):
    text = Path("heart.csv").read_text()
    lines = text.splitlines(True)
    Path("one.csv").write_text("".join(lines[:2]))
    Path("two.csv").write_text("".join(lines[:3]))
    Path("same.csv").write_text(text.replace("present", "absent"))
    Path("long.csv").write_text("a" * 140_000 + "," + text)
    Path("list.csv").write_text("name,price\nage,1\n")
    Path("long-list.csv").write_text("name,price\n" + "a" * 140_000 + ",1\n")
    before = sorted(tables.iterdir())
    message = refused(*[models / "heart.thrifty" if each == "MODEL" else each for each in command])
    assert not re.search(
        r"Classifier|Regressor|Ranker|SearchCV|Model\b|Error\b|\bX\b|\by\b|None|kinds|_\w+ is|\w\(", message
    )
    assert len(message) <= len("thrifty: ") + MAX_MESSAGE + 1
    assert sorted(tables.iterdir()) == before


def test_the_help_lists_all_methods_where_they_are_chosen(thrifty):
    from thrifty.tuning import METHODS

    for verb in ("fit", "frontier"):
        words = set(re.split(r"[\s,.]+", thrifty(verb, "--help").out))
        assert set(METHODS) <= words


def test_the_package_tells_type_checkers_that_it_is_typed():
    assert Path(package.__file__).with_name("py.typed").is_file()
