"""Error messages of cost models: the exact text of each."""

import numpy as np
import pandas as pd
import pytest

from thrifty.costs import CostModel
from thrifty.exceptions import CostError

A_PRICE = "A price must be a finite number, 0 or more."
A_FEATURE = "Pass the name of a feature, or its index from 0 to 1."
READS = "Pass a boolean matrix of shape (t, 2), or one list of features for each derived feature."
AB = {"a": 1.0, "b": 2.0}
MODEL = CostModel(AB)


def with_bundle(members, price=1.0):
    return lambda: CostModel(AB, bundles={"p": (members, price)})


ERRORS = {
    "negative": (lambda: CostModel({"a": -1.0}), f"the price of feature 'a' is -1.0. {A_PRICE}"),
    "nan": (lambda: CostModel([1, np.nan]), f"the price of feature 1 is nan. {A_PRICE}"),
    "inf": (lambda: CostModel(np.array([np.inf])), f"the price of feature 0 is inf. {A_PRICE}"),
    "huge": (lambda: CostModel([10**400]), f"the price of feature 0 is 1{'0' * 17}...{'0' * 19}. {A_PRICE}"),
    "very huge": (lambda: CostModel([10**5000]), f"the price of feature 0 is an integer of 16610 bits. {A_PRICE}"),
    "text": (lambda: CostModel({"a": "1"}), f"the price of feature 'a' is '1'. {A_PRICE}"),
    "bool": (lambda: CostModel([True]), f"the price of feature 0 is True. {A_PRICE}"),
    "numpy bool": (lambda: CostModel(np.array([True])), f"the price of feature 0 is True. {A_PRICE}"),
    "complex": (lambda: CostModel([1j]), f"the price of feature 0 is 1j. {A_PRICE}"),
    "matrix": (lambda: CostModel([[1, 2]]), f"the price of feature 0 is [1, 2]. {A_PRICE}"),
    "scalar": (lambda: CostModel(3), "costs is 3. Pass one price per feature, or {name: price}."),
    "set": (lambda: CostModel({1.0, 2.0}), "costs is a set, which has no order. Pass a list."),
    "set of features": (
        lambda: CostModel([1.0, 2.0]).select({0, 1}),
        "select is a set, which has no order. Pass a list.",
    ),
    "tiny prices": (
        lambda: CostModel([1e-307] * 3),
        "the price 1e-307 is too small to be added exactly. Use a smaller unit.",
    ),
    "nothing": (lambda: CostModel([]), "there are no prices. Pass one price per feature."),
    "overflow": (
        lambda: CostModel([1.7e308, 1.7e308]),
        "the sum of the prices is too large for a float. Use a larger unit.",
    ),
    "unit": (lambda: CostModel([1], unit=3), "unit is 3. Pass text, such as 'CAD'."),
    "number as name": (
        lambda: CostModel({7: 1.0}),
        "7 is not a name. Name features and bundles with non-empty text.",
    ),
    "empty name": (
        lambda: CostModel({"": 1.0}),
        "'' is not a name. Name features and bundles with non-empty text.",
    ),
    "name twice": (
        lambda: CostModel(pd.Series([1.0, 2.0], index=["a", "a"])),
        "the feature name 'a' appears twice. Give each feature its own name.",
    ),
    "no price at all": (
        lambda: CostModel({"a": None, "b": 1.0}),
        "feature 'a' has no price, is not in a bundle and requires nothing that has a price. "
        "Give it a price; pass 0 if it is free.",
    ),
    "no price in a cycle": (
        lambda: CostModel([None, None], requires={0: [1], 1: [0]}),
        "feature 0 has no price, is not in a bundle and requires nothing that has a price. "
        "Give it a price; pass 0 if it is free.",
    ),
    "unknown member": (with_bundle(["c"]), f"bundle 'p' lists 'c', which is not a feature. {A_FEATURE}"),
    "negative index": (with_bundle([-1]), f"bundle 'p' lists -1, which is not a feature. {A_FEATURE}"),
    "index too large": (with_bundle([2]), f"bundle 'p' lists 2, which is not a feature. {A_FEATURE}"),
    "bool member": (with_bundle([True]), f"bundle 'p' lists True, which is not a feature. {A_FEATURE}"),
    "member twice": (with_bundle(["a", 0]), "bundle 'p' lists 'a' twice. List every feature once."),
    "text for members": (with_bundle("ab"), "bundle 'p' is 'ab'. Pass a list of features."),
    "number for members": (with_bundle(0), "bundle 'p' is 0. Pass a list of features."),
    "empty bundle": (with_bundle([]), "bundle 'p' is empty. List its members, or leave the bundle out."),
    "bundle price": (with_bundle(["a"], -2), f"the price of bundle 'p' is -2. {A_PRICE}"),
    "bundle without price": (with_bundle(["a"], None), f"the price of bundle 'p' is None. {A_PRICE}"),
    "no pair": (
        lambda: CostModel(AB, bundles={"p": ["a"]}),
        "bundle 'p' is ['a']. Pass a pair (members, price).",
    ),
    "bundle name": (
        lambda: CostModel(AB, bundles={1: (["a"], 1.0)}),
        "1 is not a name. Name features and bundles with non-empty text.",
    ),
    "bundle named as a feature": (
        lambda: CostModel(AB, bundles={"a": (["b"], 1.0)}),
        "bundle 'a' has the name of a feature. Rename the bundle.",
    ),
    "bundles no dict": (lambda: CostModel(AB, bundles=["p"]), "bundles is ['p']. Pass a dict."),
    "requires no dict": (lambda: CostModel(AB, requires=["a"]), "requires is ['a']. Pass a dict."),
    "unknown requirer": (
        lambda: CostModel(AB, requires={"c": ["a"]}),
        f"requires lists 'c', which is not a feature. {A_FEATURE}",
    ),
    "unknown required": (
        lambda: CostModel(AB, requires={"a": ["c"]}),
        f"requires['a'] lists 'c', which is not a feature. {A_FEATURE}",
    ),
    "required twice": (
        lambda: CostModel(AB, requires={"a": ["b", "b"]}),
        "requires['a'] lists 'b' twice. List every feature once.",
    ),
    "mask of integers": (
        lambda: MODEL.of([1, 0]),
        "mask has dtype int64. Pass booleans: True where a feature is acquired.",
    ),
    "mask of floats": (
        lambda: MODEL.marginal([[1.0, 0.0]]),
        "mask has dtype float64. Pass booleans: True where a feature is acquired.",
    ),
    "wide mask": (
        lambda: MODEL.of([[True, False, True]]),
        "mask has shape (1, 3). Expected (2,) or (n, 2): one entry per feature.",
    ),
    "deep mask": (
        lambda: MODEL.marginal(np.ones((1, 1, 2), dtype=bool)),
        "mask has shape (1, 1, 2). Expected (2,) or (n, 2): one entry per feature.",
    ),
    "flat mask": (
        lambda: MODEL.of(np.array(True)),
        "mask has shape (). Expected (2,) or (n, 2): one entry per feature.",
    ),
    "select unknown": (lambda: MODEL.select(["c"]), f"select lists 'c', which is not a feature. {A_FEATURE}"),
    "select twice": (lambda: MODEL.select([0, "a"]), "select lists 'a' twice. List every feature once."),
    "select text": (lambda: MODEL.select("ab"), "select is 'ab'. Pass a list of features."),
    "select nothing": (lambda: MODEL.select([]), "select is empty. List at least one feature."),
    "derive width": (
        lambda: MODEL.derive(np.ones((4, 3), dtype=bool), 1.0),
        f"requires is an array of bool (4, 3). {READS}",
    ),
    "derive dtype": (
        lambda: MODEL.derive(np.ones((4, 2), dtype=int), 1.0),
        f"requires is an array of int64 (4, 2). {READS}",
    ),
    "derive scalar": (lambda: MODEL.derive(0, 1.0), f"requires is 0. {READS}"),
    "derive unknown": (
        lambda: MODEL.derive([["a"], ["c"]], 1.0),
        f"requires[1] lists 'c', which is not a feature. {A_FEATURE}",
    ),
    "derive flat": (lambda: MODEL.derive([0, 1], 1.0), "requires[0] is 0. Pass a list of features."),
    "derive nothing": (
        lambda: MODEL.derive([], 1.0),
        "requires is empty. Pass the features that each derived feature reads.",
    ),
    "derive prices": (
        lambda: MODEL.derive([[0], [1]], [1.0, 2.0, 3.0]),
        "evaluation_costs has 3 entries but there are 2 derived features. Pass one entry per derived feature.",
    ),
    "derive names": (
        lambda: MODEL.derive([[0], [1]], 1.0, names=["t"]),
        "names has 1 entries but there are 2 derived features. Pass one entry per derived feature.",
    ),
    "derive name twice": (
        lambda: MODEL.derive([[0], [1]], 1.0, names=["t", "t"]),
        "the feature name 't' appears twice. Give each feature its own name.",
    ),
    "derive price": (
        lambda: MODEL.derive([[0], [1]], [1.0, -1.0]),
        f"the price of derived feature 'x1' is -1.0. {A_PRICE}",
    ),
    "resolve length": (
        lambda: CostModel.resolve(np.ones(40), 41, owner="ASTCClassifier"),
        "ASTCClassifier: costs has 40 entries but X has 41 features. "
        "Pass one cost per column, or a CostModel with names.",
    ),
    "resolve length, one side named": (
        lambda: CostModel.resolve(MODEL, 3, owner="Model"),
        "Model: costs has 2 entries but X has 3 features. Pass one cost per column, or a CostModel with names.",
    ),
    "resolve missing": (
        lambda: CostModel.resolve(MODEL, 3, ["a", "b", "c"], owner="Model"),
        "Model: costs has no price for column 'c' of X. Add one, or drop the column.",
    ),
    "resolve misspelt": (
        lambda: CostModel.resolve(MODEL, 2, ["a", "c"], owner="Model"),
        "Model: costs has no price for column 'c' of X, but one for 'b', which is not a column. "
        "Check the spelling of both names.",
    ),
    "resolve unknown": (
        lambda: CostModel.resolve(MODEL, 1, ["b"], owner="Model"),
        "Model: costs has a price for 'a', which is not a column of X. Remove it, or add the column.",
    ),
    "resolve price": (
        lambda: CostModel.resolve({"a": -1}, 1, owner="Model"),
        f"Model: the price of feature 'a' is -1. {A_PRICE}",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_error_message(name):
    attempt, message = ERRORS[name]
    with pytest.raises(CostError) as caught:
        attempt()
    assert str(caught.value) == message
