"""Look only as far as it takes: a support vector machine that stops comparing once the outcome is evident.

python examples/attentive.py
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.svm import SVC

from thrifty import AttentiveClassifier


def main() -> None:
    """Tell odd digits from even ones, with and without a certificate, and without stopping."""
    X, y = load_digits(return_X_y=True)
    X, odd = X / 16, y % 2
    machine = SVC(gamma=0.5).fit(X[:600], odd[:600])
    rows, labels, test = X[600:1200], odd[600:1200], X[1200:]  # new to the machine, as a certificate demands
    full = machine.predict(test)
    for boundary, delta in (("curved", 0.01), ("certified", 0.05), ("curved", 0.0)):
        model = AttentiveClassifier(machine, boundary=boundary, delta=delta, random_state=0).fit(rows, labels)
        found = model.acquire(test)
        print(
            f"{boundary:9} delta {delta:4.2f}: {found.exit.mean():5.1f} of {len(machine.support_)} support vectors, "
            f"{np.mean(found.prediction != full):4.1%} answered unlike the full machine"
        )


if __name__ == "__main__":
    main()
