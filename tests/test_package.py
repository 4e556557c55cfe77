"""The package as a whole: its surface, and what importing it costs."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import thrifty

HEAVY = (
    "numba",
    "matplotlib",
    "pandas",
    "polars",
    "lightgbm",
    "xgboost",
    "sqlalchemy",
    "httpx",
    "fastapi",
    "dask",
)


def modules_after(statement):
    code = f"{statement}; import sys; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_all_is_exact_sorted_and_importable():
    assert thrifty.__all__ == sorted(thrifty.__all__)
    assert set(thrifty.__all__) == set(thrifty._HOME)
    for name in thrifty.__all__:
        assert getattr(thrifty, name).__name__ == name
    assert set(thrifty.__all__) <= set(dir(thrifty))


def test_type_checkers_see_what_users_see():
    source = Path(thrifty.__file__).read_text(encoding="utf-8")
    block = source[source.index("if TYPE_CHECKING:") : source.index("__version__")]
    assert set(re.findall(r" as (\w+)$", block, flags=re.MULTILINE)) == set(thrifty.__all__)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'thrifty' has no attribute 'spend_it_all'"):
        _ = thrifty.spend_it_all


@pytest.mark.parametrize(
    "statement",
    ["import thrifty", "import thrifty.costs", "from thrifty import CostModel", "import thrifty.metrics",
     "import thrifty.datasets"],
)  # fmt: skip
def test_importing_brings_in_nothing_heavy(statement):
    brought = modules_after(statement) - modules_after("import sklearn.metrics")
    assert not brought & set(HEAVY)


def test_every_public_estimator_has_a_running_example():
    for name in thrifty.__all__:
        if hasattr(getattr(thrifty, name), "fit"):
            assert ">>>" in getattr(thrifty, name).__doc__, name
