"""Predictions of files equal those of the model, whatever the format; a file that cannot be read is one line."""

import gzip
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty as package
from thrifty.cli.tables import table_file

THRIFTY = Path(sys.executable).with_name("thrifty")


@pytest.fixture
def in_small_chunks(monkeypatch):
    monkeypatch.setattr(table_file, "MAX_CHUNK_ROWS", 43)
    monkeypatch.setattr(table_file, "MIN_CHUNK_ROWS", 43)


def test_a_process_of_its_own_reads_standard_input_and_writes_what_the_model_answers(models, tables, heart):
    command = [THRIFTY, "predict", models / "heart.thrifty", "-", "-o", "out.csv"]
    done = subprocess.run(command, input=Path("heart.csv").read_text(), capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr.startswith("thrifty: 270 rows: ")
    answers, model = pd.read_csv("out.csv"), package.load(models / "heart.thrifty")
    acquisition = model.acquire(heart.X)
    assert list(answers) == ["prediction", "probability", "spend", "bought"]
    np.testing.assert_array_equal(answers["prediction"], acquisition.prediction)
    np.testing.assert_array_equal(answers["probability"], model.predict_proba(heart.X).max(axis=1))
    np.testing.assert_array_equal(answers["spend"], acquisition.spend)
    for bought, marks in zip(answers["bought"].fillna(""), acquisition.acquired, strict=True):
        assert [name for name in bought.split(";") if name] == heart.X.columns[marks].tolist()


def change_nothing(text):
    return text.encode()


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("rows.csv", change_nothing),
        ("rows.csv", lambda text: text.replace(",", "; ").encode()),
        ("rows.csv", lambda text: b"\xef\xbb\xbf" + text.encode()),
        ("rows.csv", lambda text: text.replace("\n", "\r\n").encode()),
        ("rows.tsv", lambda text: text.replace(",", "\t").encode()),
        ("rows.csv.gz", lambda text: gzip.compress(text.encode())),
        ("rows.csv", lambda text: gzip.compress(text.encode())),
        ("rows.csv", lambda text: text.replace("\n", "\n\n").encode()),
        (
            "rows.csv",
            lambda text: "".join(f"{k or ''},{line}" for k, line in enumerate(text.splitlines(True))).encode(),
        ),
    ],
    ids=["plain", "semicolon", "BOM", "CRLF", "tab", "gz", "gz unnamed", "blank lines", "row numbers"],
)
def test_delimiters_marks_and_compression_make_no_difference(thrifty, models, tables, in_small_chunks, name, written):
    (tables / name).write_bytes(written((tables / "heart.csv").read_text()))
    expected = thrifty("predict", models / "heart.thrifty", "heart.csv").out
    assert len(expected.splitlines()) == 271
    assert thrifty("predict", models / "heart.thrifty", name).out == expected


def test_outputs_differ_only_in_form(thrifty, models, tables, in_small_chunks):
    for name in ("out.csv", "out.tsv", "out.csv.gz", "out.parquet", "out.jsonl"):
        assert thrifty("predict", models / "sick.thrifty", "mixed.csv", "-o", name).code == 0
    expected = pd.read_csv("out.csv", keep_default_na=False)
    pd.testing.assert_frame_equal(pd.read_csv("out.tsv", sep="\t", keep_default_na=False), expected)
    pd.testing.assert_frame_equal(pd.read_csv("out.csv.gz", keep_default_na=False), expected)
    pd.testing.assert_frame_equal(pd.read_parquet("out.parquet"), expected, check_dtype=False)
    lines = [json.loads(line) for line in Path("out.jsonl").read_text().splitlines()]
    assert lines == [
        json.loads(line) for line in thrifty("predict", models / "sick.thrifty", "mixed.csv", "--json").out.splitlines()
    ]
    assert [line["probability"] for line in lines] == expected["probability"].tolist()
    assert sorted({name for line in lines for name in line["bought"]})[-1] == "w;eird [b]<i>"


def test_mixed_columns_answer_as_in_python_from_csv_and_parquet(thrifty, models, tables, mixed, in_small_chunks):
    table, _ = mixed
    model = package.load(models / "sick.thrifty")
    table.assign(age=table["age"].astype("float32"), town=table["town"].astype("category")).to_parquet("mixed.parquet")
    for name in ("mixed.csv", "mixed.parquet"):
        assert thrifty("predict", models / "sick.thrifty", name, "-o", "out.csv").code == 0
        answers = pd.read_csv("out.csv")
        np.testing.assert_array_equal(answers["spend"], model.spend(table))
        np.testing.assert_array_equal(answers["probability"], model.predict_proba(table).max(axis=1))


