"""Stop the evaluation of a support vector machine for each row as soon as its answer is decided.

Run: python examples/attentive.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.svm import SVC
from sklearn.utils import shuffle

from thrifty import AttentiveClassifier


def main() -> None:
    """Classify odd and even digits with three boundaries, and without early stopping."""
    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    X, odd = X / 16, y % 2
    machine = SVC(gamma=0.5).fit(X[:600], odd[:600])
    frozen = FrozenEstimator(machine)
    # The boundaries are learned from rows that the machine was not fitted on.
    rows, labels, test = X[600:1200], odd[600:1200], X[1200:]
    full = machine.predict(test)
    for boundary, delta in (("conformal", 0.01), ("curved", 0.01), ("certified", 0.05), ("conformal", 0.0)):
        model = AttentiveClassifier(frozen, boundary=boundary, delta=delta, random_state=0).fit(rows, labels)
        result = model.acquire(test)
        print(
            f"{boundary:9} delta {delta:4.2f}: {result.exit.mean():5.1f} of {len(machine.support_)} support vectors, "
            f"{np.mean(result.prediction != full):4.1%} of the answers differ from the full machine"
        )


if __name__ == "__main__":
    main()
