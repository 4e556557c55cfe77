"""Mixtures at the command line: from the fit to predictions, traces, another budget and the interactive page."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty as package
from thrifty.cli.tables import table_file

FIT = ("fit", "rows.csv", "--target", "state", "--costs", "costs.csv", "--method", "l1", "--cv", 3)


@pytest.fixture
def mixture(thrifty, tmp_path, monkeypatch):
    """Fit a mixture to a table in which a scan for 10 decides, at a budget of 5."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(600, 3)).round(4), columns=["scan", "age", "pulse"])
    table["state"] = np.where(table["scan"] + 0.3 * random.normal(size=600) > 0, "ill", "well")
    table.to_csv("rows.csv", index=False)
    pd.DataFrame({"name": ["scan", "age", "pulse"], "price": [10, 1, 1]}).to_csv("costs.csv", index=False)
    return thrifty(*FIT, "--budget", 5, "--mix", "-o", "m.thrifty")


def test_a_mixture_is_fitted_used_and_fitted_again(mixture, thrifty):
    assert mixture.code == 0
    assert "▸ l1 + l1" in " ".join(mixture.out.split())
    promise = package.read_manifest("m.thrifty").promise
    assert 4.0 < promise["spend_bound"] <= 5

    assert thrifty("predict", "m.thrifty", "rows.csv", "-o", "predicted.csv").code == 0
    spend = pd.read_csv("predicted.csv")["spend"]
    assert set(spend) == {0.0, 10.0}
    assert abs(spend.mean() - promise["spend"]) < 0.5

    for row in (1, 1 + spend.idxmax(), 1 + spend.idxmin()):  # a trace is that of the predicted row
        said = " ".join(thrifty("explain", "m.thrifty", "--rows", "rows.csv", "--row", row).out.split())
        assert ("Nothing is asked for." in said) == (spend[row - 1] == 0)

    said = " ".join(thrifty("explain", "m.thrifty").out.split())
    assert "of the rows, chosen by their positions, are answered by one model" in said
    assert "It begins with" not in said  # that depends on the position

    again = thrifty("refit", "m.thrifty", "rows.csv", "--budget", 3, "--mix")
    assert again.code == 0
    assert 2.4 < package.read_manifest("m-3.thrifty").promise["spend_bound"] <= 3

    assert thrifty("evaluate", "m-3.thrifty", "rows.csv").code == 0
    page = thrifty("frontier", "m.thrifty", "--html", "frontier.html")
    assert page.code == 0
    assert "--method l1 --mix --budget" in Path("frontier.html").read_text()


def test_without_a_mixture_the_report_says_what_one_would_score(mixture, thrifty):
    said = " ".join(thrifty(*FIT, "--budget", 5, "-o", "single.thrifty").out.split())
    found = re.search(r"A mixture of two models should score about (0\.\d+): pass --mix\.", said)
    assert 0.6 < float(found[1]) < 0.75
    assert "pass --mix" not in mixture.out


def test_chunks_and_parts_of_a_table_are_predicted_like_the_table(mixture, thrifty, monkeypatch):
    thrifty("predict", "m.thrifty", "rows.csv", "-o", "whole.csv")
    monkeypatch.setattr(table_file, "MAX_CHUNK_ROWS", 70)
    monkeypatch.setattr(table_file, "MIN_CHUNK_ROWS", 70)
    thrifty("predict", "m.thrifty", "rows.csv", "-o", "chunks.csv")
    assert pd.read_csv("whole.csv").equals(pd.read_csv("chunks.csv"))


def test_a_mixture_needs_a_budget(mixture, refused):
    assert "mix is True; expected False, because there is no budget" in refused(*FIT, "--mix", "-o", "n.thrifty")
