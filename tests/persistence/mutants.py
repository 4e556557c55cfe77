"""Mutants: model files with altered nodes, arrays and names, and a hash that is correct again.

As a program, it loads mutants of each file and predicts with those that load. A crash shows in its exit status::

    python tests/persistence/mutants.py 500 0 model.thrifty ...          (number of mutants, seed, files)
"""

import json
import pickle
import resource
import signal
import sys
import tempfile
import warnings
from collections import Counter
from copy import deepcopy
from pathlib import Path

import numpy as np
from sklearn.base import clone

from persistence.opened import closed, open_model, sealed
from thrifty.exceptions import ModelFileError
from thrifty.models.base import BudgetedEstimator
from thrifty.models.session import Acquire
from thrifty.persistence import load
from thrifty.persistence.manifest import Manifest
from thrifty.persistence.model_file import _read_model
from thrifty.stored.structures import _REGISTER

WHOLE = [-1, 0, 1, 2, 7, 255, 2**16, 2**31 - 1, -(2**31), 2**53, 2**63 - 1, -(2**63)]
REAL = [0.0, -1.0, 1e308, -1e308, np.inf, -np.inf, np.nan, 5e-324]
PLAIN = [-1, 0, 1, 5, 10**6, 2**63 - 1, 10**30, 1e308, 2.5, -0.5, "", "x", "inf", "nan", None, True, False, [], {}]
TEXTS = [
    "probability",
    "rbf",
    "poly",
    "category",
    "number",
    "regression",
    "ranking",
    "log",
    "root",
    "\ud800",
    "a" * 9999,
]
TYPES = ["<f4", "<i4", "<u1", "|b1", ">f8", "<i8", "<f8", "<U3", "<c16", "<f2", "<u8", "<M8[s]"]
TAGS = ["tuple", "dict", "array", "scalar", "structure", "scikit-learn", "foreign", "range", "decimal", "float"]
SECONDS, MEMORY = 20, 2**32  # that one mutant may take


def mutated(tree, random):
    """Return a tree with one to three changes."""
    tree = deepcopy(tree)
    for _ in range(1 + (random.random() < 0.3) + (random.random() < 0.1)):
        if not (places := [*_places(tree)]):
            break
        arrays = [each for each in places if isinstance(_value(each), np.ndarray)]
        if arrays and random.random() < 0.5:
            parent, key = _pick(arrays, random)
            parent[key] = _mutated_array(parent[key], random)
        elif random.random() < 0.2:
            _resize(tree, random)
        else:
            _change_node(places, random)
    return tree


def _places(node):
    """Yield all (parent, key) of a tree."""
    entries = [*node.items()] if isinstance(node, dict) else [*enumerate(node)] if isinstance(node, list) else []
    for key, each in entries:
        yield node, key
        yield from _places(each)


def _value(place):
    return place[0][place[1]]


def _pick(items, random):
    return items[random.integers(len(items))]


def _change_node(places, random):
    """Replace, move, wrap, drop or rename a node."""
    (parent, key), other = _pick(places, random), _pick(places, random)
    which = random.integers(9)
    scalars = [each for each in places if not isinstance(_value(each), dict | list | np.ndarray)]
    if which < 3 and scalars:
        parent, key = _pick(scalars, random)
        parent[key] = _changed_scalar(parent[key], key, random)
    elif which == 3:
        parent[key] = deepcopy(_value(other))
    elif which == 4 and _value(other) is not parent:
        parent[key], other[0][other[1]] = deepcopy(_value(other)), deepcopy(_value((parent, key)))
    elif which == 5:
        parent[key] = [parent[key]] if random.random() < 0.5 else {_pick(TAGS, random): parent[key]}
        if random.random() < 0.1:
            for _ in range(60):
                parent[key] = [parent[key]]
    elif which == 6:
        parent.pop(key)
    elif which == 7 and isinstance(parent, dict):
        names = [name for place in places if isinstance(place[0], dict) for name in [place[1]]]
        parent[_pick(names, random)] = parent.pop(key)
    elif classes := [place for place in places if place[1] == "class" and isinstance(place[0], dict)]:
        parent, key = _pick(classes, random)
        parent[key] = _pick(sorted(_REGISTER), random)


def _changed_scalar(value, key, random):
    if key == "class" or random.random() < 0.05:
        return _pick(sorted(_REGISTER), random)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) and random.random() < 0.5:
        return value + int(random.integers(-3, 4))
    if isinstance(value, str) and random.random() < 0.5:
        return _pick(TEXTS, random)
    return _pick(PLAIN, random)


