"""The command line: one file per command. An error is one line on standard error and exit code 2.

A command imports what it needs when it runs, so that ``thrifty --help`` is fast.
"""

import os
import sys
from typing import Annotated

import typer

from thrifty import __version__
from thrifty.cli import (
    ask,
    bench,
    costs,
    demo,
    evaluate,
    explain,
    fit,
    frontier,
    predict,
    profile,
    reference,
    refit,
    replay,
    serve,
    warmup,
)
from thrifty.cli.words import one_line
from thrifty.exceptions import ThriftyError

READER_LEFT, BAD_INPUT, INTERRUPTED = 1, 2, 130

# The base class of all errors in how a command was typed; typer does not export it.
_UsageError: type[Exception] = typer.BadParameter.__bases__[0]

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode="rich")
app.command()(fit.fit)
app.command()(frontier.frontier)
app.command()(refit.refit)
app.command()(predict.predict)
app.command()(evaluate.evaluate)
app.command()(explain.explain)
app.command()(ask.ask)
app.add_typer(costs.app, name="costs")
app.command()(profile.profile)
app.command()(replay.replay)
app.command()(reference.reference)
app.command()(serve.serve)
app.command()(demo.demo)
app.command()(bench.bench)
app.command()(warmup.warmup)


def main() -> int:
    """Run the command that was typed; return its exit code."""
    try:
        return app(prog_name="thrifty", standalone_mode=False) or 0
    except _UsageError as error:
        return _refuse(_usage(error))
    except BrokenPipeError:  # the reader, such as head, has what it wanted
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except (ThriftyError, ValueError) as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"'{error.filename}': {error.strerror}." if error.filename and error.strerror else str(error))
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED


@app.callback(invoke_without_command=True)
def _thrifty(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    """Prediction on a budget: learn which columns to acquire for which row, and when to stop."""
    if version:
        typer.echo(f"thrifty {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def _usage(error: Exception) -> str:
    """Return what was typed wrong, and which help to read."""
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "thrifty"
    message = error.format_message()  # type: ignore[attr-defined]
    return f"{message}{'' if message.endswith(('?', '.')) else '.'} Run '{command} --help' for its options."


def _refuse(message: str) -> int:
    """Print a message as one line."""
    print("thrifty:", one_line(message), file=sys.stderr)
    return BAD_INPUT
