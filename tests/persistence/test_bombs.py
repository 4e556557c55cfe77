"""Small files that would take much memory or time: each is refused with one short line before it does."""

import json
import tracemalloc
from time import process_time

import numpy as np
import pytest

from persistence.opened import close_model, open_model, sealed
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, read_manifest, save
from thrifty.persistence.archive import read

SECONDS, BYTES = 5.0, 2**28  # of work and of memory; without the checks, these files take minutes or many gigabytes


def refused(path, complaint):
    """Check that a file is refused with this complaint, with little work and memory."""
    began = process_time()
    tracemalloc.start()
    try:
        with pytest.raises(ModelFileError) as caught:
            load(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700
    assert process_time() - began < SECONDS
    assert peak < BYTES


def with_parameter(path, node):
    """Give a saved model another parameter, with a correct hash."""
    document, archive, manifest = json.loads(read(path).model), read(path), read_manifest(path)
    document["fields"]["node_budget"] = node
    path.write_bytes(sealed(archive._replace(model=json.dumps(document).encode()), manifest))


def shared_lists(levels):
    node = [0]
    for _ in range(levels):
        node = [node, node]
    return node


PARAMETERS = {
    "decimal": ({"decimal": "1E+999999999"}, "exponent beyond 100"),
    "many digits": ({"decimal": "9" * 100_000}, "is not a decimal number"),
    "range": ({"range": [0, 1_500_000_000, 1]}, "is a range of more than"),
    "huge range": ({"range": [0, 2**62, 1]}, "is a range of more than"),
    "large number": (10**3000, "is a number of 9966 bits, which is too large"),
    "sparse array": ({"array": {"dtype": "<f8", "shape": [10**6, 10**6], "at": 0}}, "does not have the bytes"),
    "empty array": ({"array": {"dtype": "<f8", "shape": [0, 10**13], "at": 0}}, "has shape"),
    "wide text": ({"array": {"dtype": "<U9999999", "shape": [1000], "at": 0}}, "does not have the bytes"),
    "long name": ({"structure": {"class": "A" * 10**6, "fields": {}}}, "which cannot be there"),
    "long tag": ({"B" * 10**6: 1}, "is a value of an unknown type"),
}


@pytest.mark.parametrize("kind", PARAMETERS)
def test_parameters(path, kind):
    node, complaint = PARAMETERS[kind]
    with_parameter(path, node)
    refused(path, complaint)


def test_nested_lists(path):
    node = 0
    for _ in range(500):
        node = [node]
    with_parameter(path, node)
    refused(path, "is nested more than 40 levels deep")


def test_lists_that_double(path):
    """JSON has no shared lists, so 24 levels of pairs would be a file of 50 MB; 16 levels load in their own size."""
    with_parameter(path, shared_lists(16))
    assert path.stat().st_size > 2**17
    assert load(path).node_budget == shared_lists(16)


def test_many_arrays_of_the_same_bytes(path):
    """Ten thousand arrays that name the same bytes: each has to begin where the one before it ends."""
    with_parameter(path, [{"array": {"dtype": "<f8", "shape": [4], "at": 0}}] * 10_000)
    refused(path, "does not have the bytes that it claims")


def test_many_structures_that_are_the_same(path):
    """References to a cost model take no memory; a reference to one that does not come before is refused."""
    document = json.loads(read(path).model)
    document["fields"]["cost_model_"] = {"class": "CostModel", "same": 7}
    archive, manifest = read(path), read_manifest(path)
    path.write_bytes(sealed(archive._replace(model=json.dumps(document).encode()), manifest))
    refused(path, "cost_model_ refers to an object that does not come before it")


def test_a_chain_of_nodes(path):
    """A tree of linear nodes with 200,000 levels."""
    tree, manifest = open_model(path)
    fields, n = tree["fields"]["tree_"]["fields"], 200_000
    chain = np.append(np.arange(1, n), -1)
    fields |= dict.fromkeys(("upper", "lower"), chain)
    fields |= {name: np.zeros(n) for name in ("threshold", "projection_intercept")}
    fields |= {name: np.zeros(n, dtype=np.int64) for name in ("n_held", "n_bought")}
    fields |= {"score_intercept": np.zeros((n, 1)), "scores": np.zeros((1, 0)), "projection": np.zeros(0)}
    tree["fields"]["tree_"]["fields"] = fields | {"buys": np.zeros(0, dtype=np.int64)}
    close_model(path, tree, manifest)
    refused(path, "a tree has 200000 nodes")


def test_a_chain_of_splits(models, tmp_path):
    """A decision tree with 200,000 levels."""
    path = save(models["forest"], tmp_path / "m")
    tree, manifest = open_model(path)
    n = 200_000
    feature = np.zeros(2 * n + 1, dtype=np.int64)
    left, right = np.arange(2 * n + 1) + 1, np.arange(2 * n + 1) + 2
    feature[1::2] = feature[-1] = -1
    fields = tree["fields"]["forest_"]["fields"]
    fields |= {"feature": feature, "left": left, "right": right, "threshold": np.zeros(2 * n + 1)}
    fields |= {"value": np.zeros((2 * n + 1, 1)), "starts": np.zeros(1, dtype=np.int64)}
    fields |= {"score_of": np.zeros(1, dtype=np.int64), "missing_left": None, "expected": np.zeros(1)}
    close_model(path, tree, manifest)
    refused(path, "a tree has more than 10000 levels")


def test_category_sets_of_large_codes(models, tmp_path):
    path = save(models["forest"], tmp_path / "m")
    tree, manifest = open_model(path)
    fields = tree["fields"]["forest_"]["fields"]
    splits = np.flatnonzero(fields["feature"] >= 0)
    assert len(splits) > 20
    fields |= {"category_nodes": splits, "category_sizes": np.ones(len(splits), dtype=np.int64)}
    fields["category_codes"] = np.full(len(splits), 2**24 - 1)
    close_model(path, tree, manifest)
    refused(path, "category sets take")


def test_features_that_no_tree_reads(models, tmp_path):
    path = save(models["forest"], tmp_path / "m")
    tree, manifest = open_model(path)
    tree["fields"]["forest_"]["fields"]["n_features"] = 2**40
    close_model(path, tree, manifest)
    refused(path, "n_features is 1099511627776")


def test_many_levels_of_a_category(table_model, tmp_path):
    path = save(table_model, tmp_path / "m")
    tree, manifest = open_model(path)
    fields = tree["fields"]["encoder_"]["fields"]["fields_"]
    category = next(each["fields"] for each in fields if each["fields"]["kind"] == "category")
    category["levels"] = [f"{k:06}" for k in range(100_000)]
    close_model(path, tree, manifest)
    refused(path, "levels has 100000 entries; expected from 0 to 4096")


def test_a_document_that_is_too_large(path, monkeypatch):
    monkeypatch.setattr("thrifty.persistence.documents.MAX_BYTES", 100)
    with pytest.raises(ModelFileError, match="expected at most 100"):
        load(path)
