"""The command line: one file per verb; what goes wrong is one line on stderr and exit code 2.

Verbs import what they need when they run, so that ``thrifty --help`` is quick.
"""

import sys
from typing import Annotated

import typer

from thrifty import __version__
from thrifty.cli import ask, costs, demo, explain, fit, frontier, predict, warmup
from thrifty.exceptions import ThriftyError

BAD_INPUT, INTERRUPTED = 2, 130

# Of the errors in how a command was typed typer exports only this one; its base is the base of them all.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
app.command()(fit.fit)
app.command()(frontier.frontier)
app.command()(predict.predict)
app.command()(explain.explain)
app.command()(ask.ask)
app.add_typer(costs.app, name="costs")
app.command()(demo.demo)
app.command()(warmup.warmup)


def main() -> int:
    """Run the command that was typed and return its exit code."""
    try:
        return app(prog_name="thrifty", standalone_mode=False) or 0
    except _UsageError as error:
        return _refuse(_usage(error))
    except (ThriftyError, ValueError, OSError) as error:
        return _refuse(str(error))
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED


@app.callback(invoke_without_command=True)
def _thrifty(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and leave.")] = False,
) -> None:
    """Prediction on a budget: learn what to acquire, for whom, and when to stop."""
    if version:
        typer.echo(f"thrifty {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _usage(error: Exception) -> str:
    """Say what was typed wrong, and how to find out what is right."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "thrifty"
    wrong = error.format_message()  # type: ignore[attr-defined]
    wrong = wrong if wrong.endswith(("?", ".")) else f"{wrong}."
    return f"{wrong} Run '{command} --help' for what it takes."


def _refuse(message: str) -> int:
    """Print a message as one line, whatever line breaks it holds."""
    print("thrifty:", " ".join(message.split()), file=sys.stderr)
    return BAD_INPUT
