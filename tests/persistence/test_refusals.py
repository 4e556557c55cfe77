"""Files that are not valid model files are refused with one line, before anything in them is created or run."""

import json
import pickle
import zipfile
import zlib
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import joblib
import numpy as np
import pytest
import skops.io
from sklearn.linear_model import LogisticRegression

from persistence.mutants import close_model, open_model
from thrifty.exceptions import ModelFileError, ThriftyError
from thrifty.persistence import load, read_manifest
from thrifty.persistence.archive import MANIFEST, MODEL, Archive, pack, read


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
    path.write_bytes(pack(Archive(archive.manifest, archive.model + b"\0")))
    refused(path, "not the one that was saved")


def test_a_third_member(path):
    with ZipFile(path, "a") as file:
        file.writestr("extra.txt", "")
    refused(path, "not a model file")


def test_a_member_given_twice(path):
    with ZipFile(path, "a") as file, pytest.warns(UserWarning, match="Duplicate name"):
        file.writestr(MANIFEST, "{}")
    refused(path, "claims to contain more than it can")


def test_a_file_that_unpacks_to_more_than_its_size(path):
    archive = read(path)
    with ZipFile(path, "w", ZIP_DEFLATED) as file:
        file.writestr(MANIFEST, archive.manifest)
        file.writestr(MODEL, b"\0" * 10**7)
    assert path.stat().st_size < 10**5
    refused(path, "compressed or encrypted")


def test_members_that_share_their_bytes(path):
    """A zip bomb without compression: the central directory lists the same bytes many times."""
    file = BytesIO()
    with ZipFile(file, "w") as members:
        members.writestr("0", b"\0" * 10_000)
        first = members.infolist()[0]
        for k in range(1, 100):
            twin = zipfile.ZipInfo(str(k))
            twin.header_offset, twin.file_size, twin.compress_size, twin.CRC = 0, 10_000, 10_000, first.CRC
            members.filelist.append(twin)
            members.NameToInfo[twin.filename] = twin
    path.write_bytes(file.getvalue())
    refused(path, "claims to contain more than it can")


def test_a_file_of_format_1():
    """The file was written by version 0.1.0, whose classes were in other modules."""
    path = Path(__file__).parent / "data" / "format_1.thrifty"
    refused(
        path, "has format 1, of an older thrifty; this version reads format 2. Fit the model again with this version"
    )


# The model in it


def altered(path, name, value):
    """Give a saved model another attribute, with a correct hash."""
    members, manifest = open_model(path)
    schema = json.loads(members["schema.json"])
    attributes = schema["content"]
    if name not in attributes["content"]:
        attributes["key_types"]["content"].append(node("TypeNode", "builtins", "str"))
    attributes["content"][name] = value
    members["schema.json"] = json.dumps(schema).encode()
    close_model(path, members, manifest)


def node(loader, module, kind, **rest):
    return {"__loader__": loader, "__module__": module, "__class__": kind, "__id__": 7} | rest


def text(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value), is_json=True) | {"__id__": 8}


def sequence(*items):
    return node("TupleNode", "builtins", "tuple", content=list(items)) | {"__id__": 9}


NOTHING = node("DictNode", "builtins", "dict", content={}, key_types=node("ListNode", "builtins", "list", content=[]))
FORBIDDEN = {
    "function": node("FunctionNode", "os", "system"),
    "our function": node("FunctionNode", "thrifty.models.rows", "as_counts"),
    "our function as a class": node("ObjectNode", "thrifty.models.rows", "as_counts"),
    "our import of something": node("ObjectNode", "thrifty.models.base", "Any"),
    "our import of a class": node("ObjectNode", "thrifty.costs.files", "Path"),
    "missing class of ours": node("ObjectNode", "thrifty.models.base", "Nothing"),
    "missing module of ours": node("ObjectNode", "thrifty.models.nothing", "Nothing"),
    "our command line": node("ObjectNode", "thrifty.cli.demo.study", "Study"),
    "our class from a list": node("ListNode", "thrifty.models.linear_nodes.tree", "LinearTree", content=[]),
    "our class from an array": node("NdArrayNode", "thrifty.costs.model", "CostModel", type="json", content=[]),
    "method": node("MethodNode", "builtins", "str", content={"func": "format", "obj": text("{}")}),
    "partial": node(
        "PartialNode",
        *("functools", "partial"),
        content={
            "func": node("FunctionNode", "os", "system"),
            "args": sequence(text("true")),
            "kwds": NOTHING,
            "namespace": NOTHING,
        },
    ),
    "operator": node("OperatorFuncNode", "operator", "methodcaller", attrs=sequence(text("fit"))),
    "foreign class": node("ObjectNode", "subprocess", "Popen", content=NOTHING),
    "constructor": node("ConstructorFromReduceNode", "subprocess", "Popen", content=sequence(text("true"))),
    "neighbours": node("ObjectNode", "sklearn.neighbors._classification", "KNeighborsClassifier", content=NOTHING),
    "type": node("TypeNode", "builtins", "map"),
    "unknown loader": node("NewNode", "builtins", "str"),
}


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_types_that_are_not_trusted(path, kind):
    bad = FORBIDDEN[kind]
    altered(path, "costs", bad)
    with pytest.raises(
        ModelFileError, match=f"costs.* contains {bad['__module__']}.{bad['__class__']}|not written by skops"
    ):
        load(path)


def test_nothing_is_run(path, tmp_path):
    """A node that calls os.system when it is created: the file is refused and the command is not run."""
    witness = tmp_path / "witness"
    command = node("ConstructorFromReduceNode", "os", "system", content=sequence(text(f"touch {witness}")))
    altered(path, "costs", command)
    with pytest.raises(ModelFileError, match=r"os\.system"):
        load(path)
    assert not witness.exists()


def test_methods_cannot_be_replaced(path):
    altered(path, "_run", text("x"))
    with pytest.raises(ModelFileError, match=r"values in place of its methods \['_run'\]"):
        load(path)


def test_an_array_larger_than_its_bytes(path):
    members, manifest = open_model(path)
    name = next(name for name in members if name.endswith(".npy"))
    members[name] = members[name].replace(b"'shape': (", b"'shape': (99999999", 1)[: len(members[name])]
    close_model(path, members, manifest)
    with pytest.raises(ModelFileError, match="size that it claims"):
        load(path)


def test_a_model_that_is_not_an_estimator(path):
    archive = read(path)
    manifest = json.loads(archive.manifest)
    model = skops.io.dumps({"a": np.arange(3)})
    manifest["sha256"] = sha256(model).hexdigest()
    path.write_bytes(pack(Archive(json.dumps(manifest).encode(), model)))
    with pytest.raises(ModelFileError, match="not an estimator of thrifty"):
        load(path)


@pytest.mark.parametrize("content", [b"", b"PK\x05\x06" + bytes(18), zlib.compress(b"x"), pickle.dumps(3)])
def test_a_model_that_skops_did_not_write(path, content):
    manifest = json.loads(read(path).manifest)
    manifest["sha256"] = sha256(content).hexdigest()
    path.write_bytes(pack(Archive(json.dumps(manifest).encode(), content)))
    with pytest.raises(ModelFileError, match=r"truncated or damaged|not written by skops"):
        load(path)
