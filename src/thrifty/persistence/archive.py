"""The container of a model file: a zip file with two members, without compression.

    manifest.json   describes the model, for people and for `read_manifest`
    model.skops     the model, which is such a zip file too

Without compression, a member cannot be larger than the file, so a file cannot unpack to more than its size.
"""

from io import BytesIO
from pathlib import Path
from typing import NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from thrifty.exceptions import ModelFileError
from thrifty.persistence.errors import refuse_unless

MANIFEST, MODEL = "manifest.json", "model.skops"
ZIP_EPOCH = (1980, 1, 1, 0, 0, 0)  # a fixed time, so that the same members give the same file
ENCRYPTED = 1
COMPRESSED = "compressed, possibly a pickle of joblib, which can run arbitrary code"
OTHER_FILES = {
    b"\x80": "a pickle, which can run arbitrary code",
    b"x": COMPRESSED,
    b"\x1f\x8b": COMPRESSED,
    b"BZh": COMPRESSED,
    b"\xfd7zXZ": COMPRESSED,
    b"\x04\x22\x4d\x18": COMPRESSED,
}  # by the first bytes


class Archive(NamedTuple):
    """The two members of a model file."""

    manifest: bytes
    model: bytes


def pack(archive: Archive) -> bytes:
    """Return the bytes of a model file."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as members:
        members.writestr(ZipInfo(MANIFEST, ZIP_EPOCH), archive.manifest)
        members.writestr(ZipInfo(MODEL, ZIP_EPOCH), archive.model)
    return file.getvalue()


def read(path: Path) -> Archive:
    """Return the members of a model file; raise ModelFileError if it is something else."""
    content = _content(path)
    refuse_unless(content, "the file is empty. Save the model again.")
    if not content.startswith(b"PK"):
        kind = next((kind for start, kind in OTHER_FILES.items() if content.startswith(start)), "not a model file")
        raise ModelFileError(f"the file is {kind}. Only files that thrifty.save wrote can be loaded.")
    members = unpack(content)
    if "schema.json" in members:
        raise ModelFileError(
            "the file was written by skops, but not by thrifty.save. Load it with skops, and save it with thrifty.save."
        )
    refuse_unless(
        set(members) == {MANIFEST, MODEL},
        "the file is a zip file, but not a model file. Pass a file that thrifty.save wrote.",
    )
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
                "the file claims to contain more than it can. It was altered on purpose: do not use it.",
            )
            return {info.filename: file.read(info) for info in infos}
    except ModelFileError:
        raise
    except Exception as error:  # zipfile can raise anything on a damaged file
        reason = str(error) if isinstance(error, BadZipFile) else type(error).__name__
        raise ModelFileError(f"the file is truncated or damaged ({reason}). Copy or save it again.") from error


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"the file cannot be read ({(error.strerror or str(error)).lower()}). Check the path."
        ) from error