def _resize(tree, random):
    """Shorten or lengthen all axes of one length in one structure, so that its arrays still fit together."""
    structures = [node for node in _nodes(tree) if isinstance(node, dict) and "fields" in node]
    structure = _pick(structures, random)["fields"] if structures else None
    if not isinstance(structure, dict):
        return
    arrays = {name: each for name, each in structure.items() if isinstance(each, np.ndarray) and each.ndim}
    lengths = sorted({length for each in arrays.values() for length in each.shape})
    if not lengths:
        return
    length = _pick(lengths, random)
    longer = random.random() < 0.5
    for name, array in arrays.items():
        for axis in [axis for axis, each in enumerate(array.shape) if each == length]:
            index = [*range(length), length - 1] if longer and length else [*range(length - 1)]
            array = array.take(index, axis=axis)
        structure[name] = array


def _nodes(tree):
    yield tree
    for parent, key in _places(tree):
        yield parent[key]


def _mutated_array(array, random):
    with np.errstate(all="ignore"):
        return _with_other_shape(array, random) if random.random() < 0.3 else _with_other_values(array, random)


def _with_other_values(array, random):
    array = array.copy()
    flat = array.reshape(-1)
    if not flat.size:
        return array
    at = random.integers(flat.size, size=1 if random.random() < 0.7 else max(1, flat.size // 3))
    if array.dtype.kind in "iu":
        pool = [np.array(each).astype(array.dtype) for each in WHOLE]
        near = flat[at[0]] + np.array(random.integers(-3, 4)).astype(array.dtype)
        flat[at] = near if random.random() < 0.5 else _pick(pool, random)
    elif array.dtype.kind == "f":
        flat[at] = _pick(REAL, random)
    elif array.dtype.kind == "b":
        flat[at] = ~flat[at]
    else:
        flat[at] = flat[random.integers(flat.size)]
    return array


def _with_other_shape(array, random):
    which = random.integers(7)
    if which == 0 and array.ndim:
        return array[:-1]
    if which == 1 and array.ndim and len(array):
        return np.concatenate([array, array[-1:]])
    if which == 2:
        return array.T
    if which == 3:
        return array[None]
    if which == 4:
        return array.reshape(-1)[:0]
    if which == 5 and array.ndim > 1:
        return array.reshape(-1)
    try:
        return array.astype(_pick(TYPES, random))
    except (TypeError, ValueError):
        return array[..., :-1] if array.ndim else array


def use(model, X):
    """Describe and copy a model, and predict with it in every way that calls a kernel."""
    for describe in (repr, BudgetedEstimator.outline, pickle.dumps, clone):
        describe(model)
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


def outcome(archive, path, random):
    """Return what becomes of a mutant: refused or used; raise an error if it is neither."""
    try:
        model = _read_model(archive)
    except ModelFileError as error:
        if "MemoryError" in str(error) or "TimeoutError" in str(error) or "\n" in str(error) or len(str(error)) > 500:
            raise RuntimeError("a mutant was not refused in one line in time") from error
        return "refused"
    path.write_bytes(sealed(archive, Manifest.of(model)))  # a forger can describe the altered model too
    model = load(path)
    X = random.normal(size=(20, model.n_features_in_)) * 5
    X[::7, ::2] = np.nan
    use(model, X)
    return "used"


def try_out(path, count, seed):
    """Load and use `count` mutants of a file; return how many were refused, used, and failed."""
    tree, _ = open_model(Path(path))
    outcome(closed(tree), Path(path), np.random.default_rng(seed))  # compiles the kernels
    found = Counter(refused=0, used=0, failed=0)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        for case in range(count):
            random = np.random.default_rng([seed, case])
            archive = closed(mutated(tree, random))
            signal.alarm(SECONDS)
            try:
                found[outcome(archive, Path(folder, "mutant.thrifty"), random)] += 1
            except Exception as error:
                found["failed"] += 1
                print(f"{path}, case {case}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            signal.alarm(0)
    return found


def _too_slow(*_):
    raise TimeoutError(f"a mutant took more than {SECONDS} seconds")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _too_slow)
    count, seed, *paths = sys.argv[1:]
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    found = {path: try_out(path, int(count), int(seed)) for path in paths}
    print(json.dumps([*found.values()]))
    sys.exit(any(each["failed"] for each in found.values()))
