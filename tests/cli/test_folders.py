"""Folders of Parquet files: predicted part by part, whatever ends the command or a worker; bad files are one line."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import thrifty as package
from distributed import Client, LocalCluster
from thrifty.cli import clusters

THRIFTY = Path(sys.executable).with_name("thrifty")
N_FILES = 12


@pytest.fixture
def rows(tables, mixed):
    """Make a folder of files with ids, and return it; one has no rows, and one has a column without values."""
    frame = pd.concat(mixed, axis=1)
    frame["id"] = [None, *range(1, len(frame))]
    schema = pa.Schema.from_pandas(frame.astype({"id": "Int32"}), preserve_index=False)
    folder = tables / "rows"
    folder.mkdir()
    edges = np.linspace(0, len(frame), N_FILES).astype(int)
    for k, (first, last) in enumerate(zip(edges, [*edges[1:], edges[-1]], strict=True)):
        pq.write_table(pa.Table.from_pandas(frame[first:last], schema), folder / f"part-{k:02}.parquet")
    empty = pq.read_table(folder / "part-03.parquet").drop_columns(["town"])
    pq.write_table(empty.append_column("town", pa.nulls(len(empty))), folder / "part-03.parquet")
    (folder / "_SUCCESS").touch()
    return folder


@pytest.fixture
def whole(thrifty, models, rows):
    """Return the predictions of all rows by one process."""
    assert thrifty("predict", models / "sick.thrifty", "rows", "--keep", "id", "-o", "whole.parquet").code == 0
    return pd.read_parquet("whole.parquet")


def command(models, *more):
    return ("predict", models / "sick.thrifty", "rows", "--keep", "id", "-o", "out", *more)


def times():
    return {path.name: path.stat().st_mtime_ns for path in Path("out").iterdir()}


def refuse_difference(whole):
    """Fail unless the folder has one part for each file and nothing else, and together the predictions of all rows."""
    assert sorted(each.name for each in Path("out").iterdir()) == [f"part-{k:02}.parquet" for k in range(N_FILES)]
    pd.testing.assert_frame_equal(pd.read_parquet("out"), whole, check_dtype=False)


def test_a_folder_is_one_table(thrifty, models, rows, mixed, whole):
    frame = mixed[0].assign(town=mixed[0]["town"].where(np.arange(300) // 27.27 // 1 != 3))
    model = package.load(models / "sick.thrifty")
    first = pq.ParquetFile("rows/part-00.parquet").metadata.num_rows * 3
    frame.loc[first : first + pq.ParquetFile("rows/part-03.parquet").metadata.num_rows - 1, "town"] = None
    np.testing.assert_array_equal(whole["spend"], model.spend(frame))
    done = thrifty("evaluate", models / "sick.thrifty", "rows", "--target", "sick", "--json")
    assert done.code == 0, done
    assert '"n_rows": 300' in done.out


def test_parts_equal_the_predictions_of_the_table(thrifty, models, rows, whole):
    done = thrifty(*command(models))
    assert (done.code, done.out) == (0, "")
    assert "300 rows: " in done.err
    assert done.err.endswith("Written to out, 12 parts.\n")
    refuse_difference(whole)
    kinds = {tuple(pq.read_schema(path).types) for path in Path("out").iterdir()}
    assert kinds == {(pa.int32(), pa.string(), pa.float64(), pa.float64(), pa.string())}


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # of Dask
def test_other_tools_read_the_parts(thrifty, models, rows, whole):
    assert thrifty(*command(models)).code == 0
    pd.testing.assert_frame_equal(pl.read_parquet("out").to_pandas(), whole, check_dtype=False)
    parts = dd.read_parquet("out").compute(scheduler="synchronous")
    pd.testing.assert_frame_equal(parts.reset_index(drop=True), whole, check_dtype=False)


def test_a_second_run_predicts_only_what_is_missing_or_has_changed(thrifty, models, rows, whole):
    assert thrifty(*command(models)).code == 0
    before = times()
    Path("out/part-05.parquet").unlink()
    Path("out/.0123456789abcdef.unfinished").write_bytes(b"PAR1")
    table = pq.read_table("rows/part-07.parquet")
    pq.write_table(table.slice(0, 3), "rows/part-07.parquet")
    done = thrifty(*command(models))
    assert "10 of 12 parts are in out already; 1 are of files that have changed" in done.err
    after = times()
    assert sorted(name for name in before if after[name] != before[name]) == ["part-05.parquet", "part-07.parquet"]
    assert len(pd.read_parquet("out/part-07.parquet")) == 3
    pq.write_table(table, "rows/part-07.parquet")
    assert thrifty(*command(models)).code == 0
    refuse_difference(whole)


def test_parts_of_something_else_are_never_mixed(thrifty, refused, models, rows):
    assert thrifty(*command(models)).code == 0
    before = times()
    other = ("predict", models / "grade.thrifty", "rows", "--keep", "id", "-o", "out")
    assert "predictions of another model in 'part-00.parquet'" in refused(*other)
    assert "with another --cap" in refused(*command(models, "--cap", 2))
    assert "with another --probabilities" in refused(*command(models, "--probabilities"))
    Path("rows").rename("elsewhere")
    assert "of another rows" in refused(*(each if each != "rows" else "elsewhere" for each in command(models)))
    Path("elsewhere").rename("rows")
    Path("rows/part-02.parquet").unlink()
    assert "'part-02.parquet' of an input file that is gone" in refused(*command(models))
    assert times() == before


def drop_town(table):
    return table.drop_columns(["town"])


def age_as_text(table):
    return table.set_column(table.schema.get_field_index("age"), "age", table["age"].cast(pa.string()))


def with_height(table):
    return table.append_column("height", pa.array([1.0] * len(table)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop_town, "part-04.parquet: the file lacks column 'town'"),
        (age_as_text, "part-04.parquet: column 'age' has type large_string; expected int64 as in 'part-00.parquet'"),
        (with_height, "part-04.parquet: the file has column 'height', which 'part-00.parquet' lacks"),
    ],
)
def test_a_file_with_other_columns(refused, models, rows, change, message):
    path = rows / "part-04.parquet"
    pq.write_table(change(pq.read_table(path)), path)
    assert message in refused(*command(models))
    assert message in refused("fit", "rows", "--target", "sick", "-o", "model.thrifty")
    assert not Path("out").exists()
    assert not Path("model.thrifty").exists()


def test_files_that_are_not_parquet(refused, models, rows):
    path = rows / "part-04.parquet"
    whole = path.read_bytes()
    for content in (b"", b"age,town\n1,Bern\n", whole[:-100]):
        path.write_bytes(content)
        assert "part-04.parquet: this is not a Parquet file" in refused(*command(models))
    path.write_bytes(whole)
    (rows / "notes.txt").touch()
    assert "'rows/notes.txt' is not a Parquet file" in refused(*command(models))
    (rows / "notes.txt").unlink()
    (rows / "year=2020").mkdir()
    assert "'rows/year=2020' is a folder" in refused(*command(models))
    assert not Path("out").exists()


def test_a_damaged_page(refused, models, rows):
    path = rows / "part-04.parquet"
    content = bytearray(path.read_bytes())
    content[4:200] = bytes(196)
    path.write_bytes(content)
    assert "part-04.parquet: the file cannot be read" in refused(*command(models))
    assert len(list(Path("out").iterdir())) == 4  # the parts before it are whole, and are kept


def test_other_folders(refused, models, rows):
    (rows / "empty").mkdir()
    (rows / "empty").rename("empty")
    of_empty = ("predict", models / "sick.thrifty", "empty", "-o", "out")
    assert "'empty' has no Parquet files" in refused(*of_empty)
    assert "which is a file" in refused("predict", models / "sick.thrifty", "rows", "-o", models / "sick.thrifty")
    assert "no folder 'none'" in refused("predict", models / "sick.thrifty", "rows", "-o", "none/out")
    assert "which the command reads" in refused("predict", models / "sick.thrifty", "rows", "-o", "rows")
    assert "needs folders" in refused("predict", models / "sick.thrifty", "mixed.csv", "--scheduler", "local")
    Path("out").mkdir()
    Path("out/notes.txt").write_text("mine")
    assert "which has 'notes.txt', not a part" in refused(*command(models))
    assert [each.name for each in Path("out").iterdir()] == ["notes.txt"]
    assert Path("out/notes.txt").read_text() == "mine"


def test_two_commands_at_once(refused, models, rows):
    import fcntl

    Path("out").mkdir()
    other = os.open("out", os.O_RDONLY)
    fcntl.flock(other, fcntl.LOCK_EX)
    assert "another command is writing" in refused(*command(models))
    os.close(other)


def test_odd_cells_are_counted_by_file_or_refused(thrifty, refused, models, rows):
    path = rows / "part-00.parquet"
    table = pq.read_table(path)
    column = table.schema.get_field_index("town")
    pq.write_table(table.set_column(column, "town", pa.array(["Rome"] * len(table))), path)
    message = refused(*command(models, "--strict"))
    assert "part-00.parquet: --strict refuses odd cells: 27 cells of 'town' are new to the model" in message
    assert not Path("out").exists()
    done = thrifty(*command(models))
    assert "27 cells of 'town' are new to the model, first 'Rome' in row 1 of " in done.err


def test_queries_in_one_file_each(thrifty, refused, models, tables, mixed):
    frame = pd.concat(mixed, axis=1)
    Path("rows").mkdir()
    for k in range(3):
        frame[k * 100 : k * 100 + 100].to_parquet(f"rows/{k}.parquet")
    arguments = ("predict", models / "ranks.thrifty", "rows", "--qid", "query", "-o")
    assert thrifty(*arguments, "out.parquet").code == 0
    assert thrifty(*arguments, "out").code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("out"), pd.read_parquet("out.parquet"), check_dtype=False)
    frame[5:10].to_parquet("rows/4.parquet")
    assert "rows/4.parquet: query 0 is also in '0.parquet'" in refused(*arguments, "other")


def test_a_scheduler_that_cannot_be_reached(refused, models, rows, monkeypatch):
    from thrifty.distributed import clusters

    monkeypatch.setattr(clusters, "TIMEOUT", 1)
    message = refused(*command(models, "--scheduler", "tcp://127.0.0.1:9"))
    assert "the scheduler 'tcp://127.0.0.1:9' cannot be reached" in message
    assert "'nonsense" in refused(*command(models, "--scheduler", "nonsense://x"))
    assert not Path("out").exists()


def test_large_tables_go_to_a_cluster(monkeypatch):
    monkeypatch.setattr(clusters, "memory", lambda: 8e6)
    assert clusters.scheduler_for(None, 2_500, 100) == "none"
    assert clusters.scheduler_for(None, 2_501, 100) == "local"
    assert clusters.scheduler_for("none", 10**9, 100) == "none"


@pytest.fixture(scope="module")
def address():
    """Return the address of a scheduler with two worker processes; a worker that dies is replaced."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        yield cluster.scheduler_address


