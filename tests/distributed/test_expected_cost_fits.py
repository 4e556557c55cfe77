"""CSTC, CSCC and Cronus on workers: the objective of the fit in memory, however rows are divided."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from distributed import wait
from thrifty import AndOrClassifier, CronusRegressor, CSCCClassifier, CSTCClassifier, CSTCRegressor, load, save
from thrifty.distributed import Partitions
from thrifty.models.expected_cost import structure

COSTS = [1.0, 2.0, 1.0, 1.0, 3.0, 1.0, 1.0, 2.0, 1.0]
MODELS = {
    "CSTC": CSTCRegressor(costs=COSTS, max_depth=2, cost_weight=0.01),
    "CSTC of classes": CSTCClassifier(costs=COSTS, max_depth=2, cost_weight=0.01),
    "CSCC of two classes": CSCCClassifier(costs=COSTS, n_stages=2, cost_weight=0.01, class_weight="balanced"),
    "Cronus": CronusRegressor(costs=COSTS, n_stages=2, cost_weight=0.01),
}
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module")
def targets(table):
    _, y, classes = table
    return {"classes": classes, "two classes": np.where(y > 2, "yes", "no"), "numbers": y}


def kind(name):
    return next((each for each in ("two classes", "classes") if each in name), "numbers")


def same_model(found, wanted, X):
    """Assert that two models have the same objective and buy the same, and that their scores are almost the same."""
    assert found.objective_[-1] == pytest.approx(wanted.objective_[-1], rel=1e-8)
    np.testing.assert_array_equal(found.learned_support_, wanted.learned_support_)
    ours, theirs = found.acquire(X), wanted.acquire(X)
    np.testing.assert_array_equal(ours.acquired, theirs.acquired)
    np.testing.assert_allclose(ours.score, theirs.score, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_the_model_is_the_one_of_the_fit_in_memory(client, table, targets, name, tmp_path):
    X, y = table[0], targets[kind(name)]
    model = clone(MODELS[name]).set_params(max_iter=5)
    parts = da.from_array(X, chunks=((700, 0, 2300), 4))  # skewed, one of them empty, columns in several chunks
    fitted = clone(model).fit(parts, da.from_array(y, chunks=1000))
    same_model(fitted, model.fit(X, y), X)
    assert fitted.training_.n_rows == len(X)
    save(fitted, tmp_path / "model.thrifty")
    np.testing.assert_array_equal(load(tmp_path / "model.thrifty").predict(X[:50]), fitted.predict(X[:50]))


def test_data_frames_with_names_weights_and_a_path(client, table):
    X, y, _ = table
    names = list("abcdefghi")
    frame = pd.DataFrame(X, columns=names).assign(y=y, w=np.arange(len(X)) % 3)
    parts = dd.from_pandas(frame, npartitions=2)
    model = CSTCRegressor(costs=dict(zip(names, COSTS, strict=True)), max_depth=1, max_iter=2, tol=10.0)
    options = {"cost_weights": [0.1, 0.01]}
    fitted = model.path(parts[names], parts["y"], parts["w"], **options)
    for ours, theirs in zip(fitted, model.path(frame[names], frame["y"], frame["w"], **options), strict=True):
        same_model(ours, theirs, frame[names])
        assert ours.feature_names_in_.tolist() == names


def test_the_bytes_of_an_evaluation_do_not_grow_with_the_rows(client, table, monkeypatch):
    """The loss, the gradient and the masses come back: K (d + 5) + 1 numbers for K nodes and d columns."""
    X, y, _ = table
    moved, add_up = {}, Partitions.sum
    for copies in (1, 4):
        many = da.from_array(np.tile(np.column_stack([X, y]), (copies, 1)), chunks=(1500 * copies, 10)).persist()
        wait(many)
        sizes, starts = [], []

        def counting(self, work, *arguments, sizes=sizes, starts=starts):
            if work.__name__ == "passed" and not starts:  # the sample for the initial parameters has been fetched
                starts.append(_bytes_sent(client))
            found = add_up(self, work, *arguments)
            sizes.extend([sum(map(np.size, found))] if work.__name__ == "passed" else [])
            return found

        with monkeypatch.context() as patched:
            patched.setattr(Partitions, "sum", counting)
            CSTCRegressor(costs=COSTS, max_depth=2, max_iter=2, tol=10.0, fine_tune=None).fit(many[:, :9], many[:, 9])
        moved[copies] = (_bytes_sent(client) - starts[0]) / len(sizes)
        assert len(sizes) > 10
        assert max(sizes) <= 3 * (9 + 5) + 1
    assert max(moved.values()) < 4000 < 8 * 1500  # less than one column of a block; a message has a head of about 1 kB
    assert moved[4] < 1.1 * moved[1]


def _bytes_sent(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def test_errors_name_the_partition(client, table):
    X, y, _ = table
    bad = X.copy()
    bad[1500, 3] = np.inf
    with pytest.raises(ValueError, match=r"^CSCCClassifier: partition 1: .*infinity"):
        CSCCClassifier().fit(da.from_array(bad, chunks=(1000, 9)), da.from_array(y > 0, chunks=1000))


def test_what_is_not_fitted_on_workers_says_what_is(client):
    X = da.ones((10, 2), chunks=(5, 2))
    with pytest.raises(TypeError, match=r"AndOrClassifier: X is a Dask collection.*CSCCClassifier"):
        AndOrClassifier().fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"CSTCRegressor: early_stopping or structure needs validation rows"):
        CSTCRegressor(structure="grow").fit(X, X[:, 0])


def test_a_tree_grows_as_in_memory(client, table, monkeypatch):
    monkeypatch.setattr(structure, "MAX_ROWS", 1500)  # so that nodes are added on a sample of the rows
    X, y, _ = table
    validation = X[2500:], y[2500:]
    model = CSTCRegressor(costs=COSTS, structure="grow", max_depth=2, cost_weight=1e-4, max_iter=1)
    parts = da.from_array(X[:2500], chunks=(900, 9)), da.from_array(y[:2500], chunks=900)
    fitted = clone(model).fit(*parts, validation=validation)
    model.fit(X[:2500], y[:2500], validation=validation)
    assert fitted.tree_.n_nodes > 1
    same_model(fitted, model, X)
