"""Files that are not valid model files are refused with one line, before anything in them is created or run."""

import json
import pickle
import zipfile
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import joblib
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from persistence.opened import close_model, open_model, sealed
from thrifty import ASTCClassifier
from thrifty.exceptions import ModelFileError, ThriftyError
from thrifty.persistence import load, read_manifest
from thrifty.persistence.archive import MEMBERS, pack, read


def refused(path, complaint):
    for reading in (load, read_manifest):
        with pytest.raises(ModelFileError, match=complaint) as caught:
            reading(path)
        assert "\n" not in str(caught.value)
        assert str(caught.value).startswith(f"{path}: ")
    assert isinstance(caught.value, ThriftyError)
    assert isinstance(caught.value, ValueError)


# The file


def test_a_missing_file(tmp_path):
    refused(tmp_path / "missing.thrifty", "no such file")


def test_a_folder(tmp_path):
    refused(tmp_path, "is a directory")


def test_an_empty_file(path):
    path.write_bytes(b"")
    refused(path, "is empty")


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_a_pickle(path, models, protocol):
    path.write_bytes(pickle.dumps(models["tree"], protocol))
    refused(path, "is a pickle, which can run arbitrary code")


@pytest.mark.parametrize("compress", [0, 3, ("gzip", 3), ("bz2", 3), ("xz", 3)])
def test_a_file_of_joblib(path, models, compress):
    joblib.dump(models["tree"], path, compress=compress)
    refused(path, "pickle")


@pytest.mark.parametrize("content", [b"name,price\nage,1\n", b"\x00" * 100, b"{}", b"P", "größe".encode("utf-16")])
def test_another_file(path, content):
    path.write_bytes(content)
    refused(path, "is not a model file|pickle")


def test_another_zip_file(path):
    with ZipFile(path, "w") as file:
        file.writestr("sheet.xml", "<sheet/>")
    refused(path, "is a zip file, but not a model file")


def test_a_file_of_skops(path):
    skops.io.dump(LogisticRegression(), path)
    refused(path, "written by skops, but not by thrifty.save")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.9, 0.9999])
def test_a_truncated_file(path, share):
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    refused(path, "truncated or damaged")


