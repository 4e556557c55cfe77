"""Run the command line program in a separate process and measure its time and memory."""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

THRIFTY = Path(sys.executable).with_name("thrifty")
KILOBYTES_PER_MEGABYTE = 1024


def run_thrifty(*arguments: Any) -> tuple[float, float]:
    """Return the time of a command in seconds, and the peak memory of its process in megabytes."""
    start = perf_counter()
    running = subprocess.Popen([THRIFTY, *map(str, arguments)], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    if status:
        raise RuntimeError(f"thrifty {arguments[0]} failed with wait status {status}.")
    return perf_counter() - start, usage.ru_maxrss / KILOBYTES_PER_MEGABYTE
