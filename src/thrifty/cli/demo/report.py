"""What the demo shows: a table and a trace in the terminal, a picture, and one page with all of it."""

from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from rich.table import Table
from rich.text import Text
from threadpoolctl import threadpool_limits

from thrifty import __version__
from thrifty.cli.demo.heart_in_words import load_heart_in_words
from thrifty.cli.demo.study import SEARCHED, BudgetRow, Outcome, Study, run_study
from thrifty.cli.loaded_model import LoadedModel
from thrifty.cli.output_files import write_all
from thrifty.cli.page import embedded_picture, fill_template, large_numbers, png_bytes, table_row
from thrifty.cli.terminal import console, plain_table, progress
from thrifty.cli.trace_text import ending, step_cells, step_table
from thrifty.cli.traces import Trace, fetch_from, trace_row
from thrifty.costs.amounts import amount
from thrifty.metrics import CostCurve
from thrifty.plots import CostCurveDisplay

TEMPLATE = Path(__file__).with_name("page.html")
ADAPTIVE = "thrifty: one ThriftyClassifier, at the operating point for the budget"
SEARCH = "search: the best model within the budget, of several methods"
SAME = "same tests: the best of the search that buys the same tests for everyone"
FULL = "all tests: logistic regression on every test"

money = partial(amount, unit="$")


@dataclass(frozen=True)
class Patient:
    """A patient, counted from 1, with the trace of its prediction by a model that was fitted without this patient."""

    number: int
    truth: str
    loaded: LoadedModel
    trace: Trace


def run_demo(output: Path, *, folds: int, seed: int) -> None:
    """Run the study, print its results, and write the picture and the page."""
    heart, out = load_heart_in_words(), console()
    texts = {"question": question(heart)}
    out.print(texts["question"])
    out.line()
    with threadpool_limits(1), progress("cross-validating", folds) as advance:  # more threads are slower on so few rows
        study = run_study(heart, folds=folds, seed=seed, on_fold=advance)
    patient = choose_patient(heart, study)
    texts |= sentences(study, patient)
    print_results(out, study, patient, texts)
    picture = draw_curves(study)
    page = compose_page(heart, study, patient, texts, picture)
    out.line()
    out.print("Open the first of these in a browser:")
    for path in write_all(output, {"index.html": page.encode(), "cost-curve.png": picture}):
        out.print(f"  {path}", soft_wrap=True)


def choose_patient(heart: Any, study: Study) -> Patient:
    """Return the held-out patient with the most steps, of those with a correct answer for at most half of all costs."""
    loaded = LoadedModel(study.models[study.headline.budget])
    rows = heart.X.iloc[list(study.held_out)].to_dict("records")
    patients = [
        Patient(k + 1, str(heart.y[k]), loaded, trace_row(loaded, fetch_from(row)))
        for k, row in zip(study.held_out, rows, strict=True)
    ]

    def preference(patient: Patient) -> tuple[bool, bool, int]:
        trace = patient.trace
        return trace.prediction == patient.truth, trace.saved >= heart.costs.total / 2, len(trace.steps)

    return max(patients, key=preference)


def question(heart: Any) -> str:
    """Return what the demo is about."""
    return (
        f"{len(heart.y)} patients, {heart.X.shape[1]} tests each, {money(heart.costs.total)} for all tests. "
        "Which tests does each patient need to tell whether it is heart disease?"
    )


def sentences(study: Study, patient: Patient) -> dict[str, str]:
    """Return the sentences that the terminal and the page share."""
    row, full = study.headline, study.full
    stopped, answer = ending(patient.loaded, patient.trace)
    return {
        "finding": f"Within a budget of {money(row.budget)} the search answers {row.search.accuracy:.1%} of held-out "
        f"patients correctly for ${row.search.spend:.0f} each, {row.search.spend / full.spend:.0%} of what all tests "
        f"cost. All tests reach {full.accuracy:.1%}, the same tests for everyone within this budget "
        f"{row.same.accuracy:.1%}, and one ThriftyClassifier for all budgets {row.adaptive.accuracy:.1%} for "
        f"${row.adaptive.spend:.0f}.",
        "protocol": f"Means over {study.n_folds} held-out folds. For each fold a search sees the other folds only: it "
        f"cross-validates a fast version of thrifty, {', '.join(SEARCHED)} (to keep the demo short) and takes the most "
        "accurate model whose mean spend stays within the budget with 95% confidence. ThriftyClassifier is fitted once "
        "to the other folds, minimises the log-loss, and keeps the budget with the same confidence. The standard error "
        f"of an accuracy is about {100 * study.accuracy_error:.0f} points. The bold row is chosen by its result in "
        "this table, which favours it; other seeds give other numbers. Prices are in Canadian dollars.",
        "patient": f"Patient {patient.number} was held out when the ThriftyClassifier for {money(row.budget)} was "
        "fitted. It is shown because the way to its correct answer has many steps and saves much, not because it is "
        "typical.",
        "stopped": stopped,
        "answer": f"{answer} The diagnosis is: {patient.truth}.",
    }


