"""The heart data with readable column names, and with words in place of codes."""

from types import SimpleNamespace

import numpy as np

from thrifty.costs import CostModel
from thrifty.datasets import load_heart

LABELS = ("disease-free", "heart disease")
NAMES = {
    "age": "age (years)",
    "sex": "sex",
    "cp": "chest pain",
    "trestbps": "blood pressure (mm Hg)",
    "chol": "cholesterol (mg/dl)",
    "fbs": "high blood sugar",
    "restecg": "resting ECG",
    "thalach": "highest heart rate",
    "exang": "angina in exercise",
    "oldpeak": "ST depression (mm)",
    "slope": "ST slope",
    "ca": "vessels in fluoroscopy",
    "thal": "thallium scan",
}
YES_NO = {0: "no", 1: "yes"}
WORDS = {
    "sex": {0: "female", 1: "male"},
    "cp": {1: "typical angina", 2: "atypical angina", 3: "not angina", 4: "no symptoms"},
    "fbs": YES_NO,
    "restecg": {0: "normal", 1: "abnormal ST-T", 2: "hypertrophy"},
    "exang": YES_NO,
    "slope": {1: "rising", 2: "flat", 3: "falling"},
    "thal": {3: "normal", 6: "fixed defect", 7: "reversible defect"},
}


def load_heart_in_words() -> SimpleNamespace:
    """Return X, a frame of readable columns; y, the diagnoses as text; and costs, in dollars.

    >>> heart = load_heart_in_words()
    >>> heart.X["chest pain"].iloc[0], str(heart.y[0]), heart.costs.total
    ('no symptoms', 'heart disease', 323.97)
    """
    heart = load_heart(as_frame=True)
    X = heart.X.assign(**{name: heart.X[name].map(words) for name, words in WORDS.items()})
    costs = CostModel(
        {NAMES[name]: price for name, price in heart.costs.costs.items()},
        bundles={
            bundle: ([NAMES[name] for name in members], p) for bundle, (members, p) in heart.costs.bundles.items()
        },
        unit="$",
    )
    return SimpleNamespace(X=X.rename(columns=NAMES), y=np.array(LABELS)[heart.y], costs=costs)