def test_levels_that_look_like_numbers_stay_text_in_every_chunk(thrifty, tables, in_small_chunks):
    code = ["1", "02", "x", "1.0"] * 25
    y = np.isin(code, ["02", "x"])
    frame = pd.DataFrame({"code": code})
    booster = package.GreedyMiserClassifier(n_estimators=20, min_samples_leaf=1)
    model = package.TableModel(booster, kinds={"code": "category"}).fit(frame, y)
    package.save(model, "code.thrifty")
    frame.sort_values("code", ignore_index=True).to_csv("codes.csv", index=False)  # the first chunks hold numbers only
    assert thrifty("predict", "code.thrifty", "codes.csv", "-o", "out.csv").code == 0
    np.testing.assert_array_equal(pd.read_csv("out.csv")["prediction"], np.isin(np.sort(code), ["02", "x"]))


def test_every_class_and_a_cap(thrifty, models, tables, mixed):
    table, _ = mixed
    model = package.load(models / "grade.thrifty")
    arguments = ("predict", models / "grade.thrifty", "mixed.csv", "--probabilities", "--cap", 2, "-o", "out.csv")
    assert thrifty(*arguments).code == 0
    answers = pd.read_csv("out.csv")
    shares = answers[[f"probability of {label}" for label in (0, 1, 2)]].to_numpy()
    np.testing.assert_array_equal(shares, model.predict_proba(table, cap=2))
    assert answers["spend"].max() <= 2


def test_numbers_are_predicted_without_probabilities(thrifty, models, tables, mixed):
    assert thrifty("predict", models / "amount.thrifty", "mixed.csv", "-o", "out.csv").code == 0
    answers = pd.read_csv("out.csv")
    assert list(answers) == ["prediction", "spend", "bought"]
    np.testing.assert_array_equal(answers["prediction"], package.load(models / "amount.thrifty").predict(mixed[0]))


def test_queries_are_ranked_whole_however_the_file_is_cut(thrifty, models, tables, mixed, in_small_chunks):
    assert thrifty("predict", models / "ranks.thrifty", "mixed.csv", "--qid", "query", "-o", "out.csv").code == 0
    answers = pd.read_csv("out.csv")
    np.testing.assert_array_equal(answers["query"], mixed[1]["query"])
    for _, query in answers.groupby("query"):
        assert sorted(query["rank"]) == list(range(1, 11))
        assert query.sort_values("rank")["prediction"].is_monotonic_decreasing


def test_queries_that_do_not_stand_together_are_refused(refused, models, tables, mixed, in_small_chunks):
    table, targets = mixed
    pd.concat([table.assign(query=targets["query"]), table.assign(query=0)]).to_csv("rows.csv", index=False)
    assert "query 0 comes again" in refused(
        "predict", models / "ranks.thrifty", "rows.csv", "--qid", "query", "-o", "o.csv"
    )
    table.assign(query=targets["query"].where(targets["query"] != 7)).to_csv("rows.csv", index=False)
    assert "missing in" in refused("predict", models / "ranks.thrifty", "rows.csv", "--qid", "query", "-o", "o.csv")


def test_rankers_that_compare_documents_see_whole_queries(thrifty, tables, mixed, in_small_chunks):
    table, targets = mixed
    qid = targets["query"].to_numpy()
    ranker = package.EarlyExitRanker(package.GreedyMiserRanker(n_estimators=10), s=0.05, top=2)
    model = package.TableModel(ranker).fit(table, targets["grade"].to_numpy(), qid=qid)
    package.save(model, "exits.thrifty")
    assert thrifty("predict", "exits.thrifty", "mixed.csv", "--qid", "query", "-o", "out.csv").code == 0
    np.testing.assert_array_equal(pd.read_csv("out.csv")["prediction"], model.predict(table, qid=qid))
    assert not np.array_equal(model.predict(table, qid=qid), model.predict(table))


def test_a_file_without_rows_gives_one_without_rows(thrifty, models, tables):
    Path("none.csv").write_text(Path("heart.csv").read_text().splitlines(True)[0])
    assert thrifty("predict", models / "heart.thrifty", "none.csv").out == "prediction,probability,spend,bought\n"
    assert thrifty("predict", models / "heart.thrifty", "none.csv", "-o", "out.parquet").err.count("no rows") == 1
    assert pd.read_parquet("out.parquet").shape == (0, 4)
    assert thrifty("predict", models / "heart.thrifty", "none.csv", "--json").out == ""


def test_missing_columns_are_named_or_unavailable(thrifty, refused, models, tables, mixed):
    table, targets = mixed
    pd.concat([table.drop(columns="town"), targets], axis=1).to_csv("lacks.csv", index=False)
    assert "'town'" in refused("predict", models / "sick.thrifty", "lacks.csv")
    assert thrifty("predict", models / "sick.thrifty", "lacks.csv", "--allow-missing", "-o", "out.csv").code == 0
    model = package.load(models / "sick.thrifty")
    np.testing.assert_array_equal(pd.read_csv("out.csv")["spend"], model.spend(table.assign(town=None)))
    targets.to_csv("other.csv", index=False)
    assert "none of the model's columns" in refused("predict", models / "sick.thrifty", "other.csv", "--allow-missing")


