"""The suite without the command line of the package: ``python -m thrifty.bench --help``."""

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from math import inf
from pathlib import Path

from thrifty.bench.command import RESULTS, Options, bench, print_check, print_list
from thrifty.bench.machine import n_cores
from thrifty.bench.suite import parts
from thrifty.bench.time_limit import LIMIT


def main(arguments: Sequence[str]) -> int:
    """Run the suite with options; return the exit code."""
    options = vars(parser().parse_args(arguments))
    is_list, is_check = options.pop("list"), options.pop("check")
    try:
        if is_list:
            print_list(parts(options["only"]), options["full"])
        elif is_check:
            return print_check(options["jobs"], options["limit"])
        else:
            bench(Options(**options))
    except ValueError as error:
        print(f"thrifty: {error}", file=sys.stderr)
        return 2
    return 0


def parser() -> ArgumentParser:
    """Return the parser of the options."""
    options = ArgumentParser("python -m thrifty.bench", description="Race the methods, and reproduce figures.")
    options.add_argument("--full", action="store_true", help="all sizes, trials and seeds: hours")
    options.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="names, 'race', 'reproductions' or 'scaling'"
    )
    options.add_argument("--results", type=Path, default=RESULTS, help="JSON lines; default: %(default)s")
    options.add_argument("--html", type=Path, help="write a report: one HTML file")
    options.add_argument("--summary", type=Path, help="write the figures that are committed: JSON")
    options.add_argument("--jobs", type=int, default=n_cores(), help="runs at a time; default: one per core")
    options.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds of one run; default: %(default)s")
    options.add_argument("--again", action="store_true", help="also compute runs that are in the file")
    options.add_argument("--report", action="store_true", help="compute nothing; report the results of the file")
    options.add_argument("--seconds", type=float, default=inf, help="when to start no more runs")
    options.add_argument("--list", action="store_true", help="list names and numbers of runs")
    options.add_argument("--check", action="store_true", help="compare a small subset with the committed summary")
    return options


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
