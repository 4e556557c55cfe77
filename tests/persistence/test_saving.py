"""Models that cannot be saved are refused; after any error the old file is there, or the new one is complete."""

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty import ASTCClassifier, AttentiveClassifier, CSCCClassifier, CSTCClassifier
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, save
from thrifty.replacing import replacing


def refused(model, path, complaint):
    with pytest.raises(ModelFileError, match=complaint) as caught:
        save(model, path)
    assert "\n" not in str(caught.value)
    assert not path.exists()


def write(path, content, prepare, interrupt=False):
    with replacing(path) as unfinished:
        prepare(unfinished)
        unfinished.write_bytes(content)
        if interrupt:
            raise KeyboardInterrupt


def test_an_unfitted_model(tmp_path):
    refused(ASTCClassifier(), tmp_path / "m", "ASTCClassifier: .*not fitted. Call fit first")


@pytest.mark.parametrize("thing", [None, 3, "model", {"a": 1}, ASTCClassifier])
def test_something_that_is_not_a_model(tmp_path, thing):
    refused(thing, tmp_path / "m", "expected a fitted estimator of thrifty")


def test_a_booster_of_another_library(tmp_path, heart):
    lightgbm = pytest.importorskip("lightgbm")
    booster = lightgbm.LGBMClassifier(n_estimators=3, verbose=-1)
    model = AttentiveClassifier(booster, costs=heart.costs).fit(heart.X, heart.y)
    refused(model, tmp_path / "m", r"estimator is LGBM.*which a model file cannot hold. Pass the model fitted")
    fitted = AttentiveClassifier(model.estimator_, costs=heart.costs).fit(heart.X, heart.y)
    twin = load(save(fitted, tmp_path / "m"))
    np.testing.assert_array_equal(twin.acquire(heart.X).score, fitted.acquire(heart.X).score)


def test_a_class_of_the_user(tmp_path, heart):
    class Mine(ASTCClassifier):
        pass

    model = Mine(costs=heart.costs).fit(heart.X, heart.y)
    refused(model, tmp_path / "m", "Mine: the model is a Mine, which is not a class of thrifty")


def test_a_function(tmp_path, heart):
    def scoring(model, X, y):
        return model.score(X, y)

    model = CSTCClassifier(costs=heart.costs, max_depth=1, early_stopping=True, scoring=scoring).fit(heart.X, heart.y)
    refused(model, tmp_path / "m", "scoring is <function .* of type function, which a model file cannot hold")


def test_keys_that_json_does_not_have(tmp_path, heart):
    model = CSCCClassifier(n_stages=1, class_weight={False: 1.0, True: 2.0}).fit(heart.X, heart.y > 0)
    assert load(save(model, tmp_path / "m")).class_weight == {False: 1.0, True: 2.0}


def test_an_attribute_that_the_class_does_not_declare(tmp_path, heart):
    model = ASTCClassifier(costs=heart.costs, max_depth=1).fit(heart.X, heart.y)
    model.note_ = "mine"
    refused(model, tmp_path / "m", "the model has 'note_', which ASTCClassifier does not declare as stored")


def test_a_missing_folder(tmp_path, models):
    refused(models["tree"], tmp_path / "missing" / "m", "cannot be written .no such file or directory")


def test_a_folder_in_place_of_the_file(tmp_path, models):
    with pytest.raises(ModelFileError, match="is a directory"):
        save(models["tree"], tmp_path)
    assert not any(tmp_path.iterdir())
    assert not [*tmp_path.parent.glob(".*.unfinished")]


@pytest.mark.skipif(os.name == "nt", reason="a permission of POSIX")
def test_a_folder_that_is_read_only(tmp_path, models):
    tmp_path.chmod(0o500)
    try:
        if os.access(tmp_path, os.W_OK):
            pytest.skip("the superuser may write anywhere")
        refused(models["tree"], tmp_path / "m", "cannot be written .permission denied")
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.skipif(sys.platform != "linux", reason="/dev/full is of Linux")
def test_a_full_disk(tmp_path):
    path = tmp_path / "m"
    path.write_bytes(b"old")

    def lead_to_a_full_disk(unfinished):
        unfinished.unlink()
        unfinished.symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left"):
        write(path, b"new" * 10_000, lead_to_a_full_disk)
    assert [each.name for each in tmp_path.iterdir()] == ["m"]
    assert path.read_bytes() == b"old"


def test_ctrl_c_while_the_model_is_serialised(path, models, heart):
    class Interrupting:
        def __array__(self, *_, **__):
            raise KeyboardInterrupt

    before = path.read_bytes()
    model = ASTCClassifier(costs=heart.costs, max_depth=1).fit(heart.X, heart.y)
    model.classes_ = Interrupting()
    with pytest.raises(KeyboardInterrupt):
        save(model, path)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_ctrl_c_while_the_file_is_written(path):
    before = path.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write(path, b"half a", lambda unfinished: None, interrupt=True)
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_a_symbolic_link_is_kept(tmp_path, models):
    link = tmp_path / "latest.thrifty"
    link.symlink_to(tmp_path / "first.thrifty")
    assert save(models["tree"], link) == link
    assert link.is_symlink()
    assert type(load(tmp_path / "first.thrifty")) is ASTCClassifier


def test_an_old_file_is_replaced_and_paths_may_be_text(path, models):
    save(models["forest"], str(path))
    assert type(load(str(path))) is type(models["forest"])


@pytest.mark.skipif(os.name == "nt", reason="a permission of POSIX")
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444])
def test_a_file_that_is_saved_again_keeps_its_permissions(path, models, mode):
    path.chmod(mode)
    save(models["forest"], path)
    assert path.stat().st_mode & 0o777 == mode
    assert type(load(path)) is type(models["forest"])


@pytest.mark.skipif(os.name == "nt", reason="devices of POSIX")
def test_a_device_or_a_pipe(tmp_path, models):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path(os.devnull)):
        with pytest.raises(ModelFileError, match=r"cannot be written .it is a device or a pipe, not a file"):
            save(models["tree"], path)
        with pytest.raises(ModelFileError, match="it is a device or a pipe, not a file"):
            load(path)
    assert not [*tmp_path.glob(".*.unfinished")]


def test_the_file_has_the_usual_permissions(tmp_path, models):
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    assert save(models["tree"], tmp_path / "m").stat().st_mode == plain.stat().st_mode
