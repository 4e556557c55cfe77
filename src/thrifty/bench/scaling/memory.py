"""How much the peak memory of this process grows, on Linux; elsewhere nothing is known."""

from collections.abc import Callable
from ctypes import CDLL
from pathlib import Path

STATUS, CLEAR, MACHINE = Path("/proc/self/status"), Path("/proc/self/clear_refs"), Path("/proc/meminfo")
KILOBYTE = 1024


def growth(work: Callable[[], object]) -> float:
    """Return by how many bytes the peak memory grows while something works; NaN where this cannot be measured."""
    try:
        CDLL("libc.so.6").malloc_trim(0)  # give back what is free, or the work could use it without growth
        CLEAR.write_text("5")  # the peak is measured from here
        before = _bytes(STATUS, "VmHWM")
    except (OSError, AttributeError, LookupError):
        work()
        return float("nan")
    work()
    return _bytes(STATUS, "VmHWM") - before


def available() -> float:
    """Return how many bytes this machine can still give; infinity if that is not known."""
    try:
        return _bytes(MACHINE, "MemAvailable")
    except (OSError, LookupError):
        return float("inf")


def _bytes(path: Path, field: str) -> float:
    """Return a field of a file that has lines such as "VmHWM:  1024 kB"."""
    return KILOBYTE * float(path.read_text(encoding="utf-8").split(f"{field}:")[1].split()[0])
