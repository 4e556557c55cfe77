"""From a price list to one patient: fit under costs with bundles, then acquire a single row step by step.

python examples/price_list_to_session.py
"""

from thrifty import Acquire, ASTCClassifier, CostModel
from thrifty.datasets import load_heart

PRICES = CostModel(
    {"age": 1, "sex": 1, "cp": 1, "trestbps": 1, "chol": 5.17, "fbs": 3.10, "restecg": 15.50, "ca": 100.90}
    | {"thalach": 1, "exang": 1, "oldpeak": 1, "slope": 1, "thal": 1},
    bundles={
        "blood draw": (["chol", "fbs"], 2.10),
        "exercise test": (["exang", "oldpeak", "slope"], 86.30),
        "thallium test": (["thalach", "thal"], 101.90),
    },
    unit="CAD",
)


def main() -> None:
    """Fit on all patients but the last, then examine the last."""
    heart = load_heart(as_frame=True)
    model = ASTCClassifier(costs=PRICES, max_depth=3, node_budget=[4, 90, 110]).fit(heart.X[:-1], heart.y[:-1])
    patient = heart.X.iloc[-1]
    session = model.session(cap=250)
    while isinstance(step := session.next(), Acquire):
        print(f"acquire {', '.join(step.features)} for {step.cost:.2f} {PRICES.unit}")
        session.observe({feature: patient[feature] for feature in step.features})
    verdict = heart.target_names[step.prediction]
    print(f"{verdict}, after {session.spend:.2f} of {PRICES.total:.2f} {PRICES.unit} ({step.reason})")


if __name__ == "__main__":
    main()
