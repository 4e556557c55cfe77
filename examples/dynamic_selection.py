"""A policy that asks patient by patient: which test next, and when enough is known.

python examples/dynamic_selection.py
"""

import numpy as np

from thrifty import Acquire, DynamicSelectionClassifier, StaticSelectionClassifier
from thrifty.datasets import load_heart


def main() -> None:
    """Compare with one queue of tests for everybody, then follow two patients."""
    heart = load_heart()
    held_out = np.arange(len(heart.y)) % 3 == 0
    X, y, X_test, y_test = heart.X[~held_out], heart.y[~held_out], heart.X[held_out], heart.y[held_out]
    policy = DynamicSelectionClassifier(costs=heart.costs, cost_weight=0.3, n_iterations=6, random_state=0).fit(X, y)
    spend = policy.spend(X_test).mean()
    queue = StaticSelectionClassifier(costs=heart.costs, budget=spend, random_state=0).fit(X, y)
    for name, model in (("policy", policy), ("queue", queue)):
        print(
            f"{name}: {model.score(X_test, y_test):.0%} right for {model.spend(X_test).mean():.2f} {heart.costs.unit}"
        )
    for patient in X_test[:2]:
        follow(policy, dict(zip(heart.names, patient, strict=True)), heart.target_names)


def follow(policy: DynamicSelectionClassifier, patient: dict[str, float], target_names: list[str]) -> None:
    """Print what the policy asks for, and its answer."""
    session = policy.session()
    while isinstance(step := session.next(), Acquire):
        print(f"  {', '.join(step.features)}: {step.cost:.2f}")
        session.observe({feature: patient[feature] for feature in step.features})
    print(f"{target_names[step.prediction]} after {session.spend:.2f}")


if __name__ == "__main__":
    main()
