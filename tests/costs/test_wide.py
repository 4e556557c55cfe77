"""Cost models of very many features: memory and work grow in proportion to the number of features.

A dense matrix of features and units would take 400 MB here.
"""

import pickle
import tracemalloc

import numpy as np
import pytest

from thrifty import CostModel, CostWeightedL1Regressor
from thrifty.costs import Ledger
from thrifty.costs.distinct_names import DistinctNames
from thrifty.exceptions import CostError
from thrifty.models.session import drive

WIDTH = 20_000
NAMES = [f"f{j}" for j in range(WIDTH)]
MASK = np.arange(WIDTH) % 7 == 0
BYTES_PER_FEATURE = 1500


def plain():
    return CostModel(np.ones(WIDTH))


def named():
    return CostModel(dict(zip(NAMES, np.ones(WIDTH), strict=True)))


def bundled():
    bundles = {f"bundle {k}": (NAMES[10 * k : 10 * k + 10], 2.5) for k in range(WIDTH // 10)}
    return CostModel(named().costs, bundles=bundles)


OPERATIONS = {
    "of": lambda model: model.of(MASK),
    "of rows": lambda model: model.of(np.tile(MASK, (20, 1))),
    "marginal": lambda model: model.marginal(MASK),
    "select": lambda model: model.select(range(WIDTH - 1, -1, -1)),
    "resolve": lambda model: CostModel.resolve(model, WIDTH, NAMES[::-1]),
    "derive": lambda model: model.derive([[j] for j in range(WIDTH)], 0.5),
    "pickle": lambda model: pickle.loads(pickle.dumps(model)) == model,
    "hash and repr": lambda model: (hash(model), repr(model)),
    "ledger": lambda model: Ledger(model, range(1000)).prices,
}


def peak_memory(operation):
    """Return the largest memory, in bytes, that an operation holds beyond what was held before."""
    tracemalloc.start()
    try:
        operation()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.fixture(scope="module", params=[plain, named, bundled], ids=lambda make: make.__name__)
def wide(request):
    return request.param()


@pytest.mark.parametrize("make", [plain, named, bundled])
def test_construction_takes_little_memory(make):
    assert peak_memory(make) < WIDTH * BYTES_PER_FEATURE


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_operations_take_little_memory(wide, operation):
    operation(wide)  # compiles kernels
    assert peak_memory(lambda: operation(wide)) < WIDTH * BYTES_PER_FEATURE


@pytest.mark.parametrize("suffix", ["csv", "toml", "yaml"])
def test_price_lists_are_read_and_written(tmp_path, suffix):
    model = named()
    assert CostModel.from_file(model.to_file(tmp_path / f"costs.{suffix}")) == model


def test_costs_are_those_of_a_narrow_model():
    prices = np.arange(WIDTH) % 90 / 10
    bundles = {f"bundle {k}": (range(10 * k, 10 * k + 15, 5), 2.5) for k in range(WIDTH // 10 - 1)}
    model, first = CostModel(prices, bundles=bundles), 37  # of 40 features that share no unit with the others
    columns = range(10 * first, 10 * first + 40)
    narrow = model.select(columns)
    masks = np.random.default_rng(0).random((5, 40)) < 0.3
    wide_masks = np.zeros((5, WIDTH), dtype=bool)
    wide_masks[:, columns] = masks
    assert model.of(wide_masks).tolist() == narrow.of(masks).tolist() == [model.of(mask) for mask in wide_masks]
    np.testing.assert_array_equal(model.marginal(wide_masks)[:, columns], narrow.marginal(masks))
    np.testing.assert_array_equal(Ledger(model, columns).prices[columns], np.zeros(40))


class CountedName(str):
    """A name that counts how often it is compared with another one."""

    __slots__ = ()
    n_comparisons = 0

    def __eq__(self, other):
        CountedName.n_comparisons += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def test_each_name_is_compared_a_few_times_only():
    width = 2000
    names = [CountedName(f"f{j}") for j in range(width)]
    model = CostModel(dict.fromkeys(NAMES[:width], 1.0))
    CountedName.n_comparisons = 0
    CostModel.resolve(model, width, names[::-1]).select(names)
    with pytest.raises(CostError, match="'f1999' twice"):
        model.select([*names, names[-1]])
    assert CountedName.n_comparisons < 20 * width


def test_a_dense_matrix_of_units_is_refused(wide):
    with pytest.raises(CostError, match=r"requirement would have \d+ cells. Read sparse_requirement instead."):
        _ = wide.requirement
    assert wide.sparse_requirement.shape == (WIDTH, len(wide.unit_names))


def test_names_with_many_apostrophes_take_few_steps():
    used = [CountedName("a" + "'" * k) for k in range(1_000)]
    names, CountedName.n_comparisons = DistinctNames(used), 0
    assert {names.add(name) for name in used} == {"a" + "'" * k for k in range(1_000, 2_000)}
    assert CountedName.n_comparisons < 20_000


def test_many_derived_features_of_many_units_are_refused():
    costs = CostModel([1.0], bundles={f"b{k}": ([0], 1.0) for k in range(10_000)})
    with pytest.raises(CostError, match="derived features need 40004000 units; expected at most 33554432"):
        costs.derive([[0]] * 4_000, 0.0)


def test_long_chains_of_required_features_are_refused():
    requires = {j: [j - 1] for j in range(1, 10_000)}
    with pytest.raises(CostError, match="features require more than 10000000 units or features through other"):
        CostModel(np.ones(10_000), requires=requires)
    with pytest.raises(CostError, match="features require more than 10000000 units or features through other"):
        CostModel([1.0, *[None] * 9_999], requires=requires)


def test_one_row_through_a_fitted_model():
    X = np.zeros((20, WIDTH))
    X[:, 5] = np.arange(20)
    model = CostWeightedL1Regressor(costs=named(), cost_weight=1e-6).fit(X, X[:, 5])

    def serve():
        assert model.acquire(X[:1]).spend == [1.0]
        assert drive(model.session(), lambda feature: 3.0).prediction == pytest.approx(3.0, abs=0.01)
        assert len(model.outline().stages.buys) == 1

    serve()
    assert peak_memory(serve) < WIDTH * BYTES_PER_FEATURE
