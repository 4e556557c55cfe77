"""The verdicts of all parts."""

from collections.abc import Sequence

from rich.console import Console

from thrifty.bench import flagship_verdict
from thrifty.bench.claims import Verdict
from thrifty.bench.results import Results
from thrifty.bench.suite import Part


def verdicts_of(parts: Sequence[Part], results: Results) -> list[tuple[str, Verdict]]:
    """Return the verdicts of parts with their names; the race has one for all problems."""
    race = flagship_verdict.verdicts(results) if any(part.is_problem for part in parts) else []
    own = [(part.name, verdict) for part in parts for verdict in part.verdicts(results)]
    return [*(("race", verdict) for verdict in race), *own]


def print_verdicts(parts: Sequence[Part], results: Results, console: Console) -> None:
    """Print each claim with its verdict."""
    for name, verdict in verdicts_of(parts, results):
        console.print(f"{name}: {verdict.outcome}", style="bold", markup=False)
        for line in (f"{verdict.claim.paper}, {verdict.claim.where}: {verdict.claim.text}", verdict.sentence):
            console.print(f"  {line}", markup=False, highlight=False, soft_wrap=True)
