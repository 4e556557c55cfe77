"""Exceptions of thrifty.

Each message says what is wrong (name and value), what was expected, and what to do::

    ThriftyError
    ├── CostError(ValueError)            a price, a bundle or a file of prices is not valid
    ├── SessionError(RuntimeError)       a session received a call or a value that it did not ask for
    ├── SourceError(RuntimeError)        a source of features is not declared well, or failed
    ├── ServiceError(RuntimeError)       a service cannot be reached, or refused a request
    ├── ModelFileError(ValueError)       a model cannot be saved, or a model file is not valid or not trusted
    ├── DatasetNotFoundError(OSError)    a data set is not part of the package and not in the folder THRIFTY_DATA
    └── MissingExtraError(ImportError)   an optional dependency is not installed
"""


class ThriftyError(Exception):
    """Base class of all exceptions of thrifty."""


class CostError(ThriftyError, ValueError):
    """A price, a bundle or a file of prices is not valid."""


class SessionError(ThriftyError, RuntimeError):
    """A session received a call or a value that it did not ask for."""


class SourceError(ThriftyError, RuntimeError):
    """A source of features is not declared well, does not fit the model, or failed."""


class ServiceError(ThriftyError, RuntimeError):
    """A service cannot be reached, or refused a request; `status` is the status of its reply, if there is one."""

    def __init__(self, message: str, status: int | None = None):
        super().__init__(message)
        self.status = status


class ModelFileError(ThriftyError, ValueError):
    """A model cannot be saved, or a model file is not valid or not trusted and was not loaded."""


class DatasetNotFoundError(ThriftyError, OSError):
    """A data set is not part of the package and not in the folder that THRIFTY_DATA names."""


class MissingExtraError(ThriftyError, ImportError):
    """An optional dependency is not installed; the message contains the pip command that installs it."""
