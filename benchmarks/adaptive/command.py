"""The command line of the benchmark: compute missing runs, then print tables and claims."""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from tempfile import gettempdir

from benchmarks.adaptive.claims import report_claims
from benchmarks.adaptive.contenders import CONTENDERS
from benchmarks.adaptive.problems import PROBLEMS, SEEDS
from benchmarks.adaptive.results import Results
from benchmarks.adaptive.runs import compute, planned
from benchmarks.adaptive.tables import print_tables
from benchmarks.adaptive.time_limit import LIMIT

RESULTS = Path(gettempdir(), "thrifty_adaptive.jsonl")


def main(arguments: Sequence[str] = ()) -> None:
    """Compute missing runs unless ``--report`` is given, and report all results of the file."""
    options = parser().parse_args(arguments)
    results = Results(options.results)
    if not options.report:
        compute(planned(options.problems, options.seeds, options.methods), results, options.limit, again=options.again)
    print_tables(results)
    report_claims(results)
    print(f"results: {results.path}")


def parser() -> ArgumentParser:
    """Return the parser of the options."""
    options = ArgumentParser("python -m benchmarks.adaptive", description=__doc__)
    options.add_argument("--results", type=Path, default=RESULTS, help="JSON lines; default: %(default)s")
    options.add_argument("--problems", nargs="+", choices=PROBLEMS, default=list(PROBLEMS), metavar="NAME")
    options.add_argument("--methods", nargs="+", choices=CONTENDERS, default=list(CONTENDERS), metavar="NAME")
    options.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS), metavar="SEED")
    options.add_argument("--limit", type=float, default=LIMIT, help="CPU seconds of one run; default: %(default)s")
    options.add_argument("--again", action="store_true", help="also compute runs whose results are in the file")
    options.add_argument("--report", action="store_true", help="compute nothing; report the results of the file")
    return options
