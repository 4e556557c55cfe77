"""The heart data in words: what its columns are called, and what their numbers stand for."""

from collections.abc import Sequence

LABELS = ("disease-free", "heart disease")  # in the order scikit-learn sorts them

_NAMES = {
    "age": "age",
    "sex": "sex",
    "cp": "chest pain",
    "trestbps": "blood pressure",
    "chol": "cholesterol",
    "fbs": "high blood sugar",
    "restecg": "resting ECG",
    "thalach": "highest heart rate",
    "exang": "exercise angina",
    "oldpeak": "ST depression",
    "slope": "ST slope",
    "ca": "narrowed vessels",
    "thal": "thallium scan",
}
_UNITS = {"age": "years", "trestbps": "mm Hg", "chol": "mg/dl", "thalach": "beats/min", "oldpeak": "mm"}
_YES_NO = {0: "no", 1: "yes"}
_MEANINGS = {
    "sex": {0: "female", 1: "male"},
    "cp": {1: "typical angina", 2: "atypical angina", 3: "not angina", 4: "none"},
    "fbs": _YES_NO,
    "restecg": {0: "normal", 1: "abnormal ST-T", 2: "hypertrophy"},
    "exang": _YES_NO,
    "slope": {1: "rising", 2: "flat", 3: "falling"},
    "thal": {3: "normal", 6: "fixed defect", 7: "reversible defect"},
}


def names_of(columns: Sequence[str]) -> list[str]:
    """Call columns by names a reader knows.

    >>> names_of(["cp", "ca"])
    ['chest pain', 'narrowed vessels']
    """
    return [_NAMES[column] for column in columns]


def value_of(column: str, value: float) -> str:
    """Say what was found.

    >>> value_of("thal", 7.0), value_of("age", 63.0)
    ('reversible defect', '63 years')
    """
    if column in _MEANINGS:
        return _MEANINGS[column][int(value)]
    return f"{value:g} {_UNITS.get(column, '')}".rstrip()
