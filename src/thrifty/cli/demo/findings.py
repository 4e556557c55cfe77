"""The heart data in words: what its columns are called, and what their numbers stand for."""

from thrifty.models.session import Feature

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
    "ca": "fluoroscopy",
    "thal": "thallium scan",
}
_UNITS = {
    "age": "years",
    "trestbps": "mm Hg",
    "chol": "mg/dl",
    "thalach": "beats/min",
    "oldpeak": "mm",
    "ca": "vessels coloured",
}
_YES_NO = {0: "no", 1: "yes"}
_MEANINGS = {
    "sex": {0: "female", 1: "male"},
    "cp": {1: "typical angina", 2: "atypical angina", 3: "not angina", 4: "no symptoms"},
    "fbs": _YES_NO,
    "restecg": {0: "normal", 1: "abnormal ST-T", 2: "hypertrophy"},
    "exang": _YES_NO,
    "slope": {1: "rising", 2: "flat", 3: "falling"},
    "thal": {3: "normal", 6: "fixed defect", 7: "reversible defect"},
}


def name_of(column: Feature) -> str:
    """Call a column by a name that a reader knows.

    >>> name_of("cp")
    'chest pain'
    """
    return _NAMES[str(column)]


def value_of(column: Feature, value: float) -> str:
    """Say what was found.

    >>> value_of("thal", 7.0), value_of("age", 63.0)
    ('reversible defect', '63 years')
    """
    meanings = _MEANINGS.get(str(column))
    return meanings[int(value)] if meanings else f"{value:g} {_UNITS.get(str(column), '')}".rstrip()
