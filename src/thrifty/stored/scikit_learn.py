"""Unfitted estimators of scikit-learn: a file holds the name and the parameters, for names in a fixed list."""

from __future__ import annotations

from importlib import import_module
from inspect import Parameter, signature
from typing import Any

from thrifty.stored.kinds import Kind
from thrifty.stored.medium import Place, shown

MODULES = {
    "calibration": ["CalibratedClassifierCV"],
    "discriminant_analysis": ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"],
    "dummy": ["DummyClassifier", "DummyRegressor"],
    "ensemble": [
        *("AdaBoostClassifier", "AdaBoostRegressor", "BaggingClassifier", "BaggingRegressor"),
        *("ExtraTreesClassifier", "ExtraTreesRegressor", "RandomForestClassifier", "RandomForestRegressor"),
        *("GradientBoostingClassifier", "GradientBoostingRegressor"),
        *("HistGradientBoostingClassifier", "HistGradientBoostingRegressor"),
    ],
    "kernel_ridge": ["KernelRidge"],
    "linear_model": [
        *("ElasticNet", "ElasticNetCV", "Lasso", "LassoCV", "LinearRegression", "LogisticRegression"),
        *("LogisticRegressionCV", "PassiveAggressiveClassifier", "Perceptron", "Ridge", "RidgeCV"),
        *("RidgeClassifier", "RidgeClassifierCV", "SGDClassifier", "SGDRegressor"),
    ],
    "multiclass": ["OneVsOneClassifier", "OneVsRestClassifier", "OutputCodeClassifier"],
    "naive_bayes": ["BernoulliNB", "ComplementNB", "GaussianNB", "MultinomialNB"],
    "neighbors": ["KNeighborsClassifier", "KNeighborsRegressor", "NearestCentroid"],
    "neural_network": ["MLPClassifier", "MLPRegressor"],
    "pipeline": ["Pipeline"],
    "preprocessing": ["MaxAbsScaler", "MinMaxScaler", "Normalizer", "RobustScaler", "StandardScaler"],
    "svm": ["LinearSVC", "LinearSVR", "NuSVC", "NuSVR", "SVC", "SVR"],
    "tree": ["DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor"],
}
HOMES = {name: f"sklearn.{module}" for module, names in MODULES.items() for name in names}


def is_listed(value: Any) -> bool:
    """Tell whether an object is an unfitted estimator of a class in the list."""
    cls = type(value)
    return cls.__name__ in HOMES and cls is _class(cls.__name__) and not is_fitted(value)


def is_fitted(estimator: Any) -> bool:
    """Tell whether an estimator has learned something, which it keeps in attributes whose names end with _."""
    return any(name.endswith("_") and not name.startswith("_") for name in vars(estimator))


def write_estimator(estimator: Any, place: Place, parameter: Kind) -> dict[str, Any]:
    """Return the node of an estimator: its name, and the parameters that are not the default."""
    cls, given = type(estimator), estimator.get_params(deep=False)
    wanted = signature(cls.__init__).parameters
    changed = {name: value for name, value in given.items() if not _is_same(value, wanted[name].default)}
    return {
        "name": cls.__name__,
        "parameters": {name: parameter.write(value, place.inside(name)) for name, value in changed.items()},
    }


def _is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and isinstance(value, str | int | float | None) and value == default


def read_estimator(node: Any, place: Place, parameter: Kind) -> Any:
    """Return the unfitted estimator of a node."""
    is_node = isinstance(node, dict) and set(node) == {"name", "parameters"} and isinstance(node["parameters"], dict)
    place.require(is_node, "is not an estimator of scikit-learn")
    name, parameters = node["name"], node["parameters"]
    known = type(name) is str and name in HOMES
    place.require(known, f"is an estimator {shown(name)}, which is not in the list of those that a file may hold")
    cls = _class(name)
    unknown = set(parameters) - set(cls._get_param_names())
    place.require(not unknown, f"has parameters that {name} does not have in this version of scikit-learn")
    missing = set(_required(cls)) - set(parameters)
    place.require(not missing, f"lacks the parameters {sorted(missing)} of {name}")
    return cls(**{each: parameter.read(value, place.inside(each)) for each, value in parameters.items()})


def _required(cls: Any) -> list[str]:
    """Return the parameters without a default."""
    wanted = signature(cls.__init__).parameters
    return [name for name in cls._get_param_names() if wanted[name].default is Parameter.empty]


def _class(name: str) -> Any:
    return getattr(import_module(HOMES[name]), name)
