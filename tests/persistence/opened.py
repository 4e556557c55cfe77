"""Model files opened for a change: the tree of nodes with real arrays in it, and back to a file with a correct hash."""

import json
from dataclasses import replace

import numpy as np

from thrifty.persistence.archive import Archive, pack, read
from thrifty.persistence.manifest import Manifest
from thrifty.stored.medium import DTYPES, TEXT_DTYPE, Writer


def open_model(path):
    """Return the tree of a file, in which arrays are arrays, and its manifest."""
    archive = read(path)
    return _with_arrays(json.loads(archive.model), archive.arrays), Manifest.parse(archive.manifest)


def _with_arrays(node, content):
    if is_array(node):
        dtype = np.dtype(node["dtype"])
        size = int(np.prod(node["shape"], dtype=int)) * dtype.itemsize
        return np.frombuffer(content[node["at"] : node["at"] + size], dtype).reshape(node["shape"]).copy()
    if isinstance(node, dict):
        return {name: _with_arrays(each, content) for name, each in node.items()}
    return [_with_arrays(each, content) for each in node] if isinstance(node, list) else node


def is_array(node):
    return isinstance(node, dict) and set(node) == {"dtype", "shape", "at"}


def closed(tree):
    """Return the members of a file with this tree; the manifest is empty."""
    writer = Writer()
    document = _without_arrays(tree, writer)
    return Archive(b"", json.dumps(document).encode(), writer.content())


def _without_arrays(node, writer):
    if isinstance(node, np.ndarray):
        known = node.dtype.str in DTYPES or TEXT_DTYPE.fullmatch(node.dtype.str)
        return writer.array(node) | ({} if known else {"dtype": node.dtype.str})
    if isinstance(node, dict):
        return {name: _without_arrays(each, writer) for name, each in node.items()}
    return [_without_arrays(each, writer) for each in node] if isinstance(node, list | tuple) else node


def sealed(archive, manifest):
    """Return the bytes of a file with this manifest, whose hash is correct again."""
    manifest = replace(manifest, sha256=archive.digest(manifest.description()))
    return pack(archive._replace(manifest=manifest.to_json()))


def close_model(path, tree, manifest):
    """Write a tree to a file, with its hash in the manifest."""
    path.write_bytes(sealed(closed(tree), manifest))


def change(path, at, changed):
    """Change what an attribute is stored as, given the end of its name, such as ``tree_.upper``."""
    tree, manifest = open_model(path)
    n_changed = 0
    ahead = [("", tree)]
    while ahead:
        name, node = ahead.pop()
        if isinstance(node, dict):
            for key, each in node.items():
                inner = name if key in ("fields", "structure", "parameters") else f"{name}.{key}"
                if inner.endswith(at) and not (isinstance(each, dict) and set(each) == {"class", "fields"}):
                    node[key], n_changed = changed(each), n_changed + 1
                ahead.append((inner, each))
        elif isinstance(node, list):
            ahead += [(name, each) for each in node]
    assert n_changed, f"nothing is called {at}"
    close_model(path, tree, manifest)