def test_a_changed_byte_in_the_model(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    refused(path, "truncated or damaged .*CRC")


def test_a_model_with_another_hash(path):
    archive = read(path)
    path.write_bytes(pack(archive._replace(model=archive.model + b" ")))
    refused(path, "not the one that was saved")


def test_another_member(path):
    with ZipFile(path, "a") as file:
        file.writestr("extra.txt", "")
    refused(path, "not a model file")


def test_many_members(path):
    with ZipFile(path, "a") as file:
        for k in range(10):
            file.writestr(f"{k}.txt", "")
    refused(path, "not a model file")


def test_a_comment_at_the_end(path):
    path.write_bytes(path.read_bytes() + b"comment")
    refused(path, "truncated or damaged")


def test_a_member_given_twice(path):
    with ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr(MEMBERS["manifest"], "{}")
    refused(path, "claims to contain more than it can")


def test_a_file_that_unpacks_to_more_than_its_size(path):
    archive = read(path)
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr(MEMBERS["manifest"], archive.manifest)
        file.writestr(MEMBERS["model"], b"\0" * 10**7)
    assert path.stat().st_size < 10**5
    refused(path, "compressed or encrypted")


def test_members_that_share_their_bytes(path):
    """A zip bomb without compression: the central directory lists the same bytes many times."""
    file = BytesIO()
    with ZipFile(file, "w") as members:
        members.writestr("0", b"\0" * 10_000)
        first = members.infolist()[0]
        for k in range(1, 4):
            twin = zipfile.ZipInfo(str(k))
            twin.header_offset, twin.file_size, twin.compress_size, twin.CRC = 0, 10_000, 10_000, first.CRC
            members.filelist.append(twin)
            members.NameToInfo[twin.filename] = twin
    path.write_bytes(file.getvalue())
    refused(path, "claims to contain more than it can")


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_of_an_older_format(version):
    """The files were written by earlier versions, with skops."""
    path = Path(__file__).parent / "data" / f"format_{version}.thrifty"
    complaint = f"has format {version}, of an older thrifty; this version reads format 3. Fit the model again with this"
    refused(path, complaint)


# The model in it


def altered(path, name, value):
    """Give a saved model another attribute, with a correct hash."""
    tree, manifest = open_model(path)
    tree["fields"][name] = value
    close_model(path, tree, manifest)


FORBIDDEN = {
    "function": {"structure": {"class": "system", "fields": {}}},
    "module": {"structure": {"class": "os.system", "fields": {"command": "true"}}},
    "our function": {"structure": {"class": "as_counts", "fields": {}}},
    "our class without fields": {"structure": {"class": "Session", "fields": {}}},
    "our base": {"structure": {"class": "TreeEstimator", "fields": {}}},
    "our abstract class": {"structure": {"class": "Policy", "fields": {}}},
    "our class with other fields": {"structure": {"class": "CostModel", "fields": {"prices": 3}}},
    "missing fields": {"structure": {"class": "CostModel", "fields": {}}},
    "not a structure": {"structure": 3},
    "estimator that is not listed": {"scikit-learn": {"name": "FunctionTransformer", "parameters": {}}},
    "encoder": {"scikit-learn": {"name": "OneHotEncoder", "parameters": {"_n_features_outs": [10**9]}}},
    "learned attributes": {"scikit-learn": {"name": "SVC", "parameters": {"n_support_": [1, 1]}}},
    "sparse matrix": {"structure": {"class": "csc_matrix", "fields": {}}},
    "estimator of another module": {"scikit-learn": {"name": "subprocess.Popen", "parameters": {"args": "true"}}},
    "unknown parameters": {"scikit-learn": {"name": "SVC", "parameters": {"command": "true"}}},
    "pickled object": {"foreign": 0},
    "unknown type": {"eval": "1"},
    "two tags": {"tuple": [], "list": []},
    "number that is too large": 10**400,
    "number that is infinite": 1e999,
    "half a character": "\ud800",
    "array without bytes": {"array": {"dtype": "<f8", "shape": [2], "at": 0}},
    "array of objects": {"array": {"dtype": "|O", "shape": [1], "at": 0}},
    "a key that is a list": {"dict": [[[], 1]]},
}


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_values_that_a_file_may_not_hold(path, kind):
    altered(path, "costs", FORBIDDEN[kind])
    refused(path, "not consistent|not JSON")


def test_nothing_is_imported(path, tmp_path):
    """A name in a file that is not the name of a declared class is not imported."""
    tree, manifest = open_model(path)
    tree["class"] = "antigravity.Antigravity"
    close_model(path, tree, manifest)
    refused(path, "'antigravity.Antigravity', which cannot be there")


def test_methods_cannot_be_replaced(path):
    altered(path, "_run", "x")
    refused(path, "has '_run', which ASTCClassifier does not declare as stored")


def test_a_field_given_twice(path):
    archive, manifest = read(path), read_manifest(path)
    doubled = archive.model.replace(b'"fields":{', b'"fields":{"soft":true,', 1)
    path.write_bytes(sealed(archive._replace(model=doubled), manifest))
    refused(path, "model is not JSON")


def test_a_missing_field(path):
    tree, manifest = open_model(path)
    del tree["fields"]["tree_"]
    close_model(path, tree, manifest)
    refused(path, "has no tree_, which a ASTCClassifier needs")


def with_model(path, document):
    archive, manifest = read(path), read_manifest(path)
    return sealed(archive._replace(model=json.dumps(document).encode()), manifest)


@pytest.mark.parametrize(
    "claim", [{"shape": [10**9]}, {"shape": [-1]}, {"at": 8}, {"shape": [0, 10**18]}, {"dtype": "|O"}]
)
def test_an_array_that_is_not_what_it_claims(path, claim):
    document = json.loads(read(path).model)
    document["fields"]["tree_"]["fields"]["upper"].update(claim)
    path.write_bytes(with_model(path, document))
    refused(path, "tree_.upper ")


def test_bytes_that_belong_to_no_array(path):
    archive, manifest = read(path), read_manifest(path)
    path.write_bytes(sealed(archive._replace(arrays=archive.arrays + b"12345678"), manifest))
    refused(path, "bytes that belong to no array")


@pytest.mark.parametrize(
    "document", [None, 3, [], {}, {"class": "CostModel", "fields": {}}, {"class": 3, "fields": {}}]
)
def test_a_model_that_is_not_an_estimator(path, document):
    path.write_bytes(with_model(path, document))
    refused(path, "the model is ")


def test_an_estimator_that_is_not_fitted(path):
    tree, manifest = open_model(path)
    tree["fields"] = {name: each for name, each in tree["fields"].items() if name in ASTCClassifier().get_params()}
    close_model(path, tree, manifest)
    refused(path, "not fitted")


@pytest.mark.parametrize("content", [b"", b"{", b"\xff", b'{"class": NaN}', b"[" * 100_000])
def test_a_model_that_is_not_json(path, content):
    archive, manifest = read(path), read_manifest(path)
    path.write_bytes(sealed(archive._replace(model=content), manifest))
    refused(path, "model is not JSON")
