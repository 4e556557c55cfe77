"""From a price list to one patient: read the prices, fit under them, then acquire a single row step by step.

python examples/price_list_to_session.py
"""

from pathlib import Path

from thrifty import Acquire, ASTCClassifier, CostModel
from thrifty.datasets import load_heart

PRICES = CostModel.from_file(Path(__file__).with_name("clinic_prices.csv"))


def main() -> None:
    """Fit on all patients but the last, then examine the last."""
    heart = load_heart()
    X = heart.X[:, [heart.names.index(name) for name in PRICES.names]]
    model = ASTCClassifier(costs=PRICES, max_depth=3, node_budget=[3, 20, 110], overflow="skip")
    model.fit(X[:-1], heart.y[:-1])
    patient = dict(zip(PRICES.names, X[-1], strict=True))
    session = model.session(cap=150)
    while isinstance(step := session.next(), Acquire):
        print(f"acquire {', '.join(step.features)} for {step.cost:.2f} {PRICES.unit}")
        session.observe({feature: patient[feature] for feature in step.features})
    verdict = heart.target_names[step.prediction]
    print(f"{verdict}, after {session.spend:.2f} of {PRICES.total:.2f} {PRICES.unit} ({step.reason})")


if __name__ == "__main__":
    main()
