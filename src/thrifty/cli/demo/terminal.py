"""What the demo prints: the table, the finding and the patient."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from thrifty.cli.demo import sentences
from thrifty.cli.demo.replay import Replay, Step
from thrifty.cli.demo.sentences import money, numbers
from thrifty.cli.demo.study import Study
from thrifty.cli.terminal import plain_table


def print_study(out: Console, study: Study) -> None:
    """Print the table and what it says."""
    for name, _, meaning in (model.partition(": ") for model in (sentences.TREE, sentences.STATIC, sentences.FULL)):
        out.print(Text.assemble("  ", (f"{name:<12}", "bold"), meaning))
    out.print(study_table(study))
    out.print(sentences.finding(study), style="bold")
    out.print(sentences.method(study), style="dim")


def study_table(study: Study) -> Table:
    """One row per budget, the headline in colour, the full model last."""
    table = plain_table()
    table.add_column("\nbudget", justify="right")
    for model, style in (("tree", "bold green"), ("static", "bold")):
        for number in ("spend", "accuracy", "AUC"):
            table.add_column(Text.assemble((model, style), f"\n{number}"), justify="right")
    for row in study.rows:
        style = "bold green" if row is study.headline else ""
        table.add_row(money(row.budget), *(Text(cell, style) for cell in numbers(row.tree)), *numbers(row.static))
    table.add_section()
    table.add_row("full model", *numbers(study.full))
    return table


def print_replay(out: Console, replay: Replay) -> None:
    """Print a patient's steps and the answer."""
    out.print(f"\n{sentences.patient(replay)}")
    table = plain_table()
    table.add_column("", style="dim")
    table.add_column("bought and found")
    for name in ("cost", "paid", "risk"):
        table.add_column(name, justify="right")
    for number, step in enumerate(replay.steps, start=1):
        table.add_row(str(number), _story(step), money(step.cost), money(step.spend), f"{step.risk:.0%}")
    out.print(table)
    out.print(f"Stopped: {replay.reason}.")
    out.print(sentences.verdict(replay), style="bold")


def _story(step: Step) -> Text:
    """What was found, and where that sends the patient."""
    found = Text(", ").join(Text.assemble(f"{name}: ", (value, "cyan")) for name, value in step.findings)
    return found.append(f"\ngoes to the {', then the '.join(step.turns)}", "dim") if step.turns else found


def print_files(out: Console, places: Sequence[Path]) -> None:
    """Say where to look next."""
    out.print("\nOpen the first of these in a browser:")
    for place in places:
        out.print(f"  {place}", soft_wrap=True)