def altered(text, line, cell):
    lines = text.splitlines(True)
    lines[line] = cell + lines[line][lines[line].index(",") :]
    return "".join(lines)


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("rows.csv", lambda text: "", ["rows.csv", "empty"]),
        ("rows.csv", lambda text: "\n\n", ["rows.csv", "empty"]),
        ("rows.csv", lambda text: "age,age\n1,2\n", ["'age'", "twice"]),
        ("rows.csv", lambda text: text.replace(",", ":"), ["none of the model's columns", "semicolon"]),
        ("rows.csv", lambda text: altered(text, 100, "1,2"), ["row 100 ", "more cells"]),
        ("rows.csv", lambda text: altered(text, 1, "1,2"), ["row 1 ", "more cells"]),
        ("rows.csv", lambda text: altered(text, 5, '"'), ["rows.csv", "EOF inside string"]),
        ("rows.csv", lambda text: text.replace("present", "présent").encode("latin-1"), ["not UTF-8"]),
        ("rows.csv.gz", lambda text: gzip.compress(text.encode())[:-50], ["cannot be unpacked"]),
        ("rows.parquet", lambda text: text, ["not a Parquet file"]),
        ("rows.xls", lambda text: text, ["'.xls'", ".csv"]),
    ],
)
def test_what_cannot_be_read_is_one_line_and_leaves_what_was_there(
    refused, models, tables, in_small_chunks, name, content, says
):
    written = content(Path("heart.csv").read_text())
    (tables / name).write_bytes(written if isinstance(written, bytes) else written.encode())
    Path("out.csv").write_text("mine")
    message = refused("predict", models / "heart.thrifty", name, "-o", "out.csv")
    for words in says:
        assert words in message
    assert Path("out.csv").read_text() == "mine"
    assert {path.name for path in tables.iterdir()} == {"heart.csv", "costs.csv", "mixed.csv", "out.csv", name}


def test_a_value_that_makes_no_sense_is_fine_where_it_is_not_bought(thrifty, models, tables):
    Path("rows.csv").write_text(altered(Path("heart.csv").read_text(), 3, "old"))
    assert thrifty("predict", models / "heart.thrifty", "rows.csv", "--cap", 0).code == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["-o", "out.xls"], "'out.xls'"),
        (["-o", "no/out.csv"], "no folder"),
        (["-o", "rows.csv"], "which the command reads"),
        (["-o", "folder.csv"], "is a folder"),
        (["--cap", "-1"], "cap is -1.0"),
        (["--qid", "query"], "--qid is 'query'"),
    ],
)
def test_bad_options_are_one_line(refused, models, tables, arguments, says):
    Path("heart.csv").rename("rows.csv")
    Path("folder.csv").mkdir()
    assert says in refused("predict", models / "heart.thrifty", "rows.csv", *arguments)


def test_a_model_that_is_none(refused, tables):
    assert "heart.csv" in refused("predict", "heart.csv", "heart.csv")
    assert "no.thrifty" in refused("predict", "no.thrifty", "heart.csv")


def test_estimators_without_a_table_around_them_predict_too(thrifty, tables, heart):
    model = package.ASTCClassifier(costs=list(heart.costs.costs.values())).fit(heart.X.to_numpy(), heart.y)
    package.save(model, "plain.thrifty")
    heart.X.set_axis([f"x{j}" for j in range(13)], axis=1).to_csv("rows.csv", index=False)
    assert thrifty("predict", "plain.thrifty", "rows.csv", "-o", "out.csv").code == 0
    np.testing.assert_array_equal(pd.read_csv("out.csv")["spend"], model.spend(heart.X.to_numpy()))


def test_an_interrupt_leaves_the_old_file_and_no_half_one(models, tables):
    Path("out.csv").write_text("mine")
    text = Path("heart.csv").read_bytes()
    header, rows = text.split(b"\n", 1)
    command = [THRIFTY, "predict", models / "heart.thrifty", "-", "-o", "out.csv"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdin.write(header + b"\n" + rows)
        running.stdin.flush()
        while not list(tables.glob(".*")) and running.poll() is None:
            time.sleep(0.01)  # until it has begun to write
        running.send_signal(signal.SIGINT)
        complaints = running.stderr.read()
    assert (running.returncode, complaints) == (130, b"")
    assert Path("out.csv").read_text() == "mine"
    assert not list(tables.glob(".*"))


@pytest.mark.parametrize("arguments", [["rows.parquet"], ["heart.csv", "-o", "out.parquet"]])
def test_parquet_without_pyarrow_says_what_to_install(refused, models, tables, monkeypatch, arguments):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'thrifty[parquet]'" in refused("predict", models / "heart.thrifty", *arguments)
