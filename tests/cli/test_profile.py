"""The command profile measures sources, and writes a price list that fit takes as it is."""

import json
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from thrifty import CostModel, load

THRIFTY = Path(sys.executable).with_name("thrifty")
SOURCES = """\
import time
from thrifty import source

print("loading the sources")

@source(provides={"age": float, "sex": float, "cp": float})
def interview(key):
    time.sleep(0.002)
    return {"age": key, "sex": 1, "cp": None}

@source(provides=["chol"])
async def chol(key):
    return 200.0 + key

@source(provides=["fbs", "thal"], name="lab; the second")
def lab(key):
    return None if key == 3 else (key, 3.0)
"""
DOWN = """
@source(provides=["ca"])
def scanner(key):
    raise OSError("no route to host")
"""


def run(*arguments, folder):
    return subprocess.run([THRIFTY, *arguments], capture_output=True, text=True, cwd=folder, check=False)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sources.py").write_text(SOURCES)
    pd.DataFrame({"id": range(1, 31), "name": "x"}).to_csv(tmp_path / "keys.csv", index=False)
    return tmp_path


def test_fit_takes_the_measured_prices(folder, heart):
    columns = ["age", "sex", "cp", "chol", "fbs", "thal"]
    heart.frame[[*columns, "diagnosis"]].to_csv(folder / "train.csv", index=False)
    done = run("profile", "sources.py", "keys.csv", "--key", "id", "--rows", "20", "-o", "costs.toml", folder=folder)
    assert (done.returncode, done.stderr) == (0, "loading the sources\n")
    assert "interview" in done.stdout
    assert "age, sex, cp" in done.stdout
    assert "Written to costs.toml" in done.stdout
    prices = CostModel.from_file(folder / "costs.toml")
    assert (list(prices.costs), prices.unit) == (columns, "ms")
    assert prices.costs["age"] == prices.costs["thal"] == 0
    members, price = prices.bundles["interview"]
    assert members == ("age", "sex", "cp")
    assert 2 <= price < 50
    fitted = run(
        "fit",
        "train.csv",
        "--target",
        "diagnosis",
        "--costs",
        "costs.toml",
        "--method",
        "l1",
        "--cv",
        "2",
        folder=folder,
    )
    assert (fitted.returncode, fitted.stderr) == (0, "")
    assert load(folder / "train.thrifty").cost_model_ == prices


def test_json_has_the_latencies_and_the_prices(folder):
    done = run("profile", "sources.py", "keys.csv", "--key", "id", "--statistic", "p95", "--json", folder=folder)
    assert done.returncode == 0
    found = json.loads(done.stdout)
    assert [each["source"] for each in found["sources"]] == ["interview", "chol", "lab; the second"]
    interview, _, lab = found["sources"]
    assert (lab["calls"], lab["failures"], lab["unknown_keys"]) == (30, 0, 1)
    assert interview["price"] == pytest.approx(interview["p95"], abs=0.001)
    assert found["prices"]["bundles"][0] == {
        "name": "interview",
        "price": interview["price"],
        "members": ["age", "sex", "cp"],
    }
    assert (found["statistic"], found["file"]) == ("p95", None)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none.py", "keys.csv", "--key", "id"], ["none.py", "cannot be read"]),
        (["broken.py", "keys.csv", "--key", "id"], ["broken.py, line 2: ZeroDivisionError (division by zero)"]),
        (["empty.py", "keys.csv", "--key", "id"], ["empty.py: the file defines no source"]),
        (["quiet.py", "none.csv"], ["none.csv"]),
        (["quiet.py", "keys.csv"], ["'id', 'name'", "--key"]),
        (["quiet.py", "keys.csv", "--key", "ID"], ["--key is 'ID'", "'id'"]),
        (["quiet.py", "keys.csv", "--key", "id", "-o", "new.txt"], ["--output is 'new.txt'", ".csv or .toml"]),
        (["quiet.py", "keys.csv", "--key", "id", "-o", "kept.csv"], ["'kept.csv', which exists", "--force"]),
        (["quiet.py", "keys.csv", "--key", "id", "-o", "keys.csv", "--force"], ["which the command reads"]),
        (["quiet.py", "keys.csv", "--key", "id", "-o", "new.csv"], ["CSV cannot hold 'lab; the second'", "TOML"]),
        (["quiet.py", "holes.csv"], ["row 2 has no 'id'"]),
        (["quiet.py", "keys.csv", "--key", "id", "--rows", "0"], ["--rows"]),
        (["quiet.py", "keys.csv", "--key", "id", "--statistic", "max"], ["--statistic", "'max'"]),
        (
            ["down.py", "keys.csv", "--key", "id", "-o", "new.toml"],
            ["source 'scanner' failed in all 30 calls", "OSError (no route to host)"],
        ),
        (
            ["quiet.py", "keys.csv", "--key", "name", "-o", "new.toml"],
            ["source 'interview' failed", "'x' is not a number"],
        ),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(arguments, says, folder, refused, monkeypatch):
    quiet = SOURCES.replace('print("loading the sources")\n', "")
    (folder / "quiet.py").write_text(quiet)
    (folder / "down.py").write_text(quiet.replace("0.002", "0") + DOWN)
    (folder / "broken.py").write_text("x = 1\ny = x / 0\n")
    (folder / "empty.py").write_text("x = 1\n")
    (folder / "holes.csv").write_text('id\n1\n""\n3\n')
    (folder / "kept.csv").write_text("mine")
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    message = refused("profile", *arguments)
    for words in says:
        assert words in message
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_real_process_refuses_in_one_line(folder):
    (folder / "down.py").write_text("from thrifty import source\n" + DOWN)
    done = run("profile", "down.py", "keys.csv", "--key", "id", "-o", "costs.csv", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "no route to host" in done.stderr
    assert not (folder / "costs.csv").exists()


def test_keys_with_leading_zeros_stay_text(folder, thrifty, monkeypatch):
    monkeypatch.chdir(folder)
    Path("padded.csv").write_text("id\n007\n010\n")
    Path("texts.py").write_text(
        "from thrifty import source\n@source(provides='n')\ndef n(key):\n    return {'007': 1, '010': 2}[key]\n"
    )
    done = thrifty("profile", "texts.py", "padded.csv", "--json")
    assert done.code == 0
    assert json.loads(done.out)["sources"][0]["failures"] == 0