def test_an_error_on_a_worker_is_one_line(refused, models, rows, address):
    path = rows / "part-00.parquet"
    table = pq.read_table(path)
    column = table.schema.get_field_index("town")
    pq.write_table(table.set_column(column, "town", pa.array(["Rome"] * len(table))), path)
    message = refused(*command(models, "--strict", "--scheduler", address))
    assert "part-00.parquet: --strict refuses odd cells" in message


def fit(scheduler, *more):
    """Return a command whose prices are those of the columns of the folder."""
    columns = ("--drop", "id", "--drop", "amount", "--drop", "grade", "--drop", "query")
    return (
        "fit",
        "rows",
        "--target",
        "sick",
        *columns,
        "--budget",
        3,
        "-o",
        "fit.thrifty",
        "--scheduler",
        scheduler,
        *more,
    )


def test_a_fit_on_workers_searches_a_sample_and_fits_all_rows(thrifty, models, rows, address):
    done = thrifty(*fit(address, "--method", "l1"))
    assert done.code == 0, done
    assert "Categories: town (3 levels" in done.out
    model = package.load("fit.thrifty")
    assert model.training_.n_rows == 300
    assert thrifty(*fit("none", "--method", "l1", "--force")).code == 0
    frame = pd.read_parquet("rows")[list(model.feature_names_in_)]
    here = package.load("fit.thrifty")
    np.testing.assert_allclose(model.predict_proba(frame), here.predict_proba(frame), rtol=0.02)
    assert "needs a folder" in thrifty("fit", "mixed.csv", "--target", "sick", "--scheduler", address).err


