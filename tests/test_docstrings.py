"""What users read in docstrings is complete: every parameter, what is returned, attributes and an example."""

import inspect
import re

import pytest
from sklearn.base import BaseEstimator

import thrifty
from thrifty import evaluation, metrics, plots

PUBLIC = [getattr(thrifty, name) for name in thrifty.__all__]
DISPLAYS = [getattr(plots, name) for name in plots.__all__]
MEASURES = [getattr(module, name) for module in (evaluation, metrics) for name in module.__all__]
CLASSES = [each for each in PUBLIC + DISPLAYS + MEASURES if inspect.isclass(each) and not issubclass(each, Exception)]
FUNCTIONS = [each for each in PUBLIC + MEASURES if inspect.isfunction(each)]
ESTIMATORS = [each for each in CLASSES if issubclass(each, BaseEstimator) and not inspect.isabstract(each)]
VALUES = {
    "Evaluation",
    "Run",
    "Acquisition",
    "Acquire",
    "Stop",
    "Promise",
    "Manifest",
    "Outline",
    "Result",
}  # users do not make them
WRAPPERS = {"BudgetSearchCV", "MixtureClassifier", "MixtureRanker", "MixtureRegressor", "TableModel"}


def sections(docstring):
    """Return the sections of a numpydoc docstring by title."""
    parts = re.split(r"^(\w[\w ]*)\n-{3,}$", inspect.cleandoc(docstring or ""), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def documented(section):
    """Return the names that a section of parameters or attributes documents."""
    lines = re.findall(r"^(\*{0,2}\w[\w*, ]*)(?: ?:.*)?$", section or "", flags=re.MULTILINE)
    return {name.strip("* ") for line in lines for name in line.split(",")}


def parameters(function):
    names = [name for name in inspect.signature(function).parameters if name not in ("self", "cls")]
    return [name for name in names if not name.startswith("_")]


def public_methods():
    for each in CLASSES:
        for name, value in inspect.getmembers(each):
            ours = getattr(inspect.unwrap(value), "__module__", "") or ""
            if not name.startswith("_") and inspect.isroutine(value) and ours.startswith("thrifty"):
                yield pytest.param(each, name, id=f"{each.__name__}.{name}")


@pytest.mark.parametrize("each", CLASSES, ids=lambda each: each.__name__)
def test_classes_document_what_they_take(each):
    if each.__name__ in VALUES or inspect.isabstract(each):
        return
    missing = set(parameters(each)) - documented(sections(each.__doc__).get("Parameters"))
    assert not missing, f"{each.__name__} does not document {sorted(missing)}"


@pytest.mark.parametrize("each", ESTIMATORS, ids=lambda each: each.__name__)
def test_estimators_document_attributes_and_show_an_example(each):
    found = sections(each.__doc__)
    assert {"cost_model_"} <= documented(found.get("Attributes")), each.__name__
    assert ">>>" in found.get("Examples", ""), each.__name__
    assert "References" in found or each.__name__ in WRAPPERS, each.__name__


@pytest.mark.parametrize("each", [each for each in CLASSES if each.__name__ in VALUES], ids=lambda each: each.__name__)
def test_values_document_their_attributes(each):
    missing = set(parameters(each)) - documented(sections(each.__doc__).get("Attributes"))
    assert not missing, f"{each.__name__} does not document {sorted(missing)}"


@pytest.mark.parametrize(("each", "name"), list(public_methods()))
def test_methods_document_parameters_and_returns(each, name):
    method = getattr(each, name)
    if name.startswith("set_") and name.endswith("_request"):
        return
    found = sections(method.__doc__)
    missing = set(parameters(method)) - documented(found.get("Parameters"))
    assert not missing, f"{each.__name__}.{name} does not document {sorted(missing)}"
    if inspect.signature(method).return_annotation not in (None, "None", inspect.Signature.empty):
        assert "Returns" in found or not parameters(method), f"{each.__name__}.{name} does not document what it returns"


@pytest.mark.parametrize("each", FUNCTIONS, ids=lambda each: each.__name__)
def test_functions_document_parameters_returns_and_an_example(each):
    found = sections(each.__doc__)
    assert not set(parameters(each)) - documented(found.get("Parameters")), each.__name__
    assert "Returns" in found, each.__name__
    assert ">>>" in (each.__doc__ or ""), each.__name__
