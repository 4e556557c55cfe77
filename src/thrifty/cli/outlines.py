"""The outline of a model as the terminal shows it."""

from typing import Any

from rich.text import Text
from rich.tree import Tree

from thrifty.cli.amounts import amount
from thrifty.cli.terminal import plain_table
from thrifty.models.outline import Outline, Stage, describe_stage


def draw_outline(outline: Outline) -> Any:
    """Return the structure of a model: a tree of stages, or a table of columns."""
    if outline.stages is not None:
        return _branch(outline.stages, outline.unit, Tree(_label(outline.stages, outline.unit), guide_style="dim"))
    table = plain_table(feature="left", price_alone="right")
    counted = outline.counted_in
    for name in (f"first {counted}", f"{counted}s") if counted else ():
        table.add_column(name, justify="right")
    for use in outline.uses:
        counts = (str(use.first), str(use.count)) if counted else ()
        table.add_row(use.feature, amount(use.price, outline.unit, fixed=True), *counts)
    return table


def _branch(stage: Stage, unit: str, tree: Tree) -> Tree:
    for child in stage.children:
        _branch(child, unit, tree.add(_label(child, unit)))
    return tree


def _label(stage: Stage, unit: str) -> Text:
    text = Text(describe_stage(stage, lambda value: amount(value, unit)))
    if stage.rule is not None:
        text.append(f"\n{stage.rule}?", "dim")
    return text
