"""Check of the models that are given to displays."""

from typing import Any

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
