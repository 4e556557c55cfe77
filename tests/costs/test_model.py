import copy
import pickle
import subprocess
import sys
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, clone

from thrifty.costs import CostModel, Ledger
from thrifty.exceptions import CostError

HEART = CostModel(
    {
        **dict.fromkeys(["age", "sex", "cp", "trestbps"], 1.0),
        **{"chol": 5.17, "fbs": 3.10, "restecg": 15.50, "ca": 100.90},
        **dict.fromkeys(["exang", "oldpeak", "slope", "thalach", "thal"], 1.0),
    },
    bundles={
        "blood draw": (["chol", "fbs"], 2.10),
        "exercise test": (["exang", "oldpeak", "slope"], 86.30),
        "thallium test": (["thalach", "thal"], 101.90),
    },
    unit="CAD",
)
THYROID = CostModel({"tt4": 9.0, "t4u": 7.5, "fti": None}, requires={"fti": ["tt4", "t4u"]})


class Estimator(BaseEstimator):
    def __init__(self, costs=None):
        self.costs = costs


def of(model, *names):
    return model.of(np.isin(model.names, names))


def test_a_bundle_is_paid_once():
    assert of(HEART, "chol") == 7.27
    assert of(HEART, "chol", "fbs") == 10.37
    assert HEART.total == 323.97
    assert repr(HEART) == "CostModel(13 features, 3 bundles, total 323.97 CAD)"


def test_a_ratio_is_free_once_both_its_parts_are_bought():
    assert of(THYROID, "fti") == of(THYROID, "tt4", "t4u") == THYROID.total == 16.5
    assert THYROID.marginal([True, False, False]).tolist() == [0, 7.5, 7.5]
    assert THYROID.marginal([True, True, False]).tolist() == [0, 0, 0]


def test_requires_is_transitive_and_may_have_cycles():
    chain = CostModel({"a": 1.0, "b": 2.0, "c": 4.0}, requires={"c": ["b"], "b": ["a"]})
    assert [of(chain, name) for name in "abc"] == [1, 3, 7]
    cycle = CostModel({"a": 1.0, "b": 2.0}, requires={"a": ["b"], "b": ["a"]})
    assert [of(cycle, name) for name in "ab"] == [3, 3]


def test_a_feature_may_be_in_several_bundles():
    model = CostModel([1.0, None], bundles={"visit": ([0, 1], 10.0), "scan": ([1], 100.0)})
    assert model.of([[True, False], [False, True], [True, True]]).tolist() == [11, 110, 111]
    assert model.unit_names == ("x0", "visit", "scan")
    assert model.unit_costs.tolist() == [1, 10, 100]
    assert model.requirement.tolist() == [[True, True, False], [False, True, True]]


@pytest.mark.parametrize(
    "prices",
    [
        [0.1, 0.2],
        [Decimal("0.1"), Decimal("0.2")],
        np.array([0.1, 0.2], dtype=np.float32),
        [3 * 0.1 - 0.2, 0.2],
    ],
    ids=["float", "Decimal", "float32", "computed"],
)
def test_sums_of_decimals_are_exact(prices):
    model = CostModel(prices)
    assert model.of([True, True]) == model.total == 0.3
    assert Ledger(model, [1, 0]).spent == Ledger(model, [0, 1]).spent == 0.3


def test_prices_that_are_not_short_decimals_are_rounded_up_and_sums_do_not_depend_on_order():
    prices = np.random.default_rng(0).random(50)
    model, each = CostModel(prices), np.eye(50, dtype=bool)
    np.testing.assert_allclose(model.of(each), prices, rtol=0, atol=2**-52 * prices.sum())
    assert np.all(model.of(each) >= prices)
    assert Ledger(model, range(50)).spent == Ledger(model, range(49, -1, -1)).spent == model.total