def cells(outcome: Outcome) -> tuple[str, str, str]:
    """Return spend, accuracy and AUC as text."""
    return f"${outcome.spend:.0f}", f"{outcome.accuracy:.1%}", f"{outcome.auc:.3f}"


def row_cells(row: BudgetRow) -> list[str]:
    """Return a row of the table of budgets as text."""
    return [money(row.budget), *cells(row.adaptive), *cells(row.search), *cells(row.same)]


def print_results(out: Any, study: Study, patient: Patient, texts: dict[str, str]) -> None:
    """Print the table of budgets, the finding, and the trace of the patient."""
    for name, _, meaning in (each.partition(": ") for each in (ADAPTIVE, SEARCH, SAME, FULL)):
        out.print(Text.assemble("  ", (f"{name:<12}", "bold"), meaning))
    out.print(budget_table(study))
    out.print(texts["finding"], style="bold")
    out.print(texts["protocol"], style="dim")
    out.line()
    out.print(texts["patient"])
    out.print(step_table(patient.loaded, patient.trace))
    out.print(texts["stopped"])
    out.print(texts["answer"])


def budget_table(study: Study) -> Table:
    """Return the outcomes of all budgets as a table for the terminal."""
    table = plain_table(budget="right", model="left", spend="right", accuracy="right", AUC="right")
    for row in study.rows:
        style = "bold green" if row is study.headline else ""
        for name, outcome in (("thrifty", row.adaptive), ("search", row.search), ("same tests", row.same)):
            budget = money(row.budget) if outcome is row.adaptive else ""
            table.add_row(*(Text(cell, style) for cell in (budget, name, *cells(outcome))))
        table.add_section()
    table.add_row("", "all tests", *cells(study.full))
    return table


def draw_curves(study: Study) -> bytes:
    """Return the cost curves of the adaptive model, the search, and the same tests for everyone, as PNG."""
    full = (study.full.spend, study.full.accuracy, FULL)
    display = CostCurveDisplay.from_curve(_curve([row.same for row in study.rows]), name=SAME, reference=full)
    CostCurveDisplay.from_curve(_curve([row.search for row in study.rows]), name=SEARCH, ax=display.ax_)
    CostCurveDisplay.from_curve(_curve([row.adaptive for row in study.rows]), name=ADAPTIVE, ax=display.ax_)
    display.ax_.set_xlabel("mean spend per patient ($)")
    display.ax_.yaxis.set_major_formatter("{x:.0%}")
    return png_bytes(display)


def _curve(outcomes: list[Outcome]) -> CostCurve:
    spend, accuracy = np.array([(each.spend, each.accuracy) for each in outcomes]).T
    return CostCurve(spend, accuracy, unit="$", score_name="accuracy on held-out patients")


def compose_page(heart: Any, study: Study, patient: Patient, texts: dict[str, str], picture: bytes) -> str:
    """Return the page."""
    best, full = study.headline, study.full
    numbers = [
        (f"${best.search.spend:.0f}", f"a patient on average, instead of ${full.spend:.0f}"),
        (f"{best.search.accuracy:.1%}", f"of held-out patients correct, {full.accuracy:.1%} with all tests"),
    ]
    alone = heart.costs.marginal(np.zeros(heart.costs.n_features, dtype=bool)).tolist()
    rows = [(row_cells(row), row is best) for row in study.rows]
    parts = {
        "prices": "".join(f"<li>{escape(n)} {money(price)}</li>" for n, price in zip(heart.X, alone, strict=True)),
        "large_numbers": large_numbers(numbers),
        "rows": "\n".join(table_row(row, best=is_best) for row, is_best in rows),
        "full": table_row(["all tests", *cells(full), *[""] * 6]),
        "outline": patient.loaded.model.outline()._repr_html_(),
        "steps": "\n".join(map(table_row, step_cells(patient.loaded, patient.trace))),
        "curve": embedded_picture(picture),
    }
    names = {"adaptive": ADAPTIVE, "search": SEARCH, "same": SAME, "budget": money(best.budget), "version": __version__}
    return fill_template(TEMPLATE, texts=texts | names, parts=parts)
