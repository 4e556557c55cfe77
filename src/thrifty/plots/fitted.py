"""What displays read of the models that are given to them."""

from typing import Any, NamedTuple

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


class FittedTree(NamedTuple):
    """A fitted tree, what its nodes buy, and the model that rows are given to.

    Attributes
    ----------
    model : estimator
        The tree estimator itself, or the `TableModel` around it.
    tree : LinearTree
    purchases : ndarray of bool, shape (n_nodes, n_features)
        The columns of `model` that each node buys.
    """

    model: Any
    tree: Any
    purchases: NDArray[np.bool_]


def tree_of(estimator: Any) -> FittedTree:
    """Return the tree of an estimator, of a `TableModel` around one, or of what a search has chosen."""
    check_fitted(estimator)
    model = getattr(estimator, "best_estimator_", estimator)
    inner = getattr(model, "estimator_", model)
    if not hasattr(inner, "tree_"):
        raise ValueError(
            f"the model is a {type(inner).__name__}, which is not a tree of linear nodes, so it has no plot of a tree. "
            "Print its outline() instead."
        )
    purchases = inner.node_purchases()
    if model is not inner:
        purchases = _new_in_path(model.encoder_.raw_mask(purchases), inner.tree_.parent)
    return FittedTree(model, inner.tree_, purchases)


def _new_in_path(bought: NDArray[np.bool_], parent: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Keep the columns that no ancestor has bought: levels of one category may be bought at several nodes."""
    held = bought.copy()
    for k in range(1, len(parent)):  # children have larger numbers than their parents
        held[k] |= held[parent[k]]
    new = bought.copy()
    new[1:] &= ~held[parent[1:]]
    return new


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
