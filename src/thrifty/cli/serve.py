"""``thrifty serve``: the model as an HTTP service that asks for what it needs, with a page for people."""

from pathlib import Path
from typing import Annotated

import typer

from thrifty.cli.keys import KeyFile
from thrifty.exceptions import MissingExtraError


def serve(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    sources: Annotated[
        Path | None, typer.Option(help="A Python file that defines sources, for predictions by key.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen at; other machines need --token-file.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8000,
    token_file: Annotated[
        Path | None, typer.Option(help="A file with bearer tokens, one per line. Clients must send one of them.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="How many processes answer.")] = 1,
    cap: Annotated[
        float | None, typer.Option(help="The largest cap that a client may ask for; the cap of all others.")
    ] = None,
    examples: Annotated[
        Path | None, typer.Option(help="A CSV file with complete rows, which the page offers as cases.")
    ] = None,
    deadline: Annotated[float | None, typer.Option(help="How many seconds a prediction by key may take.")] = None,
    session_seconds: Annotated[
        float, typer.Option(min=1, help="How long a session lives after its last step.")
    ] = 1800.0,
    max_sessions: Annotated[int, typer.Option(min=1, help="How many sessions there may be.")] = 10_000,
    max_sessions_per_client: Annotated[
        int, typer.Option(min=1, help="How many sessions a token may have, or an address without tokens.")
    ] = 2_000,
    max_bytes: Annotated[int, typer.Option(min=1, help="The largest body of a request.")] = 4_194_304,
    max_rows: Annotated[int, typer.Option(min=1, help="How many rows a request may have.")] = 10_000,
    store: Annotated[
        Path | None, typer.Option(help="An SQLite file for the sessions, so that they outlive the service.")
    ] = None,
    key_file: KeyFile = None,
) -> None:
    """Serve a model over HTTP, with a page at / for people."""
    try:
        from thrifty.serving.process import serve as run
        from thrifty.serving.settings import Settings
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"serve needs {error.name}. Run: pip install 'thrifty[serve]'") from error

    from thrifty.cli.terminal import note

    settings = Settings(
        str(model),
        key_file=_text(key_file),
        sources=_text(sources),
        examples=_text(examples),
        token_file=_text(token_file),
        store=_text(store),
        cap=cap,
        deadline=deadline,
        session_seconds=session_seconds,
        max_sessions=max_sessions,
        max_sessions_per_client=max_sessions_per_client,
        max_bytes=max_bytes,
        max_rows=max_rows,
    )

    def started(address: str) -> None:
        note(f"serving {model.name} at {address} (Ctrl-C stops it).")

    run(settings, host=host, port=port, workers=workers, started=started)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