@pytest.mark.parametrize("prices", [[0.0, 0.0], [1e300, 1e295], [1e-300, 1e-299], [1e9, 1.0, 0.5], [1 / 3, 1e8, 0.0]])
def test_large_and_small_prices_keep_their_value(prices):
    model = CostModel(prices)
    assert model.total == pytest.approx(sum(prices), rel=1e-14)
    np.testing.assert_allclose(model.of(np.eye(len(prices), dtype=bool)), prices, rtol=1e-6)


@pytest.mark.parametrize("prices", [[1e300, 1e-300], [1e16, 1.0, 0.5], [1e9, 1e-9, 1 / 3]])
def test_prices_too_far_apart_to_be_added_exactly_are_refused(prices):
    with pytest.raises(
        CostError, match=r"the prices .* and .* are too far apart to be added exactly\. Keep prices within"
    ):
        CostModel(prices)


def test_cost_of_many_rows_equals_cost_of_single_rows():
    masks = np.random.default_rng(0).random((3000, 13)) < 0.3
    assert HEART.of(masks).tolist() == [HEART.of(mask) for mask in masks]
    assert HEART.of(np.asfortranarray(masks)).tolist() == HEART.of(masks).tolist()
    assert HEART.of(masks[:, ::-1][:, ::-1]).tolist() == HEART.of(masks).tolist()
    assert HEART.of(masks[:0]).shape == (0,)
    assert HEART.marginal(masks[:0]).shape == (0, 13)


def test_marginal_of_many_rows_does_not_depend_on_blocks():
    masks = np.random.default_rng(0).random((90_000, 13)) < 0.3
    marginal = HEART.marginal(masks)
    for row in (0, 80_658, 80_659, 89_999):
        assert marginal[row].tolist() == HEART.marginal(masks[row]).tolist()


def test_cost_model_is_immutable():
    with pytest.raises(AttributeError, match="CostModel is frozen: 'unit' cannot be set"):
        HEART.unit = "USD"
    with pytest.raises(AttributeError, match="frozen: 'anything' cannot be set"):
        HEART.anything = 1
    with pytest.raises(AttributeError, match="frozen"):
        del HEART._units
    for array in (HEART.unit_costs, HEART.requirement):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    HEART.costs["age"] = HEART.bundles["blood draw"] = None
    assert HEART.total == 323.97


def test_copies_are_equal():
    for model in (HEART, THYROID):
        copies = [pickle.loads(pickle.dumps(model)), copy.copy(model), copy.deepcopy(model), clone(model)]
        copies.append(clone(Estimator(model)).costs)
        for duplicate in copies:
            assert duplicate == model
            assert hash(duplicate) == hash(model)
            assert duplicate.of(np.ones(model.n_features, dtype=bool)) == model.total


def test_equality_compares_all_declared_values():
    bundles = {"p": (["a", "b"], 1.0), "q": (["b"], 2.0)}
    model = CostModel({"a": 1.0, "b": 2.0}, bundles=bundles, requires={"a": ["b"]}, unit="CAD")
    assert model == CostModel(
        {"a": 1, "b": 2}, bundles=dict(reversed(bundles.items())), requires={"a": ["b"]}, unit="CAD"
    )
    others = [
        CostModel({"b": 2.0, "a": 1.0}, bundles=bundles, requires={"a": ["b"]}, unit="CAD"),
        CostModel({"a": 1.0, "b": 3.0}, bundles=bundles, requires={"a": ["b"]}, unit="CAD"),
        CostModel({"a": 1.0, "b": 2.0}, bundles={"p": bundles["p"]}, requires={"a": ["b"]}, unit="CAD"),
        CostModel({"a": 1.0, "b": 2.0}, bundles=bundles, requires={"b": ["a"]}, unit="CAD"),
        CostModel({"a": 1.0, "b": 2.0}, bundles=bundles, requires={"a": ["b"]}, unit="USD"),
        "CostModel",
    ]
    assert all(model != other for other in others)


def test_names_come_from_the_index_of_a_series():
    assert CostModel(pd.Series([1.0, 2.0], index=["a", "b"])) == CostModel({"a": 1.0, "b": 2.0})
    assert CostModel(pd.Series([1.0, 2.0])) == CostModel([1.0, 2.0])


