"""Run the benchmarks: ``python -m benchmarks [name ...]``. Without names, run all.

A missed limit is printed but is not an error, because other processes can slow down the machine.
"""

import sys
from importlib import import_module
from pkgutil import iter_modules

import benchmarks

SHARED = ("__main__", "commands", "contenders", "problems", "report")
NAMES = [m.name for m in iter_modules(benchmarks.__path__) if m.name not in SHARED]


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    if unknown := [name for name in chosen if name not in NAMES]:
        print(f"benchmarks: {unknown[0]!r} is not a benchmark; expected one of {', '.join(NAMES)}.", file=sys.stderr)
        return 2
    for name in chosen:
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
