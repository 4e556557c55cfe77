"""Fixtures of the runtime: fitted models and rows that they have not seen."""

import pytest

from runtime.heart_sources import FRESH, HEART, MODELS, NAMES, Problem


@pytest.fixture(params=NAMES)
def problem(request):
    return Problem(MODELS[request.param], HEART.X[FRESH], list(FRESH))


@pytest.fixture
def astc():
    return MODELS["astc"]
