"""Mutants: model files with altered numbers, shapes, types and names, and a hash that is correct again.

As a program, it loads mutants of each file and predicts with those that load. A crash shows in its exit status::

    python tests/persistence/mutants.py 500 0 model.thrifty ...          (number of mutants, seed, files)
"""

import json
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import numpy as np

from thrifty.exceptions import ModelFileError
from thrifty.models.session import Acquire
from thrifty.persistence import load
from thrifty.persistence.archive import Archive, pack, read
from thrifty.persistence.manifest import Manifest

WHOLE = [-1, 0, 1, 2, 7, 255, 2**16, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63)]
REAL = [0.0, -1.0, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324]
SCALARS = [
    "-1",
    "0",
    "1",
    "5",
    "1000000",
    "9223372036854775807",
    "1e308",
    "NaN",
    "Infinity",
    "2.5",
    '""',
    '"x"',
    "null",
]
SCALARS += ["true", "false", "[]", "{}", '"probability"', '"rbf"', "[1, 2]"]
NEW = 1  # an id that no object has: skops creates only the first of several nodes with the same id
TYPES = ["<f4", "<i4", "<u1", "|b1", ">f8", "<i8", "<f8", "<U3", "<c16", "<f2", "<u8", "<M8[s]"]


def open_model(path):
    """Return the members of the model inside a file, and its manifest."""
    archive = read(path)
    with ZipFile(BytesIO(archive.model)) as file:
        return {name: file.read(name) for name in file.namelist()}, Manifest.parse(archive.manifest)


def close_model(path, members, manifest):
    """Write the members to a file, with their hash in the manifest."""
    content = BytesIO()
    with ZipFile(content, "w", ZIP_STORED) as file:
        for name, member in members.items():
            file.writestr(name, member)
    manifest = replace(manifest, sha256=sha256(content.getvalue()).hexdigest())
    path.write_bytes(pack(Archive(manifest.to_json(), content.getvalue())))


def mutated(members, random):
    """Return the members with one or two changes."""
    members = dict(members)
    for _ in range(1 + (random.random() < 0.2)):
        arrays = [name for name in members if name.endswith(".npy")]
        if random.random() < 0.6:
            name = arrays[random.integers(len(arrays))]
            members[name] = _mutated_array(members[name], random)
        else:
            members["schema.json"] = _mutated_schema(members["schema.json"], random, arrays)
    return members


def _mutated_array(content, random):
    if random.random() < 0.05:
        flipped = bytearray(content)
        flipped[random.integers(len(content))] ^= 1 << random.integers(8)
        return bytes(flipped)
    try:
        array = np.load(BytesIO(content), allow_pickle=False)
    except Exception:  # a flipped bit in the header can raise anything
        return content
    with np.errstate(all="ignore"):
        array = _with_other_shape(array, random) if random.random() < 0.3 else _with_other_values(array, random)
    file = BytesIO()
    np.save(file, array, allow_pickle=False)
    return file.getvalue()


