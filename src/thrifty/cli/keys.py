"""The option --key-file: a key that signs model files, and that files must be signed with."""

from pathlib import Path
from typing import Annotated

import typer

from thrifty.persistence.key_files import read_key

__all__ = ["KeyFile", "read_key"]

KeyFile = Annotated[
    Path | None, typer.Option("--key-file", help="A file with a secret key that signs the model; at least 16 bytes.")
]
