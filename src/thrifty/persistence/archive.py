"""The container: a zip file of two members, neither of them compressed.

    manifest.json   what the model is, for people and for `read_manifest`
    model.skops     the model itself, itself such a zip file

Without compression a member cannot be longer than the file, so nothing unpacks to more than was sent.
"""

from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from thrifty.exceptions import ModelFileError
from thrifty.persistence.errors import refuse_unless

MANIFEST, MODEL = "manifest.json", "model.skops"
NEVER = (1980, 1, 1, 0, 0, 0)  # what a zip file that tells no time has for one
ENCRYPTED = 1
FOREIGN = {
    b"\x80": "a pickle, which can run anything",
    b"x": "compressed, such as joblib's pickles are, which can run anything",
    b"\x1f\x8b": "compressed, such as joblib's pickles are, which can run anything",
    b"BZh": "compressed, such as joblib's pickles are, which can run anything",
    b"\xfd7zXZ": "compressed, such as joblib's pickles are, which can run anything",
    b"\x04\x22\x4d\x18": "compressed, such as joblib's pickles are, which can run anything",
}


class Archive(NamedTuple):
    """The two members."""

    manifest: bytes
    model: bytes


def pack(archive: Archive) -> bytes:
    """Return the bytes of a model file."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as members:
        members.writestr(ZipInfo(MANIFEST, NEVER), archive.manifest)
        members.writestr(ZipInfo(MODEL, NEVER), archive.model)
    return file.getvalue()


def read(path: Path) -> Archive:
    """Return the members of a model file, or say what else the file is."""
    content = _content(path)
    refuse_unless(content, "the file is empty. Save the model again.")
    if not content.startswith(b"PK"):
        kind = next((kind for start, kind in FOREIGN.items() if content.startswith(start)), "no model file")
        raise ModelFileError(f"the file is {kind}. Only files that thrifty.save wrote can be loaded.")
    members = unpack(content)
    if "schema.json" in members:
        raise ModelFileError("the file was written by skops, but not by thrifty.save. Load the model, and save it.")
    refuse_unless(set(members) == {MANIFEST, MODEL}, "the file is a zip file, but no model file. Pass another.")
    return Archive(members[MANIFEST], members[MODEL])


def unpack(content: bytes) -> dict[str, bytes]:
    """Return the members of a zip file without compression."""
    try:
        with ZipFile(BytesIO(content)) as file:
            infos = file.infolist()
            stored = all(info.compress_type == ZIP_STORED and not info.flag_bits & ENCRYPTED for info in infos)
            refuse_unless(
                stored, "the file is compressed or encrypted. Only files that thrifty.save wrote can be loaded."
            )
            refuse_unless(
                sum(max(info.file_size, info.compress_size) for info in infos) <= len(content)
                and len({info.filename for info in infos}) == len(infos),
                "the file claims to hold more than it can. It was altered on purpose: do not use it.",
            )
            return {info.filename: file.read(info) for info in infos}
    except ModelFileError:
        raise
    except Exception as error:  # zipfile raises whatever it stumbles over
        reason = str(error) if isinstance(error, BadZipFile) else type(error).__name__
        raise ModelFileError(f"the file is cut short or damaged ({reason}). Copy or save it again.") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"the file cannot be read ({(error.strerror or str(error)).lower()}). Check the path."
        ) from error
