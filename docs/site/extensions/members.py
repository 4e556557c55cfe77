"""The reference of a class has what the package defines, without what scikit-learn adds to every estimator."""

import inspect
from typing import Any

from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Choose what is documented."""
    app.connect("autodoc-skip-member", is_from_elsewhere)
    return {"parallel_read_safe": True}


def is_from_elsewhere(app: Sphinx, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Tell whether a routine is from another package; None leaves the choice to autodoc."""
    if not inspect.isroutine(member):
        return None
    home = getattr(inspect.unwrap(member), "__module__", None) or ""
    return None if home.startswith("thrifty") else True
