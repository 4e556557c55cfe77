"""Scaling: sizes, memory, exponents from times that are known, and the tables and pictures of reports."""

from dataclasses import asdict
from math import isnan

import numpy as np
import pytest

from thrifty.bench.reports.page import write_page
from thrifty.bench.results import Result, Results
from thrifty.bench.runner import compute
from thrifty.bench.runs import Key, LeftOutError
from thrifty.bench.scaling import inference, memory, training
from thrifty.bench.scaling.growth import exponent, exponent_of
from thrifty.bench.scaling.methods import SCALED
from thrifty.bench.scaling.sizes import QUICK, QUICK_AXES, Size, along, costs, drawn, sizes
from thrifty.bench.suite import parts
from thrifty.bench.summary import scaling_of
from thrifty.tuning.problem import Task

SMALL = Size(120, 10, 5, 2)
NAMES = ("l1", "lightgbm-full")


@pytest.fixture
def results():
    """Return results whose time is rows^1.5 * columns / 1e6, and whose memory is 2 megabytes for each 1000 rows."""
    found = Results()
    for name in NAMES:
        for size in sizes(SCALED[name].axes, full=False):
            values = {"fit_seconds": size.rows**1.5 * size.columns / 1e6, "megabytes": size.rows / 500}
            found.append(Result(Key(training.NAME, 0, f"{name}: {size}"), values, versions={"numpy": "2"}))
        speeds = {"rows_per_second": 2e6, "single_us": 10.0, "session_us": None, "columns": 2.5}
        found.append(Result(Key(inference.NAME, 0, name), speeds))
    return found


def test_one_number_grows_and_columns_bring_their_units():
    assert along("rows", full=False)[4_000] == Size(4_000, 16, 16)
    assert along("columns", full=False)[64] == Size(1_000, 64, 64)
    assert along("units", full=False)[4] == Size(1_000, 16, 4)
    assert all(QUICK in along(axis, full=False).values() for axis in QUICK_AXES)
    names = [run.key for full in (False, True) for run in training.runs(full)]
    assert len(set(names)) == len(names)
    assert any("1000000 x 1000," in key.setting for key in names if key.full)


@pytest.mark.parametrize("size", [SMALL, Size(10, 10, 10)])
def test_all_units_together_cost_their_number(size):
    model = costs(size)
    assert (model.n_features, model.total) == (size.columns, size.units)


@pytest.mark.parametrize("task", [Task.BINARY, Task.RANKING])
def test_drawn_rows_differ_by_seed_and_have_all_classes(task):
    one, other = drawn(SMALL, task, 0), drawn(SMALL, task, 1)
    assert not np.array_equal(one.X, other.X)
    assert np.unique(one.y).tolist() == ([0, 1, 2] if task is Task.RANKING else [0, 1])
    assert (one.qid is not None) == (task is Task.RANKING)


def test_peak_memory_grows_by_what_is_allocated():
    grown = memory.growth(lambda: np.ones(5_000_000).sum())  # 40 MB
    if isnan(grown):
        pytest.skip("this system does not tell the peak of the memory")
    assert 39e6 < grown < 80e6
    assert memory.growth(lambda: None) < 5e6


def test_a_size_that_does_not_fit_into_memory_is_left_out(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1e6)
    with pytest.raises(LeftOutError, match=r"1000000 x 1000, 1000 units, depth 3 needs about 32 GB of memory"):
        training.measure("l1", Size(1_000_000, 1_000, 1_000), 0)
    run = next(run for run in training.runs(full=True) if "1000000" in run.key.setting)
    results = Results()
    compute([run], results)
    assert (len(results), list(results.left_out)) == (0, [run.key])


@pytest.mark.parametrize("name", ["astc", "early-exit", "lightgbm-full"])
def test_fits_and_predictions_are_timed(name):
    values = training.measure(name, SMALL, 0)
    assert values["fit_seconds"] > 0
    speeds = inference.measure(name, SMALL, 200, 0)
    assert speeds["rows_per_second"] > 0
    assert speeds["single_us"] > 0
    assert (speeds["session_us"] is not None) == (name == "astc")
    assert 0 <= speeds["columns"] <= SMALL.columns


def test_exponents_are_those_of_the_times(results):
    growth = training.growth(results)
    assert exponent_of(growth, "l1", "rows") == pytest.approx(1.5, abs=1e-3)
    assert exponent_of(growth, "l1", "columns") == pytest.approx(1.0, abs=1e-3)
    assert exponent_of(growth, "l1", "units") == pytest.approx(0.0, abs=1e-6)
    assert exponent_of(growth, "l1", "rows", "megabytes") == pytest.approx(1.0)
    assert isnan(exponent_of(growth, "l1", "depth"))  # it has none
    assert isnan(exponent([1], [2]))
    assert isnan(exponent([1, 2], [0, 2]))


def test_reports_have_tables_and_a_picture_with_its_exponents(results, tmp_path):
    path = tmp_path / "report.html"
    write_page(path, parts(["scaling"]), results)
    page = path.read_text(encoding="utf-8")
    assert "Exponents over rows: l1 1.50, lightgbm-full 1.50." in page
    assert "<td>2,000,000</td><td>10</td><td>-</td><td>2.5</td>" in page
    assert page.count("<img ") == 1


def test_the_summary_has_what_was_measured_and_keeps_it_without_new_results(results):
    found = scaling_of(results)
    assert found["training"]["l1"]["rows"]["1000"] == {"seconds": pytest.approx(0.50596), "megabytes": 2.0}
    assert found["inference"]["l1"]["single_us"] == 10.0
    assert scaling_of(Results()) is None
    assert asdict(QUICK)["rows"] == 1_000
