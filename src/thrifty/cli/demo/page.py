"""The demo on one page that needs nothing else: pictures and style are inside, and nothing is fetched."""

from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from thrifty import __version__
from thrifty.cli.demo import sentences
from thrifty.cli.demo.findings import name_of
from thrifty.cli.demo.replay import Replay, Showcase, Step
from thrifty.cli.demo.sentences import money, numbers
from thrifty.cli.demo.study import SHOWN_BUDGET, Study
from thrifty.cli.page import embedded, fill, table_row, tiles

TEMPLATE = Path(__file__).with_name("page.html")


def compose(heart: Any, study: Study, showcase: Showcase, pictures: Mapping[str, bytes]) -> str:
    """Fill the page."""
    replay = showcase.replay
    prose = {
        "question": sentences.question(heart),
        "finding": sentences.finding(study),
        "method": sentences.method(study),
        "spread": sentences.spread(showcase),
        "patient": sentences.patient(replay),
        "reason": replay.reason,
        "verdict": sentences.verdict(replay),
        "shown_budget": money(SHOWN_BUDGET),
        "tree_name": sentences.TREE,
        "static_name": sentences.STATIC,
        "version": __version__,
    }
    parts = {
        "prices": _prices(heart),
        "tiles": _tiles(study, showcase),
        "rows": "\n".join(_rows(study)),
        "full": table_row(["full model", *numbers(study.full), "", "", ""]),
        "steps": "\n".join(_step(step, replay) for step in replay.steps),
        "curve": embedded(pictures["cost-curve.png"]),
        "tree": embedded(pictures["tree.png"]),
    }
    return fill(TEMPLATE, prose=prose, parts=parts)


def _prices(heart: Any) -> str:
    alone = heart.costs.of(np.eye(len(heart.names), dtype=bool))
    tests = zip(map(name_of, heart.names), alone, strict=True)
    return "".join(f"<li>{escape(name)} {money(price)}</li>" for name, price in tests)


def _tiles(study: Study, showcase: Showcase) -> str:
    tree, full = study.headline.tree, study.full
    contents = [
        (f"${tree.spend:.0f}", f"a patient on average, instead of ${full.spend:.0f}"),
        (f"{tree.accuracy:.1%}", f"of unseen patients right, {full.accuracy:.1%} with every test"),
        (f"{showcase.share_paying_least:.0%}", f"of patients pay only {money(showcase.spend.min())} in the tree below"),
    ]
    return tiles(contents)


def _rows(study: Study) -> Iterable[str]:
    for row in study.rows:
        best = ' class="best"' if row is study.headline else ""
        yield table_row([money(row.budget), *numbers(row.tree), *numbers(row.static)], best)


def _step(step: Step, replay: Replay) -> str:
    found = ", ".join(f"{escape(name)}: <b>{escape(value)}</b>" for name, value in step.findings)
    onward = f'<div class="quiet">goes to the {", then the ".join(step.turns)}</div>' if step.turns else ""
    paid = _meter("paid so far", step.spend / replay.full_cost, money(step.spend), "")
    risk = _meter("risk so far", step.risk, f"{step.risk:.0%}", "risk")
    return f'<li><div class="bill">{money(step.cost)}</div>{found}{paid}{risk}{onward}</li>'


def _meter(name: str, share: float, text: str, kind: str) -> str:
    bar = f'<span class="track"><i class="{kind}" style="width:{share:.0%}"></i></span>'
    return f'<div class="meter"><span>{name}</span>{bar}<span>{text}</span></div>'