def test_a_fit_on_workers_with_groups_weights_of_classes_and_error_costs(thrifty, models, rows, address):
    for path in rows.glob("*.parquet"):
        table = pq.read_table(path)
        patient = np.arange(len(table)) // 2 + 100 * int(path.stem[-2:])
        pq.write_table(table.append_column("patient", pa.array(patient)), path)
    Path("errors.csv").write_text("true,predicted,cost\nyes,no,80\nno,yes,20\n")
    options = ("--class-weight", "balanced", "--error-costs", "errors.csv")
    done = thrifty(*fit(address, "--method", "l1", "--group", "patient", "--drop", "id", *options))
    assert done.code == 0, done
    model = package.load("fit.thrifty")
    assert model.class_weight == "balanced"
    assert model.error_costs_.of(["yes", "no"], ["no", "yes"]).tolist() == [80.0, 20.0]
    assert "patient" not in model.feature_names_in_


def test_files_without_rows(refused, tmp_path, address):
    for name in ("a", "b"):
        pd.DataFrame({"x": [], "y": []}, dtype=float).to_parquet(tmp_path / f"{name}.parquet")
    for scheduler in ("none", address):
        message = refused("fit", tmp_path, "--target", "y", "--scheduler", scheduler, "-o", tmp_path / "model.thrifty")
        assert f"{tmp_path}: no row has a value in 'y'. Pass rows to learn from." in message


