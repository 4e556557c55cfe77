import csv
import os
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from costs.strategies import price_lists
from thrifty.costs import CostModel
from thrifty.exceptions import CostError

SUFFIXES = [".csv", ".toml", ".yaml", ".yml"]
THYROID = CostModel(
    {"age": 1.0, "tt4": 9.0, "t4u": 7.5, "fti": None},
    bundles={"blood draw": (["tt4", "t4u"], 2.1)},
    requires={"fti": ["tt4", "t4u"]},
    unit="CAD",
)
FILES = {
    ".csv": """\
name,price (CAD),bundles,requires
age,1.0,,
tt4,9.0,blood draw,
t4u,7.5,blood draw,
fti,,,tt4;t4u
blood draw,2.1,,
""",
    ".toml": """\
unit = "CAD"

[features]
age = 1.0
tt4 = 9.0
t4u = 7.5
fti = ""

[bundles."blood draw"]
price = 2.1
members = ["tt4", "t4u"]

[requires]
fti = ["tt4", "t4u"]
""",
    ".yaml": """\
unit: CAD
features:
  age: 1.0
  tt4: 9.0
  t4u: 7.5
  fti: ''
bundles:
  blood draw:
    price: 2.1
    members:
    - tt4
    - t4u
requires:
  fti:
  - tt4
  - t4u
""",
}


@pytest.mark.parametrize("suffix", FILES)
def test_the_documented_formats(tmp_path, suffix):
    path = tmp_path / f"costs{suffix}"
    assert THYROID.to_file(str(path)) == path
    assert path.read_text() == FILES[suffix]
    assert CostModel.from_file(str(path)) == THYROID


@pytest.mark.parametrize("suffix", SUFFIXES)
@given(prices=price_lists())
def test_round_trip(tmp_path_factory, suffix, prices):
    model = prices.model()
    assert CostModel.from_file(model.to_file(tmp_path_factory.getbasetemp() / f"model{suffix}")) == model


TEXTS = st.lists(st.text(min_size=1), min_size=4, max_size=4, unique=True)
CSV_TEXTS = TEXTS.map(lambda texts: [re.sub("^|$|[;\r]", str(k), text) for k, text in enumerate(texts)])


@pytest.mark.parametrize(("suffix", "texts"), [(".csv", CSV_TEXTS), (".toml", TEXTS), (".yaml", TEXTS)])
@given(data=st.data(), price=st.just(0.0) | st.floats(1e-4, 1e6))
def test_round_trip_of_any_name_unit_and_price(tmp_path_factory, suffix, texts, data, price):
    a, b, bundle, unit = data.draw(texts)
    model = CostModel({a: price, b: None}, bundles={bundle: ([b], 1.0)}, unit=unit)
    assert CostModel.from_file(model.to_file(tmp_path_factory.getbasetemp() / f"text{suffix}")) == model


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_features_without_names_get_default_names(tmp_path, suffix):
    model = CostModel([1.0, None], bundles={"b": ([0, 1], 0.1)}, requires={1: [0]})
    again = CostModel.from_file(model.to_file(tmp_path / f"costs{suffix}"))
    assert again == CostModel.resolve(model, 2, ["x0", "x1"])


def test_csv_with_spaces_blank_lines_and_other_column_order(tmp_path):
    path = tmp_path / "COSTS.CSV"
    path.write_bytes(
        "\ufeffbundles, name ,price(CAD)\r\n blood ; needle,chol,5\r\n\r\n,blood,2\r\n,needle,.5\r\n".encode()
    )
    assert CostModel.from_file(path) == CostModel(
        {"chol": 5.0}, bundles={"blood": (["chol"], 2.0), "needle": (["chol"], 0.5)}, unit="CAD"
    )


def test_csv_refuses_text_it_cannot_hold(tmp_path):
    for text in ("a;b", " a", "a\rb"):
        for model in (CostModel({text: 1.0}), CostModel([1.0], unit=text)):
            with pytest.raises(CostError, match=re.escape(f"costs.csv: CSV cannot hold {text!r}: ")):
                model.to_file(tmp_path / "costs.csv")
    assert list(tmp_path.iterdir()) == []