def test_repr_omits_empty_parts():
    assert repr(CostModel([-0.0])) == "CostModel(1 feature, total 0)"
    assert repr(CostModel([1])) == "CostModel(1 feature, total 1)"
    assert repr(CostModel([1, 2.5], bundles={"b": ([0], 1)})) == "CostModel(2 features, 1 bundle, total 4.5)"


def test_derived_models_can_be_derived_again_and_saved(tmp_path):
    trees = CostModel([5.0, 20.0, 7.0]).derive(np.array([[1, 0, 0], [1, 1, 0]], dtype=bool), 1.0)
    assert trees.of([[True, False], [False, True], [True, True]]).tolist() == [6, 26, 27]
    assert trees.bundles == {"x0'": ((0, 1), 5.0), "x1'": ((1,), 20.0)}
    assert trees.total == 27  # nothing reads the third feature
    forest = trees.derive([[0, 1, 0]], 0.5, names=["forest"])
    assert forest.of([True]) == 27.5
    assert CostModel.from_file(forest.to_file(tmp_path / "forest.toml")) == forest
    assert CostModel.from_file(trees.to_file(tmp_path / "trees.csv")).of([True, True]) == 27


def test_a_selection_keeps_what_its_features_require():
    ratio = THYROID.select(["fti"])
    assert ratio.bundles == {"tt4": (("fti",), 9.0), "t4u": (("fti",), 7.5)}
    assert THYROID.select([2, 0]).requires == {"fti": ("tt4",)}
    assert HEART.select(["fbs", "age"]) == CostModel(
        {"fbs": 3.1, "age": 1.0}, bundles={"blood draw": (["fbs"], 2.1)}, unit="CAD"
    )
    cycle = CostModel({"a": 1.0, "b": 2.0}, requires={"a": ["b"], "b": ["a"]})
    assert cycle.select(["a"]) == CostModel({"a": 1.0}, bundles={"b": (["a"], 2.0)})
    unnamed = CostModel([None, 1.0, 2.0], requires={0: [1]})
    assert unnamed.select([0, 2]).bundles == {"x1'": ((0,), 1.0)}


def test_resolve_without_names_matches_by_position():
    assert CostModel.resolve(None, 3) == CostModel([1.0, 1.0, 1.0])
    assert CostModel.resolve([1.0, 2.0], 2) == CostModel([1.0, 2.0])
    assert CostModel.resolve([1.0, 2.0], 2, ["b", "a"]) == CostModel({"b": 1.0, "a": 2.0})
    assert CostModel.resolve(None, 2, np.array(["b", "a"], dtype=object)).names == ("b", "a")
    assert CostModel.resolve({"a": 1.0, "b": 2.0}, 2) == CostModel({"a": 1.0, "b": 2.0})
    assert CostModel.resolve(HEART, 13) is HEART


def test_resolve_matches_names():
    columns = list(reversed(HEART.names))
    model = CostModel.resolve(HEART, 13, columns)
    assert model.names == tuple(columns)
    assert model == HEART.select(columns)
    assert of(model, "chol", "fbs") == 10.37
    assert CostModel.resolve(HEART, 13, np.array(HEART.names)) is HEART


def test_importing_costs_loads_neither_numba_nor_matplotlib():
    script = (
        "import sys, numpy, thrifty.costs as c; m = c.CostModel([1.0, 2.0], bundles={'b': ([0, 1], 1.0)});"
        "m.of([True, False]); m.marginal([True, False]); c.Ledger(m).buy(0);"
        "print({'numba', 'matplotlib', 'yaml', 'sklearn'} & sys.modules.keys())"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (result.stdout, result.stderr) == ("set()\n", "")


def test_pickles_keep_every_name():
    model = CostModel({"a": 1.0, "a\0": 2.0}, bundles={"b\0": (["a"], 1.0)})
    assert pickle.loads(pickle.dumps(model)) == model
