"""The command line, run as a user runs it: in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

THRIFTY = Path(sys.executable).with_name("thrifty")
MEGABYTE = 1024  # of what the system counts in, which is kilobytes


def run_thrifty(*arguments: Any) -> tuple[float, float]:
    """Return the seconds that a command takes, and the largest memory of its process in megabytes."""
    start = perf_counter()
    running = subprocess.Popen([THRIFTY, *map(str, arguments)], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    if status:
        raise RuntimeError(f"thrifty {arguments[0]} ended with {status}")
    return perf_counter() - start, usage.ru_maxrss / MEGABYTE
