"""Which types a model file may contain: types of thrifty and scikit-learn, arrays and plain values, but no functions.

skops writes an object as a tree of nodes. Each node names a type, and a loader that creates the object: from its
attributes (ObjectNode), from a list (ListNode), and so on. skops refuses types that are not trusted. This module also
checks that every type comes with the loader that is meant for it. A file therefore cannot call a class or a function
with arguments of its choice.
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
from thrifty.persistence.scikit_learn_checks import is_in_safe_module

OUR_MODULES = re.compile(r"thrifty\.(models|costs)(\.\w+)+")
TRUSTED_TOO = {
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
}  # in addition to what skops trusts
HINTS = {
    "lightgbm": " Convert the model with Forest.from_model first.",
    "xgboost": " Convert the model with Forest.from_model first.",
    "pandas": " Pass a dict, an array or a CostModel.",
}
BOOLEANS = {"builtins.bool", "numpy.bool", "numpy.bool_"}
SCALARS = {
    f"numpy.{kind.__name__}" for kind in np.sctypeDict.values() if issubclass(kind, np.number | np.bool_ | np.str_)
}
SPARSE_MATRICES = re.compile(r"scipy\.sparse\._\w+\.\w+")
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
NOT_ATTRIBUTES = {"content", "key_types", "__reduce__", "args", "shape"}  # keys of skops on the way to a node
MAX_SPARSE_BYTES = 2**27  # that a sparse matrix, which SciPy compresses, may unpack to


class Node(NamedTuple):
    """A node of the tree that skops writes.

    Attributes
    ----------
    at : str
        The attribute of the model that the node is or belongs to.
    loader : str
        The loader of skops that creates the object.
    type : str
        The type of the object, with its module.
    entries : dict
        The node as it is in the file.
    """

    at: str
    loader: str
    type: str
    entries: dict[str, Any]


def read_trusted(content: bytes) -> Any:
    """Create the object that skops has written, after checking that all its types are trusted."""
    trusted = trusted_types(content)
    try:
        return skops.io.loads(content, trusted=trusted)
    except Exception as error:  # an attribute of a wrong type, shape or value can raise anything
        raise ModelFileError(f"the model is not consistent: {one_line(error)}.") from error


def trusted_types(content: bytes) -> list[str]:
    """Return the types in a file that skops has to be told to trust; raise ModelFileError if one is not trusted."""
    members = unpack(content)
    try:
        schema = json.loads(members["schema.json"])
        found = [*nodes(schema)]
        untrusted = skops.io.get_untrusted_types(data=content)
    except Exception as error:  # skops can raise anything on a damaged file
        raise ModelFileError("the model was not written by skops.") from error
    for node in found:
        refuse_unless(_is_trusted(node, untrusted), _refusal(node))
        _refuse_wrong_size(node, members)
    return untrusted


def _refusal(node: Node) -> str:
    place, package = node.at or "the model", node.type.partition(".")[0]
    if node.loader == "TypeNode" and node.type in BOOLEANS:
        return f"{place} has True or False as a key, which cannot be saved. Use 1 and 0, which are equal to them."
    trusted = "A file may contain types of thrifty, most types of scikit-learn, arrays and plain values."
    return f"{place} contains {node.type}, which is not trusted. {trusted}{HINTS.get(package, '')}"


def nodes(schema: Any) -> Iterator[Node]:
    """Yield all nodes of a tree, in no particular order."""
    ahead = [("", schema)]
    while ahead:
        at, entry = ahead.pop()
        if isinstance(entry, dict):
            if isinstance(loader := entry.get("__loader__"), str):
                yield Node(at, loader, f"{entry.get('__module__')}.{entry.get('__class__')}", entry)
            ahead += [(at if key in NOT_ATTRIBUTES else f"{at}.{key}".lstrip("."), each) for key, each in entry.items()]
        elif isinstance(entry, list):
            ahead += [(at, each) for each in entry]


def _is_trusted(node: Node, untrusted: list[str]) -> bool:
    if node.loader in LOADERS:
        return node.type in LOADERS[node.loader]
    if node.loader == "TupleNode":
        return node.type == "builtins.tuple" or _is_ours(node.type, tuple)
    if node.loader == "SparseMatrixNode":
        return SPARSE_MATRICES.fullmatch(node.type) is not None
    known = node.type not in untrusted and is_in_safe_module(node.type)
    if node.loader == "ObjectNode":
        return known or node.type in TRUSTED_TOO or _is_ours(node.type)
    return node.loader == "LossNode" and known


def _is_ours(name: str, base: type = object) -> bool:
    """Tell whether thrifty defines a class of this name, which is a subclass of `base`."""
    module, _, kind = name.rpartition(".")
    if not OUR_MODULES.fullmatch(module):
        return False
    try:
        found = vars(import_module(module)).get(kind)
    except ImportError:
        return False
    if not isinstance(found, type) or not issubclass(found, base):
        return False
    return (found.__module__, found.__qualname__) == (module, kind)


def _refuse_wrong_size(node: Node, members: dict[str, bytes]) -> None:
    """Refuse an array whose header claims another size than the file has for it."""
    if node.loader not in ("NdArrayNode", "SparseMatrixNode") or "file" not in node.entries:
        return
    message = f"{node.at or 'an array'} does not have the size that it claims."
    try:
        stored = members[node.entries["file"]]
        if node.loader == "NdArrayNode":
            fine = _n_bytes_claimed(BytesIO(stored)) == len(stored)
        else:
            with ZipFile(BytesIO(stored)) as file:
                fine = sum(info.file_size for info in file.infolist()) <= MAX_SPARSE_BYTES
                fine = fine and all(_n_bytes_claimed(file.open(info)) == info.file_size for info in file.infolist())
    except Exception as error:  # not an array
        raise ModelFileError(message) from error
    refuse_unless(fine, message)


def _n_bytes_claimed(file: Any) -> int:
    """Return the length of a file according to its NumPy header; -1 if its elements are objects or have no size."""
    major, _ = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if major == 1 else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    if dtype.hasobject or not dtype.itemsize:
        return -1
    return file.tell() + dtype.itemsize * prod(shape)
