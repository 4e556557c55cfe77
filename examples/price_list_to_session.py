"""Read a price list, fit a tree with these prices, and acquire the features of one patient step by step.

Run: python examples/price_list_to_session.py
"""

from pathlib import Path

from thrifty import Acquire, ASTCClassifier, CostModel
from thrifty.datasets import load_heart

PRICES = CostModel.from_file(Path(__file__).with_name("clinic_prices.csv"))


def main() -> None:
    """Fit on all patients except the last one, then run a session for the last one."""
    heart = load_heart()
    X = heart.X[:, [heart.names.index(name) for name in PRICES.names]]
    model = ASTCClassifier(costs=PRICES, max_depth=3, node_budget=[3, 20, 110], overflow="skip")
    model.fit(X[:-1], heart.y[:-1])
    patient = dict(zip(PRICES.names, X[-1], strict=True))
    session = model.session(cap=150)
    while isinstance(step := session.next(), Acquire):
        print(f"acquire {', '.join(step.features)} for {step.cost:.2f} {PRICES.unit}")
        session.observe({feature: patient[feature] for feature in step.features})
    name, unit = heart.target_names[step.prediction], PRICES.unit
    print(f"predict {name} after a spend of {session.spend:.2f} of {PRICES.total:.2f} {unit} ({step.reason})")


if __name__ == "__main__":
    main()
