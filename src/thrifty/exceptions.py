"""The errors thrifty raises on purpose.

Each message says what is wrong with its name and value, what was expected, and what to do::

    ThriftyError
    ├── CostError(ValueError)            a price, bundle or price list that makes no sense
    ├── SessionError(RuntimeError)       a session was driven out of turn, or told what it never asked for
    ├── ModelFileError(ValueError)       a model that cannot be saved, or a file that is not to be trusted
    ├── DatasetNotFoundError(OSError)    a data set that is not embedded and not in the THRIFTY_DATA folder
    └── MissingExtraError(ImportError)   an optional dependency is not installed
"""


class ThriftyError(Exception):
    """Base of every error below: catch this to catch them all."""


class CostError(ThriftyError, ValueError):
    """A price, bundle or price list that makes no sense."""


class SessionError(ThriftyError, RuntimeError):
    """A session was driven out of turn, or told what it never asked for."""


class ModelFileError(ThriftyError, ValueError):
    """A model that cannot be saved, or a file that is no sound model file and was not loaded."""


class DatasetNotFoundError(ThriftyError, OSError):
    """A data set that is neither embedded nor in the folder named by THRIFTY_DATA."""


class MissingExtraError(ThriftyError, ImportError):
    """An optional dependency is not installed; the message holds the pip command that installs it."""
