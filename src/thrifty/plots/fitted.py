"""What displays read of the models that are given to them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted


def check_fitted(model: Any) -> None:
    """Raise NotFittedError if the model is an estimator and is not fitted.

    Objects without a ``fit`` method are accepted, because displays only read fitted attributes.

    Parameters
    ----------
    model : object
        Estimator, or object with the fitted attributes of one.

    Examples
    --------
    >>> from thrifty import ASTCClassifier
    >>> from thrifty.plots.fitted import check_fitted
    >>> check_fitted(ASTCClassifier())
    Traceback (most recent call last):
    ...
    sklearn.exceptions.NotFittedError: This ASTCClassifier instance is not fitted yet. Call 'fit' with ...
    """
    if hasattr(model, "fit"):
        check_is_fitted(model)


def supports_of(estimator: Any, learned: bool) -> NDArray[np.bool_]:
    """Return the columns (n_nodes, d) that each node of a fitted tree weighs.

    Parameters
    ----------
    estimator : fitted tree estimator
        Object with ``tree_`` and ``node_supports``.
    learned : bool
        Whether to return the columns as learned, before fine-tuning. Only trees of the family of CSTC know them.
    """
    check_fitted(estimator)
    if not learned:
        return estimator.node_supports()
    if not hasattr(estimator, "learned_support_"):
        raise ValueError(
            f"learned is True, but {type(estimator).__name__} has no fine-tuning: its nodes weigh what they learned. "
            "Leave learned at False."
        )
    return estimator.node_supports(learned=True)


def purchases_of(estimator: Any, learned: bool) -> NDArray[np.bool_]:
    """Return the columns (n_nodes, d) that a row acquires on arriving at each node of a fitted tree.

    Parameters
    ----------
    estimator : fitted tree estimator
        Object with ``tree_``, ``node_purchases`` and ``node_supports``.
    learned : bool
        Whether nodes buy what they weigh as learned, before fine-tuning.
    """
    check_fitted(estimator)
    if not learned:
        return estimator.node_purchases()
    supports, parent = supports_of(estimator, learned), estimator.tree_.parent
    held = supports.copy()
    for k in range(1, len(parent)):
        held[k] |= held[parent[k]]
    bought = held.copy()
    bought[1:] &= ~held[parent[1:]]
    return bought