def test_no_incomplete_file_remains_after_an_error(tmp_path):
    path = tmp_path / "costs.toml"
    path.mkdir()
    with pytest.raises(CostError) as caught:
        THYROID.to_file(path)
    assert str(caught.value) == f"{path}: cannot be written (Is a directory). Check the path."
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced(tmp_path):
    path = CostModel({"old": 1.0}).to_file(tmp_path / "costs.toml")
    assert CostModel.from_file(THYROID.to_file(path)) == THYROID
    assert list(tmp_path.iterdir()) == [path]


A_PLAIN_NUMBER = "is not a plain decimal number. Write it with digits only."
A_PRICE = "A price must be a finite number, 0 or more."
A_FEATURE = "Pass the name of a feature, or its index from 0 to 0."
KEYS = "Expected features, bundles, requires, unit."
ERRORS = [
    (".csv", "", "line 1: the column 'name' is missing. Name the columns in the first line."),
    (".csv", "name,cost\n", "line 1: the column 'cost' is unknown. Use name, price, bundles, requires."),
    (".csv", "name\na\n", "line 1: the column 'price' is missing. Name the columns in the first line."),
    (".csv", "name,price,price (CAD)\n", "line 1: the column 'price' appears twice. Keep one."),
    (".csv", "name,price\n", "there are no prices. Pass one price per feature."),
    (
        ".csv",
        "name,price\na,1\n,2\n",
        "line 3: '' is not a name. Name features and bundles with non-empty text.",
    ),
    (".csv", "name,price\na,1\nb,2\na,3\n", "line 4: the name 'a' appears twice. Keep one row."),
    (".csv", "name,price\na,1\nb,cheap\n", f"line 3: the price of feature 'b' is 'cheap'. {A_PRICE}"),
    (".csv", "name,price\n\na,-1\n", f"line 3: the price of feature 'a' is -1.0. {A_PRICE}"),
    (".csv", "name,price\na,1_000\n", f"line 2: the price of feature 'a' is '1_000'. {A_PRICE}"),
    (".csv", "name,price\na,٣\n", f"line 2: the price of feature 'a' is '٣'. {A_PRICE}"),
    (".toml", "[features]\na = '1_000'\n", f"the price of feature 'a' is '1_000'. {A_PRICE}"),
    (".yaml", "features: {a: '٣'}\n", f"the price of feature 'a' is '٣'. {A_PRICE}"),
    (".yaml", "features:\n  a: 1_000\n", f"line 2: '1_000' {A_PLAIN_NUMBER}"),
    (".yaml", "features:\n  a: 010\n", f"line 2: '010' {A_PLAIN_NUMBER}"),
    (".yaml", "features:\n  a: 1:30\n", f"line 2: '1:30' {A_PLAIN_NUMBER}"),
    (".csv", "name,price\na,nan\n", f"line 2: the price of feature 'a' is 'nan'. {A_PRICE}"),
    (
        ".csv",
        "name,price\na,\n",
        "feature 'a' has no price, is not in a bundle and requires nothing that has a price. "
        "Give it a price; pass 0 if it is free.",
    ),
    (
        ".csv",
        "name,price\na,1,5\n",
        "line 2: the row has 3 cells but the header has 2. Put text with commas in quotes.",
    ),
    (
        ".csv",
        "name,price,bundles\na,1,p\n",
        "line 2: 'a' lists 'p' under bundles, but 'p' is not the name of a bundle. Add a row with its price.",
    ),
    (
        ".csv",
        "name,price,bundles\na,1,p;p\np,1,\n",
        "line 2: 'a' lists 'p' twice under bundles. List it once.",
    ),
    (".csv", "name,price,bundles\na,1,p\np,,\n", f"line 3: the price of bundle 'p' is None. {A_PRICE}"),
    (
        ".csv",
        "name,price,bundles\na,1,p\np,1,q\nq,1,\n",
        "line 3: 'p' is a bundle, so its bundles and requires cells must be empty. Empty them.",
    ),
    (
        ".csv",
        "name,price,requires\na,1,\nb,,c\n",
        "line 3: 'b' lists 'c' under requires, but 'c' is not the name of a feature. Add a row with its price.",
    ),
    (".csv", 'name,price\n"a,1\n', "line 2: unexpected end of data. Correct the CSV."),
    (".toml", "", f"the file lacks the key 'features'. {KEYS}"),
    (".toml", "prices = 1\n", f"the file has the unknown key 'prices'. {KEYS}"),
    (".toml", "features = 1\n", "features is 1. Expected a table with one entry per name."),
    (".toml", "bundles = 1\n[features]\na = 1\n", "bundles is 1. Expected a table with one entry per name."),
    (".toml", "unit = 1\n[features]\na = 1\n", "unit is 1. Pass text, such as 'CAD'."),
    (".toml", "[features]\n", "there are no prices. Pass one price per feature."),
    (".toml", "[features]\na = '1'\n", f"the price of feature 'a' is '1'. {A_PRICE}"),
    (".toml", "[features]\na = inf\n", f"the price of feature 'a' is inf. {A_PRICE}"),
    (".toml", "[features]\na = true\n", f"the price of feature 'a' is True. {A_PRICE}"),
    (
        ".toml",
        "[features]\na = 1\na = 2\n",
        "Cannot overwrite a value (at line 3, column 6): 'a = 2'. Correct the TOML.",
    ),
    (
        ".toml",
        "[features]\na = 1\n[bundles.p]\nprice = 1\n",
        "bundle 'p' lacks the key 'members'. Expected members, price.",
    ),
    (
        ".toml",
        "[features]\na = 1\n[bundles.p]\nprice = 1\nmembers = ['a']\ncolor = 1\n",
        "bundle 'p' has the unknown key 'color'. Expected members, price.",
    ),
    (".toml", "[features]\na = 1\n[bundles]\np = 1\n", "bundle 'p' is 1. Expected members, price."),
    (
        ".toml",
        "[features]\na = 1\n[bundles.p]\nprice = 1\nmembers = ['b']\n",
        f"bundle 'p' lists 'b', which is not a feature. {A_FEATURE}",
    ),
    (
        ".toml",
        "[features]\na = 1\n[requires]\na = ['b']\n",
        f"requires['a'] lists 'b', which is not a feature. {A_FEATURE}",
    ),
    (".yaml", "", f"the file is None. {KEYS}"),
    (".yaml", "- a\n", f"the file is ['a']. {KEYS}"),
    (".yaml", "features: {a: [1]}\n", f"the price of feature 'a' is [1]. {A_PRICE}"),
    (".yaml", "features:\n  a: 1\n  b: 2\n  a: 3\n", "line 4: the key 'a' appears twice. Keep one."),
    (".yaml", "features:\n  a: 1\n  no: 2\n", "line 3: YAML does not read the key 'no' as text. Put it in quotes."),
    (".yaml", "features:\n  a: 1\nbundles:\n", "bundles is None. Expected a table with one entry per name."),
    (".yaml", "features: &x\n  a: *x\n", f"the price of feature 'a' is {{'a': {{'a': {{...}}}}}}. {A_PRICE}"),
]


