"""Signatures: with a key that two people share, one can check that a file comes from the other."""

import hmac
from typing import Any

from thrifty.persistence.errors import refuse_unless

MIN_BYTES = 16
PURPOSE = b"thrifty model file 3:"


def checked_key(key: Any) -> bytes:
    """Return a key; raise ModelFileError if it is not bytes, or short."""
    given = f"{len(key)} bytes" if isinstance(key, bytes) else f"of type {type(key).__name__}"
    refuse_unless(
        isinstance(key, bytes) and len(key) >= MIN_BYTES,
        f"key is {given}; expected at least {MIN_BYTES} random bytes, such as secrets.token_bytes(32).",
    )
    return key


def signature_of(digest: str, key: bytes) -> str:
    """Return the HMAC-SHA-256 of the hash of a file."""
    return hmac.new(checked_key(key), PURPOSE + digest.encode(), "sha256").hexdigest()


def refuse_unsigned(signature: str | None, digest: str, key: bytes) -> None:
    """Raise ModelFileError unless a file was signed with this key."""
    expected = signature_of(digest, key)
    refuse_unless(
        signature is not None,
        "the file is not signed. Save it with save(..., key=key), or load it without a key if you trust it.",
    )
    same = hmac.compare_digest(expected.encode(), str(signature).encode())
    refuse_unless(same, "the file was signed with another key, or altered. Do not use it unless you know its origin.")
