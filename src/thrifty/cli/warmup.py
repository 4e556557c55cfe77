"""``thrifty warmup``: compile every Numba kernel in advance, and store it in the cache that later runs read.

Each public estimator is fitted, predicts and runs a session, on float64 and on float32 rows. Run it once when you
build a container image, so that the first request does not wait for the compiler.
"""

from collections.abc import Iterator
from typing import Any

import typer

N_ROWS, N_FEATURES = 60, 6
MASKS = (20_000, 2)  # the cost of few masks is computed without a kernel
N_WIDE = 3_000  # features; with half as many bundles, another kernel computes the cost of masks


def warmup() -> None:
    """Compile all kernels in advance, so that later commands do not wait for the compiler."""
    from time import perf_counter

    from thrifty.testing import public_estimators

    start = perf_counter()
    estimators = public_estimators()
    for estimator in estimators:
        before = perf_counter()
        for model, X in fitted(estimator):
            use(model, X)
        typer.echo(f"{estimator.__name__:<28} {perf_counter() - before:6.2f} s")
    count_masks()
    evaluate_trees()
    boost_rows()
    evaluate_kernels()
    typer.echo(f"Compiled and cached all kernels of {len(estimators)} estimators in {perf_counter() - start:.1f} s.")


def fitted(estimator: type) -> Iterator[tuple[Any, Any]]:
    """Yield fitted models with their rows, for each kind of target that they support, in float64 and float32."""
    import numpy as np
    from sklearn.base import is_classifier
    from sklearn.utils import get_tags

    from thrifty.models.task_bases import BudgetedRanker

    random = np.random.default_rng(0)
    rows = random.normal(size=(N_ROWS, N_FEATURES))
    signal = rows @ random.normal(size=N_FEATURES)
    targets: list[Any] = [np.digitize(signal, [-1, 1]) if issubclass(estimator, BudgetedRanker) else signal]
    if is_classifier(estimator()):
        targets = [signal > 0, np.digitize(signal, [-1, 1])][: 1 + get_tags(estimator()).classifier_tags.multi_class]
    for X in (rows, rows.astype(np.float32)):
        for y in targets:
            yield estimator().fit(X, y), X


def use(model: Any, X: Any) -> None:
    """Predict a batch, and run the session of one row to its end."""
    from thrifty.models.session import drive

    model.acquire(X, cap=2)
    model.acquire(X, qid=[0] * len(X))  # some rankers have a kernel that compares the rows of a query
    drive(model.session(), X[0].__getitem__)


def count_masks() -> None:
    """Compute the cost of many masks at once."""
    import numpy as np

    from thrifty import CostModel

    CostModel([1.0, 2.0], bundles={"shared": ([0, 1], 1.0)}).of(np.ones(MASKS, dtype=bool))
    pairs = {f"pair {j}": ([j, j + 1], 1.0) for j in range(0, N_WIDE, 2)}
    CostModel(np.ones(N_WIDE), bundles=pairs).of(np.ones((20, N_WIDE), dtype=bool))


def evaluate_trees() -> None:
    """Compute the outputs of a forest."""
    import numpy as np
    from sklearn.tree import DecisionTreeRegressor

    from thrifty import Forest

    X = np.arange(8.0)[:, None]
    forest = Forest.from_model(DecisionTreeRegressor().fit(X, X[:, 0]))
    for rows in (X, X.astype(np.float32)):
        forest.outputs(rows)


def boost_rows() -> None:
    """Fit boosters that charge rows, bin many values, split categories, and look ahead."""
    import numpy as np

    from thrifty import GreedyMiserRegressor

    X = np.column_stack([np.arange(600.0), np.arange(600) % 3])
    for rows in (X, X.astype(np.float32)):
        for options in ({"charge": "row", "categorical_features": [1]}, {"lookahead": True}):
            GreedyMiserRegressor(n_estimators=2, **options).fit(rows, X @ [1.0, 500.0])


def evaluate_kernels() -> None:
    """Fit and use an early-stopping kernel machine."""
    import numpy as np
    from sklearn.svm import SVC

    from thrifty import AttentiveClassifier

    X = np.random.default_rng(0).normal(size=(N_ROWS, N_FEATURES))
    for rows in (X, X.astype(np.float32)):
        use(AttentiveClassifier(SVC()).fit(rows, X[:, 0] > 0), rows)
