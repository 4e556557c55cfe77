"""Price lists: checking one, its errors, and making a new one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from thrifty import CostModel

THRIFTY = Path(sys.executable).with_name("thrifty")


def test_a_process_of_its_own_checks_a_list_against_a_table(tables):
    command = [THRIFTY, "costs", "check", "costs.csv", "--data", "heart.csv", "--target", "diagnosis"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert "chol 5.17 CAD 7.27 CAD blood draw" in said
    assert "exercise test: 86.30 CAD, paid once for exang, oldpeak, slope" in said
    assert said.endswith("costs.csv: 323.97 CAD for everything. Every column of heart.csv has a price.")


def test_json_holds_prices_alone_and_shared(thrifty, tables, heart):
    record = json.loads(thrifty("costs", "check", "costs.csv", "--json").out)
    assert (record["unit"], record["total"]) == ("CAD", heart.costs.total)
    (chol,) = [feature for feature in record["features"] if feature["name"] == "chol"]
    assert chol == {"name": "chol", "price": 5.17, "alone": 7.27, "bundles": ["blood draw"], "requires": []}
    assert {bundle["name"] for bundle in record["bundles"]} == set(heart.costs.bundles)


def test_what_features_require_is_listed(thrifty, tables):
    Path("list.csv").write_text("name,price,bundles,requires\na,1,,\nb,2,,\nratio,,,a;b\n")
    assert "needs a, needs b" in thrifty("costs", "check", "list.csv").out


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("name,price\nage,1\nchol,dear\n", ["list.csv", "line 3", "'chol'", "'dear'"]),
        ("name,price,bundles\nage,1,draw\n", ["line 2", "'draw'"]),
        ("name,cost\nage,1\n", ["line 1", "'cost'"]),
        ("name,price\nage,1\nage,2\n", ["line 3", "twice"]),
    ],
)
def test_what_is_wrong_is_told_with_its_line(refused, tables, content, says):
    Path("list.csv").write_text(content)
    message = refused("costs", "check", "list.csv")
    for words in says:
        assert words in message


def test_a_list_that_does_not_fit_the_table_says_how(refused, tables):
    Path("list.csv").write_text(Path("costs.csv").read_text().replace("age,", "years,"))
    message = refused("costs", "check", "list.csv", "--data", "heart.csv", "--target", "diagnosis")
    assert "no price for 'age'" in message
    assert "'years' is not a column of heart.csv" in message
    assert "'diagnosis'" in refused("costs", "check", "costs.csv", "--data", "heart.csv")
    assert "--target is 'y'" in refused("costs", "check", "costs.csv", "--data", "heart.csv", "--target", "y")


@pytest.mark.parametrize("name", ["new.csv", "new.toml", "new.yaml", "new.yml"])
def test_a_template_is_a_list_for_the_table(thrifty, refused, tables, heart, name):
    arguments = ("costs", "template", "heart.csv", "--target", "diagnosis", "--unit", "CAD", "-o", name)
    assert thrifty(*arguments).code == 0
    model = CostModel.from_file(name)
    assert model.costs == dict.fromkeys(heart.X, 1.0)
    assert model.unit == "CAD"
    assert "exists already" in refused(*arguments)
    assert thrifty(*arguments, "--force").code == 0
    assert ("blood draw" in Path(name).read_text()) == (not name.endswith(".csv"))


@pytest.mark.parametrize("suffix", ["toml", "yaml"])
def test_the_example_of_a_template_works_once_its_hash_signs_are_gone(thrifty, tables, suffix):
    thrifty("costs", "template", "heart.csv", "--drop", "diagnosis", "-o", f"new.{suffix}")
    text, _, example = Path(f"new.{suffix}").read_text().partition("edit:\n")
    Path(f"new.{suffix}").write_text(text + "\n" + example.replace("# ", ""))
    assert CostModel.from_file(f"new.{suffix}").bundles == {"blood draw": (("age", "sex"), 2.1)}


def test_a_template_goes_to_standard_output_by_default(thrifty, tables):
    done = thrifty("costs", "template", "heart.csv", "--target", "diagnosis")
    assert done.out.startswith("name,price,bundles,requires\nage,1.0,,\n")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["template", "no.csv"], "no.csv"),
        (["template", "heart.csv", "-o", "new.xls"], "'.xls'"),
        (["template", "heart.csv", "-o", "no/new.csv"], "no folder"),
        (["check", "no.csv"], "no.csv"),
        (["balance"], "balance"),
        ([], "Missing command"),
    ],
)
def test_bad_input_is_one_line(refused, tables, arguments, says):
    assert says in refused("costs", *arguments)


@pytest.mark.parametrize("suffix", ["csv", "toml", "yaml"])
@pytest.mark.parametrize("name", ["a\x1b[31m", "a\x85b", "a\u2028b", 'a"b', "a\\b", "é😀"], ids=ascii)
def test_a_template_can_be_read_whatever_the_columns_are_called(thrifty, tmp_path, monkeypatch, name, suffix):
    monkeypatch.chdir(tmp_path)
    quoted = name.replace('"', '""')
    Path("odd.csv").write_text(f'"{quoted}",b\n1,2\n', encoding="utf-8")
    assert thrifty("costs", "template", "odd.csv", "-o", f"new.{suffix}").code == 0
    assert CostModel.from_file(f"new.{suffix}").costs == {name: 1.0, "b": 1.0}
