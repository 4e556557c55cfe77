"""``thrifty refit``: another budget for a model that a search has found, without a new search."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from thrifty.cli.keys import KeyFile, read_key

if TYPE_CHECKING:
    from thrifty.models.rows import Rows


def refit(
    model: Annotated[Path, typer.Argument(help="A model file that comes from a search.")],
    data: Annotated[Path, typer.Argument(help="The training rows: .csv, .tsv, .parquet, or - for standard input.")],
    budget: Annotated[float | None, typer.Option(help="Upper bound on the mean spend per row.")] = None,
    cap: Annotated[float | None, typer.Option(help="Hard limit on the spend of each row.")] = None,
    target: Annotated[
        str | None, typer.Option(help="The column to predict; by default the one that the model was fitted to.")
    ] = None,
    qid: Annotated[str | None, typer.Option(help="The column with the query of each row, for ranking.")] = None,
    mix: Annotated[
        bool, typer.Option("--mix", help="Allow a mixture of two points, one of which is beyond the budget.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The new model file; by default MODEL-BUDGET.thrifty.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit the best point of a search for another budget or cap, print what it promises, and save it."""
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.search_report import SearchReport
    from thrifty.cli.terminal import console, warnings_as_notes
    from thrifty.persistence import save
    from thrifty.tuning.stored_search import StoredSearch

    key = read_key(key_file)
    if budget is None:
        raise ValueError("--budget is missing. Pass the bound on the mean spend per row.")
    path = output or model.with_name(f"{model.stem}-{budget:g}.thrifty")
    refuse_output("--output", path, inputs=(data, model), force=force)
    loaded = LoadedModel.open(model, key)
    assert loaded.manifest is not None
    stored = StoredSearch.of(loaded.model, loaded.manifest.frontier, loaded.manifest.anchors)
    rows = _training_rows(data, loaded, target, qid)
    with warnings_as_notes():
        found = stored.at_budget(rows, budget, cap, mix=mix)
    save(found, path, key=key, target=target or loaded.manifest.target)
    report = SearchReport.of_search(found)
    if json:
        report.print_json(model=str(path))
    else:
        report.print()
        console().print(f"Saved as {path}.", soft_wrap=True)


def _training_rows(data: Path, loaded: Any, target: str | None, qid: str | None) -> "Rows":
    import numpy as np
    import pandas as pd

    from thrifty.cli.labelled_rows import read_labelled
    from thrifty.models.rows import Rows

    chunks = list(read_labelled(data, loaded, target, qid, description="reading"))
    frame = pd.concat([each.X for each in chunks], ignore_index=True)
    y = np.concatenate([each.y for each in chunks])
    queries = np.concatenate([each.qid for each in chunks]) if qid else None
    return Rows(loaded.as_given(frame), y, None, queries)
