"""Which types a model file may hold: thrifty's, scikit-learn's, arrays and plain values, and nothing that is called.

skops writes an object as a tree of nodes. Each names its type, and a loader that makes the object: from its attributes
(ObjectNode), from a list (ListNode), and so on. skops itself refuses types that nobody trusts. Here it is also checked
that every type comes with the loader that is meant for it, so that no file can call a class, let alone a function, with
arguments of its choice.
"""

import json
import re
from collections.abc import Iterable, Iterator
from importlib import import_module
from io import BytesIO
from math import prod
from typing import Any, NamedTuple
from zipfile import ZipFile

import numpy as np
import skops.io

from thrifty.exceptions import ModelFileError
from thrifty.persistence.archive import unpack
from thrifty.persistence.errors import one_line, refuse_unless
from thrifty.persistence.scikit_learn import is_looked_after

OURS = re.compile(r"thrifty\.(models|costs)(\.\w+)+")
EXTRA = {
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
}  # beside what skops trusts by itself
HINTS = {
    "lightgbm": " Pass Forest.from_model of it.",
    "xgboost": " Pass Forest.from_model of it.",
    "pandas": " Pass a dict, an array or a CostModel.",
}
BOOLEANS = {"builtins.bool", "numpy.bool", "numpy.bool_"}
SCALARS = {
    f"numpy.{kind.__name__}" for kind in np.sctypeDict.values() if issubclass(kind, np.number | np.bool_ | np.str_)
}
SPARSE = re.compile(r"scipy\.sparse\._\w+\.\w+")
LOADERS: dict[str, Iterable[str]] = {
    "ConstructorFromReduceNode": {"builtins.range", "decimal.Decimal"},
    "DTypeNode": {"numpy.dtype"},
    "DictNode": {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"},
    "JsonNode": {"builtins.str"},
    "ListNode": {"builtins.list"},
    "NdArrayNode": {"numpy.ndarray", *SCALARS},
    "RandomGeneratorNode": {"numpy.random._generator.Generator"},
    "RandomStateNode": {"numpy.random.mtrand.RandomState"},
    "SetNode": {"builtins.set"},
    "SliceNode": {"builtins.slice"},
    "TreeNode": {"sklearn.tree._tree.Tree"},
    "TypeNode": {"builtins.str", "builtins.int", "builtins.float", *SCALARS} - BOOLEANS,
}
UNNAMED = {"content", "key_types", "__reduce__", "args", "shape"}  # steps on the way to a node that are no attributes
MOST_INFLATED = 2**27  # bytes that a sparse matrix, which SciPy compresses, may unpack to


class Node(NamedTuple):
    """A node of the tree that skops writes, and the attribute that it is or belongs to."""

    at: str
    loader: str
    type: str
    entries: dict[str, Any]


def revive(content: bytes) -> Any:
    """Return the object that skops has written, all types in it being trusted."""
    trusted = trusted_types(content)
    try:
        return skops.io.loads(content, trusted=trusted)
    except Exception as error:  # whatever an attribute of the wrong type, shape or value leads to
        raise ModelFileError(f"the model does not hold together: {one_line(error)}.") from error


def trusted_types(content: bytes) -> list[str]:
    """Return the types of a file that skops would not trust by itself; refuse those that should not be."""
    members = unpack(content)
    try:
        schema = json.loads(members["schema.json"])
        found = [*nodes(schema)]
        untrusted = skops.io.get_untrusted_types(data=content)
    except Exception as error:  # skops raises whatever it stumbles over
        raise ModelFileError("the model was not written by skops.") from error
    for node in found:
        refuse_unless(_is_trusted(node, untrusted), _refusal(node))
        _refuse_inflated(node, members)
    return untrusted


def _refusal(node: Node) -> str:
    place, package = node.at or "the model", node.type.partition(".")[0]
    if node.loader == "TypeNode" and node.type in BOOLEANS:
        return f"{place} has True or False for a key, which files cannot hold. Use 1 and 0, which are equal to them."
    known = "A file holds only thrifty's types, most of scikit-learn's, arrays and plain values."
    return f"{place} holds {node.type}, which is not trusted. {known}{HINTS.get(package, '')}"


def nodes(schema: Any) -> Iterator[Node]:
    """Return all nodes, in no particular order."""
    ahead = [("", schema)]
    while ahead:
        at, entry = ahead.pop()
        if isinstance(entry, dict):
            if isinstance(loader := entry.get("__loader__"), str):
                yield Node(at, loader, f"{entry.get('__module__')}.{entry.get('__class__')}", entry)
            ahead += [(at if key in UNNAMED else f"{at}.{key}".lstrip("."), each) for key, each in entry.items()]
        elif isinstance(entry, list):
            ahead += [(at, each) for each in entry]


def _is_trusted(node: Node, untrusted: list[str]) -> bool:
    if node.loader in LOADERS:
        return node.type in LOADERS[node.loader]
    if node.loader == "TupleNode":
        return node.type == "builtins.tuple" or _is_ours(node.type, tuple)
    if node.loader == "SparseMatrixNode":
        return SPARSE.fullmatch(node.type) is not None
    known = node.type not in untrusted and is_looked_after(node.type)
    if node.loader == "ObjectNode":
        return known or node.type in EXTRA or _is_ours(node.type)
    return node.loader == "LossNode" and known


def _is_ours(name: str, base: type = object) -> bool:
    """Tell whether a class of this very name is defined by thrifty."""
    module, _, kind = name.rpartition(".")
    if not OURS.fullmatch(module):
        return False
    try:
        found = vars(import_module(module)).get(kind)
    except ImportError:
        return False
    if not isinstance(found, type) or not issubclass(found, base):
        return False
    return (found.__module__, found.__qualname__) == (module, kind)


def _refuse_inflated(node: Node, members: dict[str, bytes]) -> None:
    """Refuse an array that is said to be larger than the bytes that are there for it."""
    if node.loader not in ("NdArrayNode", "SparseMatrixNode") or "file" not in node.entries:
        return
    message = f"{node.at or 'an array'} does not have the size that it claims."
    try:
        stored = members[node.entries["file"]]
        if node.loader == "NdArrayNode":
            fine = _n_bytes_claimed(BytesIO(stored)) == len(stored)
        else:
            with ZipFile(BytesIO(stored)) as file:
                fine = sum(info.file_size for info in file.infolist()) <= MOST_INFLATED
                fine = fine and all(_n_bytes_claimed(file.open(info)) == info.file_size for info in file.infolist())
    except Exception as error:  # no array at all
        raise ModelFileError(message) from error
    refuse_unless(fine, message)


def _n_bytes_claimed(file: Any) -> int:
    """Return how long NumPy's header says that the file is; -1 if its elements have no size or are objects."""
    major, _ = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject or not dtype.itemsize:
        return -1
    return file.tell() + dtype.itemsize * prod(shape)