@pytest.mark.parametrize(("suffix", "text", "message"), ERRORS)
def test_error_message_names_file_and_line(tmp_path, suffix, text, message):
    path = tmp_path / f"costs{suffix}"
    path.write_text(text)
    with pytest.raises(CostError) as caught:
        CostModel.from_file(path)
    assert str(caught.value) == f"{path}: {message}"


def test_error_message_of_invalid_yaml_is_one_line_with_position(tmp_path):
    path = tmp_path / "costs.yaml"
    path.write_text("features:\n  a: 1\n b: 2\n")
    with pytest.raises(CostError, match=r"costs.yaml: .* line 3, column 2.*\. Correct the YAML\.$") as caught:
        CostModel.from_file(path)
    assert "\n" not in str(caught.value)


DEEP = 100_000
TOO_DEEP = "is nested too deeply. A price list has at most four levels."
A_LONG_NAME = "n" * 200_000
BOMBS = {
    "nested lists in TOML": (".toml", f"features = {'[' * DEEP}{']' * DEEP}", f"the TOML {TOO_DEEP}"),
    "nested tables in TOML": (".toml", f"features = {'{a = ' * DEEP}1{'}' * DEEP}", f"the TOML {TOO_DEEP}"),
    "long key in TOML": (".toml", f"{'a.' * DEEP}a = 1", f"the TOML {TOO_DEEP}"),
    "long quoted key in TOML": (".toml", "['a'" + DEEP * ' . "a"' + "]", f"the TOML {TOO_DEEP}"),
    "nested lists in YAML": (".yaml", f"features: {'[' * DEEP}{']' * DEEP}", f"the YAML {TOO_DEEP}"),
    "nested blocks in YAML": (".yaml", f"features: \n{'- ' * DEEP}", f"the YAML {TOO_DEEP}"),
    "long integer in TOML": (".toml", f"[features]\na = {'9' * 5000}", "Exceeds the limit"),
    "long integer in YAML": (".yaml", f"features: {{a: {'9' * 5000}}}", "Exceeds the limit"),
    "not a date in YAML": (".yaml", "features: {a: 2026-99-99}", "month must be in 1..12. Correct the YAML."),
    "long name in TOML": (".toml", f"[features]\n{A_LONG_NAME} = -1", "the price of feature 'nnn"),
    "long name in YAML": (".yaml", f"features: {{? {A_LONG_NAME} : -1}}", "the price of feature 'nnn"),
    "long digits in CSV": (".csv", f"name,price\na,{'1' * 130_000}x", "line 2: the price of feature 'a' is '111"),
    "long cell in CSV": (".csv", f"name,price\n{A_LONG_NAME},1", "line 2: field larger than field limit (131072)."),
    "unknown alias in YAML": (".yaml", f"features: *{A_LONG_NAME}", "found undefined alias"),
    "repeated lists in YAML": (
        ".yaml",
        f"features: {{a: 1}}\nrequires:\n  a: &a [{'a, ' * 2000}]\n" + "".join(f"  b{k}: *a\n" for k in range(2000)),
        "aliases repeat its lists too often. Write a smaller price list.",
    ),
    "alias bomb in YAML": (
        ".yaml",
        "features:\n  x0: &x0 [1, 1]\n" + "".join(f"  x{k}: &x{k} [*x{k - 1}, *x{k - 1}]\n" for k in range(1, 50)),
        "the price of feature 'x0' is [1, 1].",
    ),
    "alias bomb as a member in YAML": (
        ".yaml",
        "features: {a: 1}\nbundles:\n  p:\n    price: 1\n    members:\n    - &x0 [1, 1]\n"
        + "".join(f"    - &x{k} [*x{k - 1}, *x{k - 1}]\n" for k in range(1, 18)),
        "bundle 'p' lists [1, 1], which is not a feature.",
    ),
}


