"""Files that are signed with a key."""

import secrets

import pytest

from persistence.opened import open_model, sealed
from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, load_with_manifest, read_manifest, save
from thrifty.persistence.archive import read

KEY, OTHER = b"k" * 32, b"o" * 32


@pytest.fixture
def signed(models, tmp_path):
    return save(models["tree"], tmp_path / "m", key=KEY)


def test_a_signed_file_loads_with_its_key(signed, models):
    assert type(load(signed, key=KEY)) is type(models["tree"])
    assert read_manifest(signed, key=KEY) == load_with_manifest(signed, key=KEY)[1]


def test_a_signed_file_loads_without_a_key(signed, models):
    assert type(load(signed)) is type(models["tree"])


@pytest.mark.parametrize("reading", [load, read_manifest])
def test_another_key_is_refused(signed, reading):
    with pytest.raises(ModelFileError, match="signed with another key, or altered"):
        reading(signed, key=OTHER)


@pytest.mark.parametrize("reading", [load, read_manifest])
def test_a_file_without_a_signature_is_refused_with_a_key(path, reading):
    with pytest.raises(ModelFileError, match="the file is not signed"):
        reading(path, key=KEY)


def test_an_altered_file_is_refused_although_its_hash_is_correct(signed):
    _, manifest = open_model(signed)
    archive = read(signed)
    signed.write_bytes(sealed(archive._replace(model=archive.model + b" "), manifest))
    load(signed)
    with pytest.raises(ModelFileError, match="signed with another key, or altered"):
        load(signed, key=KEY)


def test_the_signature_of_another_file_is_refused(signed, models, tmp_path):
    other = save(models["forest"], tmp_path / "other", key=KEY)
    manifest = read_manifest(other)
    archive = read(signed)
    mixed = sealed(archive, read_manifest(signed))
    signed.write_bytes(mixed.replace(read_manifest(signed).signature.encode(), manifest.signature.encode()))
    with pytest.raises(ModelFileError):
        load(signed, key=KEY)


@pytest.mark.parametrize("key", [b"", b"short", "text" * 8, 3])
def test_weak_keys_are_refused(path, models, key):
    for use in (lambda: save(models["tree"], path, key=key), lambda: load(path, key=key)):
        with pytest.raises(ModelFileError, match=r"key is .*expected at least 16 random bytes"):
            use()


def test_a_random_key(models, tmp_path):
    key = secrets.token_bytes(32)
    assert read_manifest(save(models["tree"], tmp_path / "m", key=key), key=key).signature