def test_a_fit_on_workers_refuses_what_it_cannot_do(refused, models, rows, address):
    assert "method 'attentive' cannot be fitted on all rows there" in refused(*fit(address, "--method", "attentive"))
    assert "--strict is not supported for rows on a Dask cluster" in refused(*fit(address, "--strict"))
    groups = ("--group", "id", "--drop", "grade", "--scheduler", address, "-o", "fit.thrifty")
    assert "--group is 'id', which is missing in 1 rows of" in refused("fit", "rows", "--target", "sick", *groups)
    path = rows / "part-04.parquet"
    table = pq.read_table(path)
    column = table.schema.get_field_index("w;eird [b]<i>")
    pq.write_table(table.set_column(column, "w;eird [b]<i>", pa.array([np.inf] * len(table))), path)
    message = refused(*fit(address, "--method", "l1", "--numeric", "age"))
    assert "part-04.parquet: 'w;eird [b]<i>' is inf in row 1; expected finite numbers" in message
    assert not Path("fit.thrifty").exists()


def test_a_worker_is_killed_in_the_middle(thrifty, models, rows, whole, address, monkeypatch):
    on_cluster, killed = clusters.each_result, []

    def slow(scheduler, work, shared, items, name):
        def slowly(shared, item):
            time.sleep(0.1)
            return work(shared, item)

        return on_cluster(scheduler, slowly, shared, items, name)

    def kill_after_the_first_part():
        with Client(address, set_as_default=False) as client:
            pids = sorted(client.run(os.getpid).values())
            while not list(Path("out").glob("part-*")):
                time.sleep(0.005)
            os.kill(pids[0], signal.SIGKILL)
            killed.append(len(list(Path("out").glob("part-*"))))

    monkeypatch.setattr(clusters, "each_result", slow)
    killer = threading.Thread(target=kill_after_the_first_part)
    killer.start()
    done = thrifty(*command(models, "--scheduler", address))
    killer.join()
    assert done.code == 0, done
    assert killed[0] < N_FILES
    refuse_difference(whole)


@pytest.mark.parametrize(("scheduler", "stop"), [("none", signal.SIGKILL), ("local", signal.SIGINT)])
def test_a_command_that_is_stopped_is_run_again(thrifty, models, tables, mixed, scheduler, stop):
    Path("rows").mkdir()
    frame = pd.concat([mixed[0]] * 2)
    for k in range(150):  # enough for the command to be in the middle
        frame[k * 4 : k * 4 + 4].to_parquet(f"rows/{k:03}.parquet")
    arguments = ("predict", models / "sick.thrifty", "rows", "-o", "out", "--scheduler")
    process = subprocess.Popen(
        [THRIFTY, *arguments, scheduler], stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    while not list(Path("out").glob("*.parquet")):
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.001)
    os.killpg(process.pid, stop)
    message = process.communicate()[1]
    before = times()
    if stop is signal.SIGINT:
        assert (process.returncode, message) == (130, "")
        assert not [name for name in before if "unfinished" in name]
    parts = {name for name in before if name.endswith(".parquet")}
    assert 0 < len(parts) < 150
    done = thrifty(*arguments, "none")
    assert f"{len(parts)} of 150 parts are in out already" in done.err
    after = times()
    assert all(after[name] == before[name] for name in parts)
    assert len(after) == 150
    assert thrifty("predict", models / "sick.thrifty", "rows", "-o", "whole.parquet").code == 0
    pd.testing.assert_frame_equal(pd.read_parquet("out"), pd.read_parquet("whole.parquet"), check_dtype=False)
