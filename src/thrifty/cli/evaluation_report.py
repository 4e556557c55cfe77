"""What ``thrifty evaluate`` found, as sentences and tables, as JSON, and as an HTML page."""

from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

from thrifty import __version__
from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.page import fill_template, large_numbers, table_row
from thrifty.cli.search_report import SearchReport
from thrifty.cli.terminal import console, plain_table
from thrifty.evaluation import Evaluation
from thrifty.evaluation.estimates import Estimate
from thrifty.metrics.curves import score_name

TEMPLATE = Path(__file__).with_name("evaluation.html")
KEPT = {True: "The promise holds", False: "The promise is broken", None: "There is no promise"}


def sentences(loaded: LoadedModel, found: Evaluation) -> Iterator[str]:
    """Yield what the rows score and spend, and whether the promise holds."""
    score, spend = score_name(found.scoring), loaded.amount(found.spend.value)
    yield f"{score} {_number(found.score.value)}{_range(found, found.score, _number)}, on {_rows(found)}."
    yield from _promised_score(loaded, found)
    largest = loaded.amount(found.largest_spend)
    yield f"Spend: {spend} a row on average{_range(found, found.spend, loaded.amount)}; {largest} at most."
    if found.cap is not None and found.at_cap is not None:
        yield f"The cap of {loaded.amount(found.cap)} stops {found.at_cap:.1%} of the rows."
    yield verdict(loaded, found)
    yield from _worth(loaded)


def verdict(loaded: LoadedModel, found: Evaluation) -> str:
    """Return whether the promise holds, and how that was tested."""
    if found.promised is None:
        return "The model comes without a promise about its spend, so there is nothing to test."
    promised, floor = loaded.amount(found.promised), loaded.amount(max(found.spend_floor, 0.0))
    if found.promise_kept:
        return f"{KEPT[True]}: at most {promised} a row on average."
    return (
        f"{KEPT[False]}: at most {promised} a row on average, but these rows spend more than {floor} with "
        f"{100 * found.confidence:g}% confidence."
    )


def _promised_score(loaded: LoadedModel, found: Evaluation) -> Iterator[str]:
    """Yield what the search measured, if it measured the same score."""
    promise = getattr(loaded.model, "promise_", None)
    if promise is not None and promise.scoring == found.scoring:
        yield f"The search measured {promise.score:.3f} (± {promise.score_error:.3f})."


def _worth(loaded: LoadedModel) -> Iterator[str]:
    """Yield what the search measured for less and for more money, if the model comes from a search."""
    searched = SearchReport.of_manifest(loaded.manifest)
    if searched is not None:
        yield f"What the search measured for less and for more money ({score_name(searched.scoring)}):"
        yield from searched.worth()


def _range(found: Evaluation, estimate: Estimate, written: Any) -> str:
    if estimate.low != estimate.low:  # NaN
        return ""
    return f" ({100 * found.confidence:g}% interval {written(estimate.low)} to {written(estimate.high)})"


def _number(value: float) -> str:
    return f"{value:.3f}"


def _rows(found: Evaluation) -> str:
    return f"{found.n_rows:,} row{'s' * (found.n_rows != 1)}"


# Tables


def class_cells(loaded: LoadedModel, found: Evaluation) -> list[list[str]]:
    """Return a line for each class: rows, mean spend, share that is predicted correctly."""
    return [
        [str(each.label), f"{each.n_rows:,}", loaded.amount(each.spend), f"{each.right:.1%}"] for each in found.classes
    ]


def bin_cells(found: Evaluation) -> list[list[str]]:
    """Return a line for each bin of probabilities: its bounds, rows, the mean probability, the share that is right."""
    bins = found.calibration.bins if found.calibration else ()
    return [
        [f"{each.low:.0%} to {each.high:.0%}", f"{each.n_rows:,}", f"{each.stated:.1%}", f"{each.right:.1%}"]
        for each in bins
    ]


def calibration_sentence(found: Evaluation) -> str:
    """Return the expected calibration error and the Brier score; empty if there are no probabilities."""
    if found.calibration is None:
        return ""
    error, brier = found.calibration.expected_error, found.calibration.brier
    return f"Expected calibration error {error:.3f}, Brier score {brier:.3f}; 0 is best for both."


def print_evaluation(loaded: LoadedModel, found: Evaluation) -> None:
    """Print an evaluation for people."""
    out = console()
    if found.classes:
        table = plain_table(_class="left", rows="right", spend="right", correct="right")
        for cells in class_cells(loaded, found):
            table.add_row(*cells)
        out.print(table)
        table = plain_table(probability="left", rows="right", stated="right", correct="right")
        for cells in bin_cells(found):
            table.add_row(*cells)
        out.print(table)
        out.print(calibration_sentence(found))
    for sentence in sentences(loaded, found):
        out.print(sentence)


def record_of(loaded: LoadedModel, found: Evaluation) -> dict[str, Any]:
    """Return an evaluation as plain values, ready for JSON."""
    promise = getattr(loaded.model, "promise_", None)
    anchors = loaded.manifest and loaded.manifest.anchors
    return found.as_dict() | {"promise": promise and promise.as_dict(), "anchors": anchors}


def evaluation_page(loaded: LoadedModel, found: Evaluation, title: str) -> str:
    """Return an evaluation as an HTML page that needs no other file."""
    numbers = [
        (_number(found.score.value), f"{score_name(found.scoring)} on {_rows(found)}"),
        (loaded.amount(found.spend.value), "a row on average"),
        (KEPT[found.promise_kept], "" if found.promised is None else f"at most {loaded.amount(found.promised)} a row"),
    ]
    parts = {
        "large_numbers": large_numbers(numbers),
        "sentences": "".join(f"<p>{escape(each)}</p>" for each in sentences(loaded, found)),
        "classes": "\n".join(map(table_row, class_cells(loaded, found))),
        "bins": "\n".join(map(table_row, bin_cells(found))),
        "hidden": "" if found.classes else "hidden",
    }
    texts = {"title": title, "calibration": calibration_sentence(found), "version": __version__}
    return fill_template(TEMPLATE, texts=texts, parts=parts)
