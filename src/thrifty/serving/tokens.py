"""Bearer tokens: who may use the service. A token is compared with all tokens, so that the time tells nothing."""

import hashlib
import hmac
from collections.abc import Sequence
from pathlib import Path

MIN_LENGTH = 16
SCHEME = b"bearer "


class Tokens:
    """The tokens of a service; without tokens everyone is let in.

    Parameters
    ----------
    tokens : sequence of str

    Examples
    --------
    >>> tokens = Tokens(["0123456789abcdef"])
    >>> tokens.owner(b"Bearer 0123456789abcdef") == tokens.owner(b"bearer 0123456789abcdef"), tokens.owner(b"Bearer 0")
    (True, None)
    """

    def __init__(self, tokens: Sequence[str] = ()):
        self._owners = {token.encode(): hashlib.sha256(token.encode()).hexdigest() for token in tokens}

    @classmethod
    def read(cls, path: str | None) -> "Tokens":
        """Read tokens from a file, one per line; lines that begin with # are comments."""
        if path is None:
            return cls()
        lines = [line.strip() for line in _text(path).splitlines()]
        tokens = [line for line in lines if line and not line.startswith("#")]
        for number, token in enumerate(tokens, start=1):
            if len(token) < MIN_LENGTH or not token.isascii() or not token.isprintable() or " " in token:
                raise ValueError(
                    f"--token-file {path}: token {number} is not valid; expected at least {MIN_LENGTH} ASCII "
                    "characters without spaces. Make one: python -c 'import secrets; print(secrets.token_urlsafe())'"
                )
        if not tokens:
            raise ValueError(f"--token-file {path}: the file has no token. Write one per line.")
        return cls(tokens)

    def __bool__(self) -> bool:
        return bool(self._owners)

    def owner(self, authorization: bytes) -> str | None:
        """Return the owner of the token in an Authorization header; None if it is not one of the tokens."""
        given = authorization[len(SCHEME) :].strip() if authorization[: len(SCHEME)].lower() == SCHEME else b""
        found = None
        for token, owner in self._owners.items():
            if hmac.compare_digest(token, given):
                found = owner
        return found


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(f"--token-file {path}: the file cannot be read ({reason}). Check the path.") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"--token-file {path}: the file is not text in UTF-8. Write one token per line.") from error
