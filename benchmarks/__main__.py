"""Run the benchmarks: ``python -m benchmarks [name ...]``; all of them by default."""

import sys
from importlib import import_module
from pkgutil import iter_modules

import benchmarks

NAMES = [
    m.name for m in iter_modules(benchmarks.__path__) if m.name not in ("__main__", "contenders", "problems", "report")
]


def main() -> int:
    chosen = sys.argv[1:] or NAMES
    if unknown := [name for name in chosen if name not in NAMES]:
        print(f"benchmarks: {unknown[0]!r} is not known; choose among {', '.join(NAMES)}", file=sys.stderr)
        return 2
    outcomes = [import_module(f"benchmarks.{name}").main() for name in chosen]
    return int(not all(outcomes))


if __name__ == "__main__":
    sys.exit(main())
