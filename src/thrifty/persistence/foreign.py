"""Objects of scikit-learn in a model file, for people who trust the author of the file as they would with a pickle."""

from typing import Any

from thrifty.exceptions import MissingExtraError
from thrifty.persistence.errors import explained

TRUST = "scikit-learn"


def written(objects: list[Any]) -> bytes:
    """Return objects as skops writes them; nothing if there are none."""
    if not objects:
        return b""
    with explained("the model contains something that cannot be saved"):
        return _skops().dumps(objects)


def read(content: bytes) -> list[Any]:
    """Return the objects that skops has written. This imports and creates whatever the content says."""
    skops = _skops()
    with explained("the objects of scikit-learn cannot be read"):
        return skops.loads(content, trusted=skops.get_untrusted_types(data=content))


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingExtraError(
            "Model files with objects of scikit-learn need skops. Install it with: pip install 'thrifty[skops]'"
        ) from error
    return skops.io
