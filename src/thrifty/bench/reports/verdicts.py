"""The verdicts of all parts, in the terminal."""

from collections.abc import Sequence

from rich.console import Console

from thrifty.bench.claims import Verdict
from thrifty.bench.results import Results
from thrifty.bench.suite import Part


def verdicts_of(parts: Sequence[Part], results: Results) -> list[tuple[Part, Verdict]]:
    """Return the verdicts of parts."""
    return [(part, verdict) for part in parts for verdict in part.verdicts(results)]


def print_verdicts(parts: Sequence[Part], results: Results, console: Console) -> None:
    """Print each claim with its verdict."""
    for part, verdict in verdicts_of(parts, results):
        source = f"{verdict.claim.paper}, {verdict.claim.where}"
        console.print(f"{part.name}: {verdict.outcome}", style="bold", markup=False)
        console.print(f"  {source}: {verdict.claim.text}", markup=False, highlight=False, soft_wrap=True)
        console.print(f"  {verdict.sentence}", markup=False, highlight=False, soft_wrap=True)
