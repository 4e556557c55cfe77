"""Loaders, on small files with the layout of the real ones, and on the real files if THRIFTY_DATA is set."""

import json
import subprocess
import sys

import numpy as np
import pytest

from thrifty import datasets
from thrifty.datasets.sources import SOURCES
from thrifty.exceptions import DatasetNotFoundError

PRESENT = datasets.list_datasets()
SHAPES = {
    "aslib_asp_potassco": (1294, 138),
    "aslib_sat12_indu": (1167, 115),
    "basehock": (1993, 4862),
    "bupa": (345, 5),
    "covtype": (581012, 54),
    "heart_cleveland": (303, 13),
    "hepatitis": (155, 19),
    "higgs": (7500, 28),
    "ionosphere": (351, 34),
    "isolet": (1560, 617),
    "letter": (20000, 16),
    "mnist": (70000, 784),
    "mq2008": (15211, 46),
    "mslr": (17869, 136),
    "ohsumed": (16140, 25),
    "optdigits": (5620, 64),
    "pcmac": (1943, 3289),
    "pendigits": (10992, 16),
    "pima": (768, 8),
    "satimage": (6435, 36),
    "segmentation": (2310, 19),
    "semeion": (1593, 256),
    "spambase": (4601, 57),
    "thyroid": (7200, 21),
    "usps": (9298, 256),
    "wdbc": (569, 30),
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Set THRIFTY_DATA to a temporary folder; ``store(name, **arrays)`` writes a data set to it."""
    monkeypatch.setenv("THRIFTY_DATA", str(tmp_path))

    def save(name, companion=None, **arrays):
        path = tmp_path / SOURCES[name].file
        path.parent.mkdir(parents=True)
        np.savez(path, **arrays)
        if companion is not None:
            path.with_name(SOURCES[name].companion).write_text(json.dumps(companion))
        return path

    return save


def cost_of(data, *names):
    return data.costs.of(np.isin(data.names, names)[None])[0]


def prices_of(data):
    return data.costs.marginal(np.zeros((1, len(data.names)), dtype=bool))[0]


def save_thyroid(store):
    return store(
        "thyroid",
        X_train=np.zeros((3, 4), dtype=np.float32),
        y_train=np.array([3, 1, 3], dtype=np.int8),
        X_test=np.ones((2, 4), dtype=np.float32),
        y_test=np.array([2, 3], dtype=np.int8),
        feature_names=["age", "TT4", "T4U", "FTI"],
        cost=[1.0, 14.51, 11.41, np.nan],
        cost_discount=[1.0, 12.41, 9.31, np.nan],
        group=["", "A", "A", ""],
        delayed=[False, True, True, True],
    )


class TestReader:
    def test_data_set_without_prices_has_unit_costs(self, store):
        store("ionosphere", X=np.arange(6, dtype=np.float32).reshape(3, 2), y=[1, 0, 1])
        data = datasets.load_ionosphere()
        assert data.X.dtype == np.float64
        np.testing.assert_array_equal(data.X, [[0, 1], [2, 3], [4, 5]])
        assert data.names == ["x0", "x1"]
        assert [data.target_names[label] for label in data.y] == ["good", "bad", "good"]
        np.testing.assert_array_equal(prices_of(data), 1)
        assert "every feature costs 1" in data.description
        assert "test" not in data

    def test_classes_without_names_are_numbered_from_zero(self, store):
        store("satimage", X_train=[[0], [1]], y_train=[7, 2], X_test=[[2]], y_test=[2])
        data = datasets.load_satimage()
        np.testing.assert_array_equal(data.y, [1, 0, 0])
        assert data.target_names == ["2", "7"]

    def test_official_split_is_a_mask(self, store):
        save_thyroid(store)
        data = datasets.load_thyroid()
        np.testing.assert_array_equal(data.test, [False, False, False, True, True])
        np.testing.assert_array_equal(data.X[:, 0], [0, 0, 0, 1, 1])
        np.testing.assert_array_equal(data.y, [2, 0, 2, 1, 2])

    def test_large_sets_stay_float32(self, store):
        store("pcmac", X=np.eye(2, dtype=np.int16), y=[1, 2])
        assert datasets.load_pcmac().X.dtype == np.float32

    def test_load_by_name_equals_the_named_loader(self, store):
        store("semeion", X=[[0, 1]], y=[4])
        by_name, named = datasets.load("semeion"), datasets.load_semeion()
        assert by_name.keys() == named.keys()
        np.testing.assert_array_equal(by_name.X, named.X)

    def test_other_arrays_of_the_file_are_returned(self, store):
        store("ohsumed", X=np.zeros((3, 2)), y=[2, 0, 1], qid=[95, 96, 96], doc_id=[7, 8, 9])
        data = datasets.load_ohsumed()
        np.testing.assert_array_equal(data.doc_id, [7, 8, 9])
        np.testing.assert_array_equal(data.y, [2, 0, 1])
        np.testing.assert_array_equal(data.test, [False, True, True])


class TestPrices:
    def test_turney_groups_are_bundles_and_a_computed_feature_is_free(self, store):
        save_thyroid(store)
        data = datasets.load_thyroid()
        assert cost_of(data, "TT4") == pytest.approx(14.51)
        assert cost_of(data, "TT4", "T4U") == pytest.approx(23.82)
        assert cost_of(data, "TT4", "T4U", "FTI") == pytest.approx(23.82)
        assert cost_of(data, "FTI") == pytest.approx(23.82)
        assert data.costs.total == pytest.approx(24.82)
        assert data.costs.unit == "CAD"
        np.testing.assert_array_equal(data.delayed, [False, True, True, True])
        assert "Turney" in data.description

    def test_ranking_prices_are_synthetic_and_always_the_same(self, store):
        store("ohsumed", X=np.zeros((2, 40)), y=[0, 1], qid=[1, 1])
        first, again = datasets.load_ohsumed(), datasets.load_ohsumed()
        np.testing.assert_array_equal(prices_of(first), prices_of(again))
        assert set(prices_of(first)) <= {1, 5, 20, 50, 100, 150, 200}
        assert len(set(prices_of(first))) > 3
        assert "SYNTHETIC" in first.description

    def test_steps_are_bundles_with_prerequisites(self, store):
        store(
            "aslib_sat12_indu",
            companion={"requires": {"Pre": [], "CG": ["Pre"], "Deep": ["CG"]}},
            X=np.zeros((3, 3), dtype=np.float32),
            feature_names=["n", "graph", "deep"],
            feature_step=[0, 1, 2],
            step_names=["Pre", "CG", "Deep"],
            step_cost=[[1.0, 4.0, 0.5], [3.0, np.nan, 0.5], [2.0, 6.0, 0.5]],
            algo_perf=[[5.0, 9.0], [60.0, 7.0], [60.0, 60.0]],
            algo_ok=[[True, True], [False, True], [False, False]],
            algo_names=["clasp", "glucose"],
            cutoff=60.0,
        )
        data = datasets.load_aslib("SAT12-INDU")
        assert cost_of(data, "n") == 2
        assert cost_of(data, "graph") == 7
        assert cost_of(data, "deep") == 7.5
        assert data.costs.total == 7.5
        assert [data.target_names[label] for label in data.y] == ["clasp", "glucose", "none"]
        assert data.step_cost.shape == (3, 3)
        assert data.costs.unit == "CPU seconds"


class TestRecipes:
    def test_cleveland_is_binary_and_keeps_the_diagnosis(self, store):
        store(
            "heart_cleveland",
            X=np.zeros((3, 3)),
            y=[0, 3, 1],
            feature_names=["chol", "thal", "exang"],
            cost=[7.27, 102.90, 87.30],
            cost_discount=[5.17, 1.0, 1.0],
            group=["A", "B", "C"],
            delayed=[True, True, True],
        )
        data = datasets.load_heart_cleveland()
        np.testing.assert_array_equal(data.y, [0, 1, 1])
        np.testing.assert_array_equal(data.num, [0, 3, 1])
        assert data.costs.total == pytest.approx(197.47)

    @pytest.mark.parametrize(("fold", "validation", "test"), [(1, 4, 5), (2, 5, 1), (3, 1, 2), (5, 3, 4)])
    def test_mq2008_folds_rotate_the_parts(self, store, fold, validation, test):
        split = np.arange(1, 6)
        store("mq2008", X=np.zeros((5, 1)), y=np.zeros(5), feature_names=["f"], qid=np.arange(5), split=split)
        data = datasets.load_mq2008(fold=fold)
        assert split[data.test].tolist() == [test]
        assert split[data.validation].tolist() == [validation]

    def test_mq2008_has_no_sixth_fold(self, store):
        store("mq2008", X=[[0]], y=[0], feature_names=["f"], qid=[1], split=[1])
        with pytest.raises(ValueError, match="fold=6"):
            datasets.load_mq2008(fold=6)

    def test_mslr_masks_follow_from_the_names_of_the_parts(self, store):
        store(
            "mslr",
            X=np.zeros((3, 1)),
            y=[0, 4, 2],
            feature_names=["f"],
            qid=[1, 2, 3],
            part=[2, 0, 1],
            part_names=["a_train", "a_vali", "a_test"],
        )
        data = datasets.load_mslr()
        np.testing.assert_array_equal(data.test, [True, False, False])
        np.testing.assert_array_equal(data.validation, [False, False, True])
        np.testing.assert_array_equal(data.y, [0, 4, 2])

    def test_letter_has_its_last_fifth_as_test_rows(self, store):
        store("letter", X=np.zeros((10, 1)), y=np.arange(10), feature_names=["x-box"])
        data = datasets.load_letter()
        np.testing.assert_array_equal(data.test, [False] * 8 + [True] * 2)
        assert data.target_names[data.y[3]] == "D"

    def test_covtype_rebuilds_its_one_hot_blocks(self, store):
        store(
            "covtype",
            X_cont=np.full((2, 10), 7, dtype=np.int16),
            wilderness=np.array([0, 3], dtype=np.uint8),
            soil=np.array([39, 0], dtype=np.uint8),
            y=np.array([2, 7], dtype=np.int8),
            feature_names=[f"c{j}" for j in range(54)],
        )
        data = datasets.load_covtype()
        assert [np.flatnonzero(row).tolist()[10:] for row in data.X] == [[10, 53], [13, 14]]
        assert [data.target_names[label] for label in data.y] == ["lodgepole pine", "krummholz"]
        binary = datasets.load_covtype(binary=True)
        np.testing.assert_array_equal(binary.y, [1, 0])
        assert binary.target_names == ["other", "lodgepole pine"]


class TestMnist:
    @pytest.fixture
    def pixels(self, store):
        pixels = np.random.default_rng(0).integers(256, size=(4, 784)).astype(np.uint8)
        store("mnist", X_train=pixels[:3], y_train=[3, 5, 8], X_test=pixels[3:], y_test=[3])
        return pixels

    def test_all_digits_at_full_size(self, pixels):
        data = datasets.load_mnist()
        np.testing.assert_allclose(data.X, pixels / 255, rtol=1e-6)
        assert data.X.dtype == np.float32
        np.testing.assert_array_equal(data.test, [False, False, False, True])

    def test_three_against_eight_at_four_resolutions(self, pixels):
        data = datasets.load_mnist(digits=(3, 8), resolutions=(4, 8, 16, 28))
        assert data.X.shape == (3, 1120)
        assert data.costs.total == 1120
        assert [data.target_names[label] for label in data.y] == ["3", "8", "3"]
        np.testing.assert_array_equal(data.test, [False, False, True])
        images = (pixels[[0, 2, 3]] / 255).reshape(3, 4, 7, 4, 7)
        np.testing.assert_allclose(data.X[:, :16], images.mean(axis=(2, 4)).reshape(3, 16), rtol=1e-5)

    def test_smaller_images_keep_the_mean_brightness(self, pixels):
        for size in (1, 5, 16, 27):
            data = datasets.load_mnist(resolutions=(size,))
            np.testing.assert_allclose(data.X.mean(axis=1), pixels.mean(axis=1) / 255, rtol=1e-5)

    @pytest.mark.usefixtures("pixels")
    def test_resolution_above_28_is_refused(self):
        with pytest.raises(ValueError, match=r"resolutions=\(4, 32\)"):
            datasets.load_mnist(resolutions=(4, 32))


class TestNotFound:
    def test_error_for_a_missing_file_names_path_origin_and_layout(self, tmp_path, monkeypatch):
        monkeypatch.setenv("THRIFTY_DATA", str(tmp_path))
        with pytest.raises(DatasetNotFoundError) as error:
            datasets.load_pima()
        message = str(error.value)
        for part in (
            str(tmp_path / "uci_pima/pima.npz"),
            "THRIFTY_DATA",
            "OpenML 'diabetes'",
            "cost_discount",
        ):
            assert part in message
        assert "\n" not in message

    @pytest.mark.parametrize("value", [None, ""])
    def test_error_if_the_folder_is_not_set(self, monkeypatch, value):
        if value is None:
            monkeypatch.delenv("THRIFTY_DATA", raising=False)
        else:
            monkeypatch.setenv("THRIFTY_DATA", value)
        with pytest.raises(DatasetNotFoundError, match=r"mnist/mnist\.npz, but THRIFTY_DATA is not set"):
            datasets.load_mnist()

    def test_missing_array_is_named(self, store):
        path = store("spambase", X=[[1.0]], y=[0])
        with pytest.raises(DatasetNotFoundError, match="lacks feature_names") as error:
            datasets.load_spambase()
        assert str(path) in str(error.value)

    def test_missing_companion_is_named(self, store):
        arrays = dict.fromkeys(SOURCES["aslib_asp_potassco"].arrays, np.zeros(1))
        store("aslib_asp_potassco", **arrays)
        with pytest.raises(DatasetNotFoundError, match=r"steps\.json does not exist"):
            datasets.load_aslib("ASP-POTASSCO")

    def test_error_for_an_unknown_name_lists_the_known_ones(self):
        with pytest.raises(ValueError, match=r"'iris' is unknown\. Pass one of heart, .*wdbc"):
            datasets.load("iris")


class TestSurface:
    def test_list_shows_which_data_sets_are_present(self, store):
        store("semeion", X=[[0]], y=[1])
        listed = datasets.list_datasets()
        assert set(listed) == {"heart", *SOURCES}
        assert {name for name, present in listed.items() if present} == {"heart", "semeion"}

    def test_packaged_data_set_loads_by_name(self):
        assert datasets.load("heart").X.shape == (270, 13)

    def test_every_data_set_has_a_documented_loader(self):
        for name in SOURCES:
            loader = getattr(datasets, "load_aslib" if name.startswith("aslib") else f"load_{name}")
            assert loader.__name__ in datasets.__all__
            assert loader.__doc__

    def test_all_is_sorted_and_exact(self):
        assert datasets.__all__ == sorted(datasets.__all__)
        public = {name for name in vars(datasets) if name.startswith(("load", "make", "list", "skew"))}
        assert public == set(datasets.__all__)

    def test_import_loads_no_heavy_packages(self):
        heavy = "numba", "matplotlib"
        code = f"import sys, thrifty.datasets; print([name for name in {heavy} if name in sys.modules])"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", SHAPES)
def test_real_files(name):
    if not PRESENT[name]:
        pytest.skip(f"{name} is not in the folder named by THRIFTY_DATA")
    data = datasets.load(name)
    assert data.X.shape == SHAPES[name]
    assert len(data.y) == len(data.X)
    assert data.costs.names == tuple(data.names)
    assert data.costs.n_features == data.X.shape[1]
    if "target_names" in data:
        assert data.y.max() < len(data.target_names)


def test_shapes_cover_the_table():
    assert set(SHAPES) == set(SOURCES)
