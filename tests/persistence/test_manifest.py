"""The manifest of a model file, read without loading the model."""

import json
from dataclasses import replace
from zipfile import ZipFile

import numpy as np
import pytest

import thrifty
from persistence.opened import sealed
from thrifty import ASTCRegressor, BudgetSearchCV, CostModel
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, load_with_manifest, read_manifest, save
from thrifty.persistence.archive import pack, read
from thrifty.persistence.manifest import Manifest, plain


def test_it_describes_the_model(path, models, heart):
    manifest = read_manifest(path)
    assert manifest.model == "ASTCClassifier"
    assert manifest.versions["thrifty"] == thrifty.__version__
    assert manifest.cost_model == models["tree"].cost_model_
    assert [feature["name"] for feature in manifest.features] == list(heart.costs.names)
    assert {feature["kind"] for feature in manifest.features} == {"number"}
    assert manifest.classes == models["tree"].classes_.tolist()
    assert manifest.training["n_rows"] == len(heart.X)
    assert manifest.training["fingerprint"] == models["tree"].training_.fingerprint
    assert manifest.promise is None
    assert manifest.frontier is None


def test_it_is_plain_json(path):
    with ZipFile(path) as file:
        text = file.read("manifest.json").decode()
    assert text.startswith('{\n  "format": 3,')
    assert json.loads(text)["sha256"] == read_manifest(path).sha256


def test_costs_can_be_rebuilt(tmp_path):
    costs = CostModel(
        {"ä": 1.0, "b": None, "c": 0.1}, bundles={"x 1": (["b", "c"], 0.7)}, requires={"c": ["ä"]}, unit="CAD"
    )
    X = np.random.default_rng(0).normal(size=(30, 3))
    path = save(ASTCRegressor(costs=costs).fit(X, X[:, 0]), tmp_path / "m")
    assert read_manifest(path).cost_model == costs


def test_tables_have_kinds_and_levels(table_model, tmp_path):
    features = read_manifest(save(table_model, tmp_path / "m")).features
    assert features[2] == {"name": "pain", "kind": "category", "levels": ["atypical", "none", "typical"]}
    assert [feature["kind"] for feature in features] == ["number", "boolean", "category", "date"]


def test_its_repr_fits_on_a_screen(heart, tmp_path):
    search = BudgetSearchCV(["l1", "static"], budget=40, costs=heart.costs, cv=2).fit(heart.X, heart.y)
    manifest = read_manifest(save(search, tmp_path / "m", target="disease"))
    assert len(repr(manifest)) < 400
    for part in ("TableModel", "features=13", "'disease'", "budget=40.0", f"<{len(search.frontier_)} points>"):
        assert part in repr(manifest)


def test_files_without_optional_entries_load(path, tmp_path, models):
    with ZipFile(path) as file:
        assert not {"target", "anchors"} & set(json.loads(file.read("manifest.json")))
    assert (read_manifest(path).target, read_manifest(path).anchors) == (None, None)
    named = save(models["tree"], tmp_path / "named", target="disease")
    assert load_with_manifest(named)[1].target == "disease"


@pytest.mark.parametrize("change", [{"target": 3}, {"anchors": ["constant"]}])
def test_optional_entries_have_types(path, change):
    forged(path, **change)
    with pytest.raises(ModelFileError, match=f"'{next(iter(change))}' of the manifest has the wrong type"):
        read_manifest(path)


def test_plain_values():
    values = {"a": np.float64("nan"), 1: (np.int64(3), True, None), "t": np.array([1.5, np.inf]), "f": len}
    assert plain(values) == {"a": None, "1": [3, True, None], "t": [1.5, None], "f": repr(len)}


