"""Optional libraries are imported when they are needed, not before."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("statement", ["import thrifty.runtime", "import thrifty.runtime.telemetry"])
def test_importing_brings_in_no_optional_library(statement):
    code = f"{statement}; import sys; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"prometheus_client", "opentelemetry", "pandas"} & set(loaded)
