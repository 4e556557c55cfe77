"""``thrifty ask``: a session in the terminal, which asks for one column at a time until the model can answer."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli.keys import KeyFile, read_key

UNAVAILABLE = ("unavailable", "none", "na", "n/a")
HELP = ("", "?")
NO_ANSWER = 1  # exit code if the input ends before the model can answer


def ask(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    cap: Annotated[float | None, typer.Option(help="Hard limit on the spend.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the trace as JSON at the end; questions go to standard error.")
    ] = False,
    key_file: KeyFile = None,
) -> None:
    """Answer questions about one row, each with its price, until the model can predict it."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.terminal import console, print_json
    from thrifty.cli.trace_text import ending
    from thrifty.cli.traces import trace_row

    loaded = LoadedModel.open(model, read_key(key_file)).for_row()
    loaded.model.session(cap)  # raises ValueError if the cap is not valid, before anything is printed
    out = console(stderr=json)
    out.print('Answer with a value, with "unavailable", or with ? for help.')
    out.line()
    questions = Questions(loaded, out)
    try:
        trace = trace_row(loaded, questions.ask, cap, questions.tell_evaluation, questions.tell_purchase)
    except EOFError:
        out.line()
        out.print("Ended without an answer.")
        raise typer.Exit(NO_ANSWER) from None
    if json:
        print_json(trace.as_dict())
        return
    out.line()
    for sentence in ending(loaded, trace):
        out.print(sentence)


class Questions:
    """Asks for the values of columns, and repeats a question until its answer is valid."""

    def __init__(self, loaded: Any, out: Any):
        self._loaded, self._out = loaded, out

    def ask(self, item: Any) -> Any:
        """Return the value of an item; None if it is unavailable."""
        from thrifty.cli.trace_text import bill_text

        field = self._loaded.fields[item.name]
        new_level = None
        while True:
            self._out.print(f"{item.name} ({bill_text(self._loaded, item)}): ", end="")
            answer = self._read()
            if answer in HELP:
                self._out.print(f"  {item.name}: {expected(field)}")
            elif answer == new_level or (field.levels and not field.is_odd(answer)):
                return answer
            elif answer.lower() in UNAVAILABLE:
                return None
            elif (problem := problem_with(field, item.name, answer)) is None:
                return known_level(field, answer)
            else:
                self._out.print(f"  {problem}")
                new_level = answer if field.levels else None

    def tell_evaluation(self, cost: float) -> None:
        """Print a cost that is not the price of a column."""
        self._out.print(f"evaluation of the model ({self._loaded.amount(cost)}): no column needed")

    def tell_purchase(self, step: Any) -> None:
        """Print what a step bought and why, if the model tells why."""
        from thrifty.cli.trace_text import purchase_text

        if step.explanation:
            self._out.print(f"  {purchase_text(self._loaded, step)}")

    def _read(self) -> str:
        """Read a line; print it if it does not come from a keyboard, which shows what is typed."""
        answer = input().strip()
        if not sys.stdin.isatty():
            self._out.print(answer)
        return answer


def expected(field: Any) -> str:
    """Return which values are valid."""
    from thrifty.models.tables.fields import EXPECTED

    values = f"one of {', '.join(field.levels)}" if field.levels else EXPECTED[field.kind]
    return f'{values}; or "unavailable".'


def problem_with(field: Any, name: str, answer: str) -> str | None:
    """Return what is wrong with an answer; None if it is valid."""
    if field.levels:
        if known_level(field, answer) in field.levels:
            return None
        return f"{answer!r} is new to the model, which knows {', '.join(field.levels)}. Type it again to confirm it."
    return f"{answer!r} is not valid. {name}: {expected(field)}" if field.is_odd(answer) else None


def known_level(field: Any, answer: str) -> str:
    """Return the level that equals an answer if upper and lower case are ignored; the answer if no level does."""
    return next((known for known in field.levels if known.lower() == answer.lower()), answer)
