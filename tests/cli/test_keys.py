"""Model files that are signed with the key in a file."""

import pytest

HEART = ("heart.csv", "--target", "diagnosis", "--costs", "costs.csv", "--budget", 40, "--method", "l1", "--cv", 3)


@pytest.fixture
def signed(thrifty, tables):
    """A folder with the tables, two keys and a model that is signed with the first."""
    for name in ("key", "other"):
        (tables / name).write_bytes(name.encode() * 10)
    assert thrifty("fit", *HEART, "-o", "m.thrifty", "--key-file", "key").code == 0
    return tables


COMMANDS = [("predict", "m.thrifty", "heart.csv"), ("explain", "m.thrifty"), ("frontier", "m.thrifty")]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_files_are_used_with_their_key_only(thrifty, refused, signed, command):
    assert thrifty(*command, "--key-file", "key").code == 0
    assert thrifty(*command).code == 0
    assert "signed with another key, or altered" in refused(*command, "--key-file", "other")


def test_ask_checks_the_key(refused, signed):
    assert "signed with another key, or altered" in refused("ask", "m.thrifty", "--key-file", "other")


def test_a_file_that_is_not_signed(thrifty, refused, signed):
    assert thrifty("fit", *HEART, "-o", "plain.thrifty").code == 0
    said = refused("explain", "plain.thrifty", "--key-file", "key")
    assert "the file is not signed. Fit it with --key-file, or leave out --key-file" in said


LENGTHS = "expected 16 to 4096 random bytes"


@pytest.mark.parametrize(
    ("content", "complaint"), [(None, "no such file"), (b"short", LENGTHS), (b"x" * 9999, LENGTHS)]
)
def test_keys_that_cannot_be_used(refused, tables, content, complaint):
    """A bad key is found before the search."""
    if content is not None:
        (tables / "key").write_bytes(content)
    assert complaint in refused("fit", "missing.csv", "--key-file", "key")