@pytest.mark.parametrize(("suffix", "text", "message"), BOMBS.values(), ids=BOMBS)
def test_error_message_of_a_malicious_file_is_one_short_line(tmp_path, suffix, text, message):
    path = tmp_path / f"costs{suffix}"
    path.write_text(text)
    with pytest.raises(CostError) as caught:
        CostModel.from_file(path)
    error = str(caught.value).removeprefix(f"{path}: ")
    assert error.startswith(message)
    assert len(error) < 500
    assert error.isprintable()


def test_files_that_cannot_be_used(tmp_path):
    (tmp_path / "latin.csv").write_bytes("name,price\nfrühstück,1\n".encode("latin-1"))
    suffixes = "the file suffix '.json' is unknown. Use .csv, .toml, .yaml, .yml."
    for attempt, name, message in [
        (CostModel.from_file, "none.csv", "cannot be read (No such file or directory). Check the path."),
        (CostModel.from_file, "latin.csv", "byte 13 is not UTF-8. Save the file as UTF-8."),
        (CostModel.from_file, "costs.json", suffixes),
        (THYROID.to_file, "costs.json", suffixes),
        (THYROID.to_file, "none/costs.csv", "cannot be written (No such file or directory). Check the path."),
    ]:
        with pytest.raises(CostError) as caught:
            attempt(tmp_path / name)
        assert str(caught.value) == f"{tmp_path / name}: {message}"
    assert os.listdir(tmp_path) == ["latin.csv"]


def test_csv_can_be_read_by_the_csv_module(tmp_path):
    path = CostModel({"a,b": 1.0, 'c"d': None}, bundles={"p": (["a,b", 'c"d'], 2.0)}).to_file(tmp_path / "c.csv")
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["a,b", 'c"d', "p"]
    assert [row["price"] for row in rows] == ["1.0", "", "2.0"]
