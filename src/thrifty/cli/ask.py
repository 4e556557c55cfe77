"""``thrifty ask``: a session in the terminal. It asks for one thing at a time and stops when it is sure."""

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

UNAVAILABLE = ("unavailable", "none", "na", "n/a")
HELP = ("", "?")
ENDED = 1  # the exit code of a session that was left without an answer


def ask(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    cap: Annotated[float | None, typer.Option(help="Hard limit on the spend, below the model's own.")] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print the trace as JSON in the end; questions go to stderr.")
    ] = False,
) -> None:
    """Be asked for one thing at a time, at its price, until the answer is clear."""
    from thrifty.cli.served import Served
    from thrifty.cli.terminal import console, print_json
    from thrifty.cli.traces import WHY, trace, verdict

    served = Served.open(model)
    out = console(stderr=json)
    out.print('Answer with a value, with "unavailable", or with ? for help.\n')
    try:
        told = trace(served, Questions(served, out).ask, cap)
    except EOFError:
        out.print("\nEnded without an answer.")
        raise typer.Exit(ENDED) from None
    if json:
        print_json(told.as_dict())
    else:
        out.print(f"\nStopped: {told.reason}; {WHY[told.reason]}.")
        out.print(verdict(served, told))


class Questions:
    """Asks for values until they make sense."""

    def __init__(self, served: Any, out: Any):
        self._served, self._out = served, out

    def ask(self, item: Any) -> Any:
        """Ask for one thing; None if it is unavailable."""
        from thrifty.cli.traces import bill_text

        field = self._served.fields[item.name]
        doubted = None
        while True:
            self._out.print(f"{item.name} ({bill_text(self._served, item)}): ", end="")
            answer = self._read()
            if answer in HELP:
                self._out.print(f"  {expected(field)}")
            elif answer in field.levels or answer == doubted:
                return answer
            elif answer.lower() in UNAVAILABLE:
                return None
            elif (problem := doubt(field, answer)) is None:
                return level(field, answer)
            else:
                self._out.print(f"  {problem}")
                doubted = answer if field.levels else None

    def _read(self) -> str:
        """Read a line; what does not come from a keyboard is shown."""
        answer = input().strip()
        if not sys.stdin.isatty():
            self._out.print(answer)
        return answer


def expected(field: Any) -> str:
    """Say what a value may be."""
    from thrifty.models.tables.fields import EXPECTED

    what = f"one of {', '.join(field.levels)}" if field.levels else EXPECTED[field.kind]
    return f'{field.name}: {what}; or "unavailable".'


def doubt(field: Any, answer: str) -> str | None:
    """Say what is wrong with an answer, None if nothing is."""
    if field.levels:
        if level(field, answer) in field.levels:
            return None
        return f"{answer!r} is new to the model, which knows {', '.join(field.levels)}. Repeat it if you mean it."
    try:
        field.encode(answer)
    except ValueError:
        return f"{answer!r} makes no sense here. {expected(field)}"
    return None


def level(field: Any, answer: str) -> str:
    """Return the level that an answer means, however it is capitalised."""
    return next((known for known in field.levels if known.lower() == answer.lower()), answer)
