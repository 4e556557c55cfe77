"""Run this benchmark with options: ``python -m benchmarks.adaptive --help``."""

import sys

from benchmarks.adaptive.command import main

if __name__ == "__main__":
    main(sys.argv[1:])
