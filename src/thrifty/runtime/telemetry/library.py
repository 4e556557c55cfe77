"""Import of an optional library, with the command that installs it."""

from importlib import import_module
from typing import Any

from thrifty.exceptions import MissingExtraError


def telemetry_library(name: str, owner: str) -> Any:
    """Import a module of the extra "telemetry".

    Parameters
    ----------
    name : str
        The name of the module.
    owner : str
        The class that needs it, for the message.

    Returns
    -------
    module
    """
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise MissingExtraError(f"{owner} needs {package}. Run: pip install 'thrifty[telemetry]'") from error
