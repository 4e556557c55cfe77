"""Fit a policy that decides for each patient which test to acquire next and when to stop.

Run: python examples/dynamic_selection.py
"""

import numpy as np

from thrifty import Acquire, DynamicSelectionClassifier, StaticSelectionClassifier
from thrifty.datasets import load_heart


def main() -> None:
    """Compare the policy with a fixed order of tests for all patients, then print the acquisitions of two patients."""
    heart = load_heart()
    held_out = np.arange(len(heart.y)) % 3 == 0
    X, y, X_test, y_test = heart.X[~held_out], heart.y[~held_out], heart.X[held_out], heart.y[held_out]
    policy = DynamicSelectionClassifier(costs=heart.costs, cost_weight=0.3, n_iterations=6, random_state=0).fit(X, y)
    spend = policy.spend(X_test).mean()
    static = StaticSelectionClassifier(costs=heart.costs, budget=spend, random_state=0).fit(X, y)
    for name, model in (("policy", policy), ("fixed order", static)):
        print(
            f"{name}: accuracy {model.score(X_test, y_test):.0%}, "
            f"mean spend {model.spend(X_test).mean():.2f} {heart.costs.unit}"
        )
    for patient in X_test[:2]:
        print_session(policy, dict(zip(heart.names, patient, strict=True)), heart.target_names)


def print_session(policy: DynamicSelectionClassifier, patient: dict[str, float], target_names: list[str]) -> None:
    """Print each acquisition with its cost, and the prediction."""
    session = policy.session()
    while isinstance(step := session.next(), Acquire):
        print(f"  acquire {', '.join(step.features)} for {step.cost:.2f}")
        session.observe({feature: patient[feature] for feature in step.features})
    print(f"predict {target_names[step.prediction]} after a spend of {session.spend:.2f}")


if __name__ == "__main__":
    main()
