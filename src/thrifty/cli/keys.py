"""The option --key-file: a key that signs model files, and that files must be signed with."""

from pathlib import Path
from typing import Annotated

import typer

KeyFile = Annotated[
    Path | None, typer.Option("--key-file", help="A file with a secret key that signs the model; at least 16 bytes.")
]


def read_key(path: Path | None) -> bytes | None:
    """Return the key in a file, all its bytes; None if no file is given."""
    if path is None:
        return None
    from thrifty.persistence import key_files

    return key_files.read_key(path)