def forged(path, **changes):
    """Write other entries into the manifest, with a correct hash."""
    archive, manifest = read(path), read_manifest(path)
    path.write_bytes(sealed(archive, replace(manifest, **changes)))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"format": 4}, "has format 4, of a newer thrifty; this version reads format 3. Upgrade thrifty"),
        ({"format": 2}, "has format 2, of an older thrifty"),
        ({"format": 0}, "format is 0"),
        ({"format": True}, "format is True"),
        ({"format": "1"}, "format is '1'"),
        ({"format": 10**4000}, "has format a number of"),
        ({"model": "CSTCClassifier"}, "describes another model: 'model' is not"),
        ({"model": 3}, "'model' of the manifest is missing or has the wrong type"),
        ({"features": []}, "'features' is not what the model says"),
        ({"features": [3]}, "'features' is not what the model says"),
        ({"classes": ["healthy", "ill"]}, "'classes' is not what the model says"),
        ({"costs": {"features": {}}}, "'costs' is not what the model says"),
        ({"costs": {}}, "'costs' is not what the model says"),
        ({"promise": {"budget": 1.0, "spend": 0.0}}, "'promise' is not what the model says"),
        ({"training": None}, "'training' is not what the model says"),
        (
            {"training": {"n_rows": 10**6, "date": "2020-01-01", "fingerprint": ""}},
            "'training' is not what the model says",
        ),
        ({"training": 3}, "'training' of the manifest is missing or has the wrong type"),
        ({"trust": "scikit-learn"}, "manifest is wrong about trust"),
    ],
)
def test_a_forged_manifest_is_refused(path, change, complaint):
    """Even with a correct hash, a manifest that describes another model is refused when it is read."""
    forged(path, **change)
    for reading in (load, read_manifest):
        with pytest.raises(ModelFileError, match=complaint):
            reading(path)


@pytest.mark.parametrize(
    "name", ["features", "classes", "costs", "promise", "training", "frontier", "versions", "model"]
)
def test_every_entry_is_covered_by_the_hash(path, name):
    archive = read(path)
    entries = json.loads(archive.manifest)
    entries[name] = {"features": [], "classes": [1, 2], "frontier": [], "model": "X"}.get(name, {"a": 1})
    path.write_bytes(pack(archive._replace(manifest=json.dumps(entries).encode())))
    for reading in (load, read_manifest):
        with pytest.raises(ModelFileError, match="the model or its manifest is not the one that was saved"):
            reading(path)


@pytest.mark.parametrize("text", ['"\\ud800"', "1e999", "[" * 400 + "]" * 400, "9" * 4000], ids=lambda text: text[:9])
def test_entries_that_cannot_be_written_again_are_refused(path, text):
    archive = read(path)
    manifest = archive.manifest.replace(b'"frontier": null', b'"frontier": [%s]' % text.encode())
    path.write_bytes(pack(archive._replace(manifest=manifest)))
    for reading in (load, read_manifest):
        with pytest.raises(ModelFileError, match=r"manifest is not|not the one that was saved") as caught:
            reading(path)
        assert len(str(caught.value)) < 700


def test_an_unknown_entry_is_refused(path):
    archive = read(path)
    path.write_bytes(pack(archive._replace(manifest=json.dumps(json.loads(archive.manifest) | {"x": 1}).encode())))
    with pytest.raises(ModelFileError, match="entries of other names"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b"{", b'{"format": NaN}', b"[" * 100_000])
def test_something_that_is_not_a_manifest_is_refused(path, content):
    path.write_bytes(pack(read(path)._replace(manifest=content)))
    for reading in (load, read_manifest):
        with pytest.raises(ModelFileError, match=r"manifest is not .*JSON"):
            reading(path)


def test_another_version_of_thrifty_with_the_same_format_is_accepted(path, models, heart):
    forged(path, versions={"thrifty": "17.0.0"})
    np.testing.assert_array_equal(load(path).predict(heart.X), models["tree"].predict(heart.X))
    assert isinstance(read_manifest(path), Manifest)


def test_model_and_manifest_come_from_one_read(path, models, heart, monkeypatch):
    expected = read_manifest(path)
    reads = []
    monkeypatch.setattr("thrifty.persistence.model_file.read", lambda file: reads.append(file) or read(file))
    model, manifest = load_with_manifest(path)
    assert manifest == expected
    assert reads == [path]
    np.testing.assert_array_equal(model.predict(heart.X), models["tree"].predict(heart.X))
