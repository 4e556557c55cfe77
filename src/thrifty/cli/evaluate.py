"""``thrifty evaluate``: whether a model keeps its promise on held-out rows, and what it scores there."""

from pathlib import Path
from typing import Annotated, Any

import typer

from thrifty.cli.keys import KeyFile, read_key

BROKEN = 1  # exit code
ROWS_HELP = "Held-out rows with their targets: .csv, .tsv, .parquet, a folder of .parquet, or - for standard input."
HTML = (".html", ".htm")


def evaluate(
    model: Annotated[Path, typer.Argument(help="A model file.")],
    rows: Annotated[
        Path,
        typer.Argument(help=ROWS_HELP),
    ],
    target: Annotated[
        str | None, typer.Option(help="The column with the targets; by default the one that the model was fitted to.")
    ] = None,
    qid: Annotated[str | None, typer.Option(help="The column with the query of each row, for ranking.")] = None,
    cap: Annotated[float | None, typer.Option(help="Hard limit on each row's spend.")] = None,
    scoring: Annotated[
        str | None, typer.Option(help="The score: a scikit-learn scorer such as roc_auc, or ndcg@k.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a self-contained page to this file: .html.")] = None,
    key_file: KeyFile = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Evaluate a model on held-out rows: score, spend and calibration. Exit code 1 if its promise is broken."""
    from thrifty.cli.evaluation_report import evaluation_page, print_evaluation, record_of
    from thrifty.cli.loaded_model import LoadedModel
    from thrifty.cli.output_files import refuse_output
    from thrifty.cli.terminal import print_json
    from thrifty.replacing import replacing

    if html is not None:
        refuse_output("--html", html, formats=HTML, inputs=(model, rows))
    loaded = LoadedModel.open(model, read_key(key_file))
    loaded.model.session(cap)  # raises ValueError if the cap is not valid, before the table is read
    found = evaluation_of(loaded, rows, target, qid, cap, scoring)
    if html is not None:
        with replacing(html) as unfinished:
            unfinished.write_text(evaluation_page(loaded, found, rows.name), encoding="utf-8")
    if json:
        print_json(record_of(loaded, found))
    else:
        print_evaluation(loaded, found)
    if found.promise_kept is False:
        raise typer.Exit(BROKEN)


def evaluation_of(
    loaded: Any, rows: Path, target: str | None, qid: str | None, cap: float | None, scoring: str | None
) -> Any:
    """Predict a table chunk by chunk, and evaluate the predictions."""
    from thrifty.cli.labelled_rows import read_labelled
    from thrifty.cli.words import rows_counted_by
    from thrifty.evaluation.evaluation import Evaluation
    from thrifty.evaluation.recorded_rows import RecordedRows, scoring_of

    if scoring is not None:
        scoring = scoring_of(loaded.model, scoring, qid)  # raises ValueError before the table is read
    parts = []
    for chunk in read_labelled(rows, loaded, target, qid, description="evaluating"):
        with rows_counted_by(lambda row, first=chunk.first: first + row + 1, str(rows)):  # type: ignore[misc]
            parts.append(RecordedRows.of(loaded.model, loaded.as_given(chunk.X), chunk.y, cap, chunk.qid))
    return Evaluation.of(loaded.model, RecordedRows.joined(parts), scoring=scoring, cap=cap)
