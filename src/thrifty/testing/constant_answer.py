"""The check that no cap makes predictions worse than a constant answer: the most frequent class, or the mean."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import compute_sample_weight, get_tags

N_TRAINING, N_HELD_OUT, N_FEATURES = 300, 600, 9
PRICES = (1.0, 2.5, 0.0, 4.0, 0.7, 3.0, 1.3, 5.0, 0.3)
CAPS = (0.0, 0.3, 1.0, 3.2, 6.9, 12.4, None)
STANDARD_ERRORS = 3.0


def check_no_cap_is_worse_than_a_constant(estimator: Any) -> None:
    """Check that predictions of held-out rows under any cap are not worse than the constant answer by more than noise.

    With the losses a_i of the model and b_i of the constant (0 or 1 for a class, the squared error for a number) and
    d_i = b_i - a_i, the check demands mean(d) >= -3 * std(d) / sqrt(n). Classes have unequal shares, and the first one
    is rare; if the estimator weights classes, so do the losses. Rankers are not checked, because only the order of
    their scores counts, nor are models without an intercept, which cannot answer with a constant.
    """
    if not estimator.get_params().get("fit_intercept", True):
        return
    for X, y in imbalanced_problems(estimator):
        model = _with_costs(estimator).fit(X[:N_TRAINING], y[:N_TRAINING])
        refuse_worse_than_constant(model, X[N_TRAINING:], y[N_TRAINING:], y[:N_TRAINING])


def refuse_worse_than_constant(model: Any, X: np.ndarray, y: np.ndarray, y_training: np.ndarray) -> None:
    """Raise AssertionError if predictions of a fitted model are worse, under a cap, than the best constant answer."""
    weight = compute_sample_weight(getattr(model, "class_weight", None), y)
    for cap in CAPS:
        prediction, constant = model.predict(X, cap=cap), _constant(model, y_training)
        if is_classifier(model):
            gain = weight * ((prediction == y).astype(float) - (y == constant))
        else:
            gain = (y - constant) ** 2 - (y - prediction) ** 2
        noise = gain.std(ddof=1) / np.sqrt(len(y))
        assert gain.mean() >= -STANDARD_ERRORS * noise - 1e-9, (
            f"cap {cap}: predictions are worse than the constant {constant!r} by {-gain.mean():.3g} per row, "
            f"with a standard error of {noise:.2g}"
        )


def imbalanced_problems(estimator: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield data sets for the task of an estimator: numbers far from 0, or classes of unequal shares."""
    random = np.random.default_rng(17)
    X = random.normal(size=(N_TRAINING + N_HELD_OUT, N_FEATURES))
    signal = X @ np.linspace(1.0, 0.2, N_FEATURES) + X[:, 0] * X[:, 4] + random.normal(size=len(X))
    tags = get_tags(estimator)
    if tags.target_tags.positive_only:
        return
    if not is_classifier(estimator):
        yield X, signal + 50.0
        return
    yield X, np.where(signal > np.quantile(signal, 0.2), "yes", "no")
    if tags.classifier_tags.multi_class:
        yield X, np.digitize(signal, np.quantile(signal, [0.05, 0.2]))


def _with_costs(estimator: Any) -> Any:
    ready = clone(estimator).set_params(costs=PRICES)
    return ready.set_params(random_state=0) if "random_state" in ready.get_params(deep=False) else ready


def _constant(model: Any, y: np.ndarray) -> Any:
    """Return the answer with the smallest mean loss on training rows."""
    if not is_classifier(model):
        return float(y.mean())
    weight = compute_sample_weight(getattr(model, "class_weight", None), y)
    classes, codes = np.unique(y, return_inverse=True)
    return classes[np.bincount(codes, weight).argmax()].item()
