"""The container of a model file: a zip file without compression.

    manifest.json      describes the model, for people and for `read_manifest`
    model.json         the model: a tree of plain values
    arrays.bin         the bytes of its arrays, one after another
    scikit_learn.skops objects of scikit-learn, only in files that were saved with allow_scikit_learn=True

Without compression, a member cannot be larger than the file, so a file cannot unpack to more than its size.
"""

from __future__ import annotations

import os
import struct
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import NamedTuple
from zipfile import ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from thrifty.exceptions import ModelFileError
from thrifty.persistence.errors import refuse_unless

MEMBERS = {
    "manifest": "manifest.json",
    "model": "model.json",
    "arrays": "arrays.bin",
    "foreign": "scikit_learn.skops",
}
OLD_MODEL = "model.skops"  # of formats 1 and 2
MAX_BYTES = 2**31 - 1
MAX_MEMBERS = 4
DIRECTORY_END = struct.Struct("<4s4H2LH")  # the last record of a zip file; its fifth number counts the members
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
    """The members of a model file."""

    manifest: bytes
    model: bytes
    arrays: bytes
    foreign: bytes = b""

    def digest(self, description: bytes) -> str:
        """Return the SHA-256 of the members; the manifest is represented by its description of the model."""
        hashed = sha256()
        for part in (description, self.model, self.arrays, self.foreign):
            hashed.update(len(part).to_bytes(8, "big") + part)
        return hashed.hexdigest()


def pack(archive: Archive) -> bytes:
    """Return the bytes of a model file."""
    file = BytesIO()
    with ZipFile(file, "w", ZIP_STORED) as members:
        for content, name in zip(archive, MEMBERS.values(), strict=True):
            if content or name != MEMBERS["foreign"]:
                members.writestr(ZipInfo(name, ZIP_EPOCH), content)
    size = file.tell()
    refuse_unless(size <= MAX_BYTES, f"the model takes {size} bytes; a model file holds at most {MAX_BYTES}.")
    return file.getvalue()


def read(path: Path) -> Archive:
    """Return the members of a model file; raise ModelFileError if it is something else."""
    content = _content(path)
    refuse_unless(content, "the file is empty. Save the model again.")
    if not content.startswith(b"PK"):
        kind = next((kind for start, kind in OTHER_FILES.items() if content.startswith(start)), "not a model file")
        raise ModelFileError(f"the file is {kind}. Only files that thrifty.save wrote can be loaded.")
    members = _unpack(content)
    refuse_unless(
        "schema.json" not in members,
        "the file was written by skops, but not by thrifty.save. Load it with skops, and save it with thrifty.save.",
    )
    if set(members) == {MEMBERS["manifest"], OLD_MODEL}:
        return Archive(members[MEMBERS["manifest"]], b"", b"")  # its manifest has the format that is refused
    needed = set(MEMBERS.values()) - {MEMBERS["foreign"]}
    refuse_unless(
        needed <= set(members) <= set(MEMBERS.values()),
        "the file is a zip file, but not a model file. Pass a file that thrifty.save wrote.",
    )
    return Archive(*(members.get(name, b"") for name in MEMBERS.values()))


def _unpack(content: bytes) -> dict[str, bytes]:
    """Return the members of a zip file without compression."""
    try:
        _refuse_large_directory(content)
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


def _refuse_large_directory(content: bytes) -> None:
    """Refuse a zip file with many members, or with a comment, before its directory is read."""
    if len(content) < DIRECTORY_END.size:
        raise BadZipFile("File is not a zip file")
    signature, _, _, _, n_members, _, _, _ = DIRECTORY_END.unpack(content[-DIRECTORY_END.size :])
    if signature != b"PK\x05\x06":
        raise BadZipFile("File is not a zip file")
    refuse_unless(
        n_members <= MAX_MEMBERS, "the file is a zip file, but not a model file. Pass a file that thrifty.save wrote."
    )


def _content(path: Path) -> bytes:
    try:
        status = os.stat(path)
        if not S_ISDIR(status.st_mode):  # reading a folder raises the error of the system
            refuse_unless(S_ISREG(status.st_mode), "it is a device or a pipe, not a file. Pass a file.")
            too_large = f"the file has {status.st_size} bytes; a model file has at most {MAX_BYTES}."
            refuse_unless(status.st_size <= MAX_BYTES, too_large)
        return path.read_bytes()
    except OSError as error:
        raise ModelFileError(
            f"the file cannot be read ({(error.strerror or str(error)).lower()}). Check the path."
        ) from error
