"""Tables as they are handed to an estimator, checked: a frame with distinct columns, or a plain array."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from thrifty.models.tables.columns import column_names, is_frame


def validated_table(estimator: Any, X: Any, reset: bool) -> Any:
    """Return a table as the encoder takes it, and have the estimator learn its columns or compare them."""
    if not is_frame(X):
        return validate_data(estimator, _as_array(X), reset=reset, dtype=None, order="C", ensure_all_finite=False)
    names = list(map(str, column_names(X)))
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{type(estimator).__name__}: X has several columns named {twice!r}. Rename or drop them.")
    if 0 in X.shape:
        raise ValueError(f"{type(estimator).__name__}: X has shape {X.shape}; expected at least one row and column.")
    return validate_data(estimator, X, reset=reset, skip_check_array=True)


def _as_array(X: Any) -> Any:
    """Return nested lists that hold text as an array of objects, where numpy would turn all of it into text."""
    if isinstance(X, list | tuple) and np.asarray(X).dtype.kind in "US":
        return np.array(X, dtype=object)
    return X
