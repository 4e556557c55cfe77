"""What results record about where they were computed: versions of packages, processor and cores."""

import os
import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import thrifty

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "catboost", "pystreed", "torch")
CPUINFO = Path("/proc/cpuinfo")


@cache
def versions() -> dict[str, str]:
    """Return versions of Python, of this package with its commit, and of the other packages that are installed."""
    found = {"python": platform.python_version(), "thrifty": f"{thrifty.__version__} {_commit()}".strip()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


@cache
def machine() -> dict[str, Any]:
    """Return the name of the processor, the number of cores and the operating system."""
    return {"processor": _processor(), "cores": n_cores(), "system": platform.system()}


def n_cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _processor() -> str:
    if CPUINFO.exists():
        for line in CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _commit() -> str:
    """Return the commit of the source if it is in a repository."""
    called = ["git", "-C", str(Path(thrifty.__file__).parent), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(called, capture_output=True, text=True, check=False).stdout.strip()
    except OSError:
        return ""
