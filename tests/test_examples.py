"""Every example runs as its first lines say."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_runs(path):
    run = subprocess.run([sys.executable, "-W", "error", path], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert run.stdout