def _with_other_values(array, random):
    array, flat = array.copy(), None
    if array.dtype.names:
        field = array.dtype.names[random.integers(len(array.dtype.names))]
        array[field] = _with_other_values(np.ascontiguousarray(array[field]), random)
        return array
    flat = array.reshape(-1)
    if not flat.size:
        return array
    at = random.integers(flat.size, size=1 if random.random() < 0.7 else max(1, flat.size // 3))
    if array.dtype.kind in "iu":
        pool = [np.array(each).astype(array.dtype) for each in WHOLE]
        near = flat[at[0]] + np.array(random.integers(-3, 4)).astype(array.dtype)
        flat[at] = near if random.random() < 0.4 else pool[random.integers(len(pool))]
    elif array.dtype.kind == "f":
        flat[at] = REAL[random.integers(len(REAL))]
    elif array.dtype.kind == "b":
        flat[at] = ~flat[at]
    else:
        flat[at] = flat[random.integers(flat.size)]
    return array


def _with_other_shape(array, random):
    which = random.integers(8)
    if which == 0 and array.ndim:
        return array[:-1]
    if which == 1 and array.ndim:
        return np.concatenate([array, array[-1:]])
    if which == 2:
        return np.asfortranarray(array.T)
    if which == 3:
        return array[None]
    if which == 4:
        return array.reshape(-1)[:0]
    if which == 5 and array.ndim > 1:
        return array.reshape(-1)
    if which == 6 and array.ndim > 1:
        return np.asfortranarray(array)
    try:
        return array.astype(TYPES[random.integers(len(TYPES))])
    except (TypeError, ValueError):
        return array[..., :-1] if array.ndim else array


def _mutated_schema(content, random, arrays):
    schema = json.loads(content)
    nodes = []
    ahead = [schema]
    while ahead:
        each = ahead.pop()
        if isinstance(each, dict):
            nodes += [each] * isinstance(each.get("__loader__"), str)
            ahead += each.values()
        elif isinstance(each, list):
            ahead += each
    scalars = [node for node in nodes if node["__loader__"] == "JsonNode"]
    node, other = (nodes[k] for k in random.integers(len(nodes), size=2))
    which = random.integers(8)
    if which < 4:
        new = {"content": SCALARS[random.integers(len(SCALARS))], "__id__": NEW}
        scalars[random.integers(len(scalars))].update(new)
    elif which == 4:
        copied = json.loads(json.dumps(other))
        node.clear()
        node.update(copied)
    elif which == 5:
        key = ["__class__", "__module__", "__loader__", "file", "type"][random.integers(5)]
        if key in other:
            node.update({"__id__": NEW, key: other[key]})
    elif which == 6 and isinstance(node.get("content"), dict) and node["content"]:
        node["content"].pop([*node["content"]][random.integers(len(node["content"]))])
        node["__id__"] = NEW
    elif which == 7 and "file" in node:
        node.update({"file": arrays[random.integers(len(arrays))], "__id__": NEW})
    return json.dumps(schema).encode()


def use(model, X):
    """Predict with a model in every way that calls a kernel."""
    for cap in (None, 0.0, 4.0):
        acquisition = model.acquire(X, cap)
        assert acquisition.acquired.shape == X.shape
    if hasattr(model, "predict_proba"):
        model.predict_proba(X)
    if hasattr(model, "checkpoints_") and hasattr(model, "top"):
        model.acquire(X, qid=np.arange(len(X)) // 10)
    names = [*model.cost_model_.names] if model.cost_model_.names else range(X.shape[1])
    for row in X[:3]:
        session, values = model.session(), dict(zip(names, row, strict=True))
        while isinstance(step := session.next(), Acquire):
            session.observe({feature: values[feature] for feature in step.features})


def try_out(path, count, seed):
    """Load and use `count` mutants of a file; return how many were refused, used, and failed."""
    members, manifest = open_model(Path(path))
    random, found = np.random.default_rng(seed), Counter(refused=0, used=0, failed=0)
    X = random.normal(size=(40, len(manifest.features))) * 5
    X[::7, ::2] = np.nan
    with tempfile.TemporaryDirectory() as folder:
        mutant = Path(folder, "mutant.thrifty")
        for case in range(count):
            with np.errstate(all="ignore"):
                close_model(mutant, mutated(members, np.random.default_rng([seed, case])), manifest)
                try:
                    model = load(mutant)
                except ModelFileError:
                    found["refused"] += 1
                    continue
                try:
                    use(model, X)
                    found["used"] += 1
                except Exception as error:
                    clean = "infinity" in str(error)  # scikit-learn refuses rows that huge weights made infinite
                    found["used" if clean else "failed"] += 1
                    if not clean:
                        print(f"{path}, case {case}: {type(error).__name__}: {error}", flush=True)
    return found


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    count, seed, *paths = sys.argv[1:]
    found = {path: try_out(path, int(count), int(seed)) for path in paths}
    print(json.dumps([*found.values()]))
    sys.exit(any(each["failed"] for each in found.values()))
