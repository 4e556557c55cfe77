"""A catalog has one provider per feature, and is complete against a model before anything is fetched."""

import sys

import numpy as np
import pytest
from sklearn.base import is_classifier
from sklearn.utils import get_tags

from thrifty import ASTCClassifier, BudgetSearchCV, SourceError, TableModel, source
from thrifty.datasets import load_heart
from thrifty.models.session import drive
from thrifty.models.task_bases import BudgetedRanker
from thrifty.runtime import Catalog, load_sources
from thrifty.runtime.sources.catalog import column_names, usable_columns
from thrifty.testing import public_estimators


def provider(*features, name=None):
    return source(provides=list(features), name=name or "_".join(features))(lambda key: None)


@pytest.fixture(scope="module")
def heart():
    return load_heart(as_frame=True)


@pytest.fixture(scope="module")
def tree(heart):
    return ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=[2, 8]).fit(heart.X, heart.y)


def test_features_are_found_by_name():
    first, second = provider("a", "b"), provider("c")
    catalog = Catalog([first, second])
    assert catalog.provider_of == {"a": first, "b": first, "c": second}
    assert (list(catalog), len(catalog), repr(catalog)) == ([first, second], 2, "Catalog(['a_b', 'c'])")
    assert Catalog.of(catalog) is catalog
    assert list(Catalog.of(first)) == [first]
    assert list(Catalog.of((first, second))) == [first, second]


@pytest.mark.parametrize(
    ("sources", "says"),
    [
        ([provider("a", "b"), provider("b", "c")], "'a_b' and 'b_c' both provide 'b'"),
        ([provider("a", name="x"), provider("b", name="x")], "two sources have the name 'x'"),
        ([provider("a"), len], "sources[1] is <built-in function len>; expected a source. Decorate functions"),
        ([17], "sources[0] is 17; expected a source"),
        (17, "sources is 17; expected a list"),
        ({"a": provider("a")}, "expected a list"),
    ],
)
def test_a_catalog_that_is_not_clear_is_refused(sources, says):
    with pytest.raises(SourceError) as refusal:
        Catalog(sources)
    assert says in str(refusal.value)


def test_columns_that_the_model_never_uses_need_no_provider(tree):
    used = usable_columns(tree)
    assert 0 < len(used) < tree.n_features_in_
    Catalog([provider(*used), provider("more")]).refuse_incomplete(tree)


def test_one_error_names_all_that_is_missing_and_similar_names(tree):
    used = usable_columns(tree)
    kept, gone = used[:-2], used[-2:]
    with pytest.raises(SourceError) as refusal:
        Catalog([provider(*kept, f"{gone[0]}_", name="clinic")]).refuse_incomplete(tree)
    message = str(refusal.value)
    assert f"can ask for {gone[0]!r}, {gone[1]!r}, but no source provides them" in message
    assert f"'{gone[0]}_' of source 'clinic' has a similar name as {gone[0]!r}" in message
    assert message.count("similar") == 1


def test_the_model_that_a_search_chose_is_meant(heart):
    search = BudgetSearchCV(["l1"], budget=40, costs=heart.costs, cv=2).fit(heart.X, heart.y)
    Catalog([provider(*usable_columns(search.best_estimator_))]).refuse_incomplete(search)
    with pytest.raises(SourceError, match="can ask for"):
        Catalog([provider("other")]).refuse_incomplete(search)


def test_columns_without_names_have_the_names_of_price_lists():
    model = ASTCClassifier(node_budget=2).fit(np.arange(20.0).reshape(10, 2), [0, 1] * 5)
    assert column_names(model) == {0: "x0", 1: "x1"}
    Catalog([provider("x0", "x1")]).refuse_incomplete(model)
    with pytest.raises(SourceError, match=r"can ask for 'x\d'.* fit it with costs=\{name: price\}"):
        Catalog([provider("a")]).refuse_incomplete(model)


@pytest.mark.parametrize("estimator", [each for each in public_estimators() if each is not TableModel])
def test_a_session_asks_for_nothing_but_usable_columns(estimator):
    random = np.random.default_rng(0)
    X = random.normal(size=(60, 6))
    y = X @ random.normal(size=6) * (np.arange(60) % 5 > 0)
    if is_classifier(estimator()):
        y = np.digitize(y, [-1, 1] if get_tags(estimator()).classifier_tags.multi_class else [0])
    if issubclass(estimator, BudgetedRanker):
        y = np.digitize(y, [-1, 1])
    model = estimator(costs={name: 1.0 + j for j, name in enumerate("abcdef")}).fit(X, y)
    usable, asked = set(usable_columns(model)), set()
    for row in X[:20]:
        values = dict(zip("abcdef", row, strict=True))
        drive(model.session(), lambda feature, values=values: asked.add(feature) or values[feature])
    assert asked <= usable


def test_a_file_is_run_and_its_sources_are_taken(tmp_path):
    (tmp_path / "beside.py").write_text("LIMIT = 3\n")
    (tmp_path / "my sources.py").write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from beside import LIMIT\n"
        "from thrifty import source\n"
        "@dataclass\n"
        "class Settings:\n"
        "    limit: int = LIMIT\n"
        "@source(provides=['age'])\n"
        "def person(key):\n"
        "    return Settings().limit\n"
        "same = person\n"
        "labs = source(provides=['tsh'], name='labs')(lambda key: 1.5)\n"
    )
    before = list(sys.path)
    catalog = load_sources(tmp_path / "my sources.py")
    assert sys.path == before
    assert [each.name for each in catalog] == ["person", "labs"]
    assert catalog.provider_of["age"]("a17") == 3
    assert [each.name for each in Catalog.of(str(tmp_path / "my sources.py"))] == ["person", "labs"]
    assert not (tmp_path / "__pycache__" / "my sources.cpython-311.pyc").exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = 1\n\ny = 1 / 0\n", "sources.py, line 3: ZeroDivisionError (division by zero). Correct the file."),
        ("def f():\n    raise KeyError('tsh')\n\nf()\n", "sources.py, line 2: KeyError ('tsh')."),
        ("def f(:\n", "sources.py, line 1: SyntaxError"),
        ("import no_such_module\n", "line 1: ModuleNotFoundError (No module named 'no_such_module')"),
        ("import sys\nsys.exit(3)\n", "line 2: SystemExit (3)"),
        ("x = 1\n", "sources.py: the file defines no source. Decorate"),
        (
            "from thrifty import source\na = source(provides='x')(len)\nb = source(provides='x', name='b')(len)\n",
            "sources.py: the sources 'len' and 'b' both provide 'x'",
        ),
        ("from thrifty import source\nsource(provides=[])(len)\n", "line 2: SourceError (source 'len' provides []"),
    ],
)
def test_a_file_with_an_error_is_refused_in_one_line(text, says, tmp_path):
    (tmp_path / "sources.py").write_text(text)
    with pytest.raises(SourceError) as refusal:
        load_sources(tmp_path / "sources.py")
    assert says in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(
        SourceError, match=r"none\.py: .* cannot be read \(no such file or directory\)\. Check the path"
    ):
        load_sources(tmp_path / "none.py")
    with pytest.raises(SourceError, match="is a directory"):
        load_sources(tmp_path)
