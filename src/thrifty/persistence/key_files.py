"""A file with a secret key that signs model files."""

from pathlib import Path

from thrifty.exceptions import ModelFileError

MIN_BYTES, MAX_BYTES = 16, 4096


def read_key(path: str | Path | None) -> bytes | None:
    """Return the key in a file, all its bytes; None if no file is given."""
    if path is None:
        return None
    try:
        with Path(path).open("rb") as file:
            key = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise ModelFileError(f"--key-file {path}: {(error.strerror or str(error)).lower()}. Check the path.") from error
    if not MIN_BYTES <= len(key) <= MAX_BYTES:
        raise ModelFileError(f"--key-file {path}: expected {MIN_BYTES} to {MAX_BYTES} random bytes.")
    return key
