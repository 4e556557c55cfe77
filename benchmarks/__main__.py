"""Run the benchmarks: ``python -m benchmarks [name ...]``; all of them by default.

A missed bar is printed as such and is no error: the machine may have been busy.
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
        print(f"benchmarks: {unknown[0]!r} is not known; choose among {', '.join(NAMES)}", file=sys.stderr)
        return 2
    for name in chosen:
        import_module(f"benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
