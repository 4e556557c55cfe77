"""The outline of a fitted model: what it buys, where rows go, and what that costs.

Each family of models returns its own outline; the command line, plots and notebooks draw it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np

from thrifty.costs import CostModel
from thrifty.costs.amounts import amount


@dataclass(frozen=True)
class Stage:
    """A stage of a tree or cascade.

    Attributes
    ----------
    who : str
        Which rows arrive here: "every row", or the answer ("yes", "no") to the rule of the stage before.
    buys : list of str
        The columns that rows buy on arriving.
    cost : float
        What these columns cost, and the evaluation of tree outputs that are computed from them.
    paid : float
        What rows have paid up to and including this stage.
    share : float or None
        Share of the rows that get here, if rows were given.
    rule : str or None
        The question that decides where rows go next; None if they are answered here.
    children : list of Stage
        The stages for the answers "yes" and "no".
    """

    who: str
    buys: list[str]
    cost: float
    paid: float
    share: float | None
    rule: str | None = None
    children: list[Stage] = field(default_factory=list)


@dataclass(frozen=True)
class Use:
    """A column that a model can buy.

    Attributes
    ----------
    feature : str
        Name of the column.
    price : float
        What the column costs if nothing else is bought.
    first : int or None
        The first round or step, counted from 1, that reads the column; None if that depends on the row.
    count : int or None
        The number of rounds or steps that read it; None if that depends on the row.
    """

    feature: str
    price: float
    first: int | None = None
    count: int | None = None


@dataclass(frozen=True)
class Outline:
    """What a fitted model buys, where rows go, and what that costs.

    Attributes
    ----------
    model : str
        Name of the model's class.
    summary : str
        A sentence about how such a model works.
    unit : str
        The unit of all amounts.
    total : float
        What all columns cost together.
    stages : Stage or None
        The first stage, for models that are trees or cascades.
    uses : tuple of Use
        The columns that can be bought, for all other models.
    counted_in : {"round", "step"} or None
        What `Use.first` and `Use.count` count; None if the order depends on the row.
    evaluation : float
        What it costs at most to evaluate the model, beside the columns; 0 for trees, whose stages include it.

    Examples
    --------
    >>> from thrifty import ASTCClassifier
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart(as_frame=True)
    >>> model = ASTCClassifier(costs=heart.costs, max_depth=2, node_budget=[2, 8]).fit(heart.X, heart.y)
    >>> model.outline().stages.buys
    ['sex', 'cp']
    """

    model: str
    summary: str
    unit: str
    total: float
    stages: Stage | None = None
    uses: tuple[Use, ...] = ()
    counted_in: str | None = None
    evaluation: float = 0.0

    def structure(self) -> Any:
        """Return the stages or the uses as plain dicts and lists, ready for JSON."""
        return [asdict(use) for use in self.uses] if self.stages is None else asdict(self.stages)

    def __str__(self) -> str:
        return "\n".join([f"{self.model}: {self.summary}{self._evaluation_text()}", *self._lines()])

    def _evaluation_text(self) -> str:
        return f" Evaluation costs at most {amount(self.evaluation, self.unit)} more." if self.evaluation else ""

    def _lines(self) -> list[str]:
        if self.stages is not None:
            return _stage_lines(self.stages, self.unit, "")
        return [f"  {use.feature}: {amount(use.price, self.unit)}{_when(use, self.counted_in)}" for use in self.uses]

    def _repr_html_(self) -> str:
        body = _use_table(self) if self.stages is None else f"<ul>{_stage_item(self.stages, self.unit)}</ul>"
        summary = escape(self.summary + self._evaluation_text())
        return f"<div><strong>{escape(self.model)}</strong>: {summary}{body}</div>"


@dataclass(frozen=True)
class Columns:
    """The columns that an outline names.

    A model may read columns that are derived from the columns that are bought, such as levels of a category.

    Attributes
    ----------
    names : sequence of str
        The columns that are bought.
    costs : CostModel
        What they cost.
    labels : sequence of str
        The columns that the model reads.
    to_bought : callable
        Turns marks of columns read (n, n_read) into marks of columns bought (n, n_bought).
    """

    names: Sequence[str]
    costs: CostModel
    labels: Sequence[str]
    to_bought: Callable[[np.ndarray], np.ndarray] = np.asarray

    @classmethod
    def of(cls, costs: CostModel) -> Columns:
        """Return the columns of a model that reads what it buys; columns without names are x0, x1, ..."""
        names = costs.names or [f"x{j}" for j in range(costs.n_features)]
        return cls(names, costs, names)

    def marked(self, marks: np.ndarray) -> list[str]:
        """Return the names of the columns bought where one row of marks is True."""
        return [self.names[j] for j in np.flatnonzero(marks).tolist()]

    def uses(self, marks: np.ndarray) -> tuple[Use, ...]:
        """Return the columns in the order in which rounds or steps (n_steps, n_read) first read them."""
        bought, alone = self.to_bought(marks), self._prices_alone()
        first = bought.argmax(axis=0)
        order = [j for j in np.argsort(first, kind="stable").tolist() if bought[:, j].any()]
        return tuple(Use(self.names[j], alone[j], int(first[j]) + 1, int(bought[:, j].sum())) for j in order)

    def unordered_uses(self) -> tuple[Use, ...]:
        """Return all columns with their prices, for models whose order depends on the row."""
        return tuple(Use(name, price) for name, price in zip(self.names, self._prices_alone(), strict=True))

    def _prices_alone(self) -> list[float]:
        return self.costs.marginal(np.zeros(self.costs.n_features, dtype=bool)).tolist()


def describe_stage(stage: Stage, unit: str) -> str:
    """Return a sentence about a stage, with amounts in this unit."""
    text = f"{stage.who}: "
    if stage.buys:
        text += f"buy {', '.join(stage.buys)} for {amount(stage.cost, unit)}"
        text += f", {amount(stage.paid, unit)} in all" if stage.paid != stage.cost else ""
    elif stage.rule is not None:
        text += "buy nothing more"
    if stage.rule is None:
        text += " and answer" if stage.buys else "answer"
    return text + (f" ({stage.share:.0%} of rows)" if stage.share is not None else "")


def _stage_lines(stage: Stage, unit: str, indent: str) -> list[str]:
    lines = [f"{indent}  {describe_stage(stage, unit)}"]
    lines += [f"{indent}  {stage.rule}?"] if stage.rule is not None else []
    for child in stage.children:
        lines += _stage_lines(child, unit, f"{indent}    ")
    return lines


def _stage_item(stage: Stage, unit: str) -> str:
    text = escape(describe_stage(stage, unit))
    rule = f"<br><code>{escape(stage.rule)}?</code>" if stage.rule is not None else ""
    children = "".join(_stage_item(child, unit) for child in stage.children)
    return f"<li>{text}{rule}{f'<ul>{children}</ul>' if children else ''}</li>"


def _when(use: Use, counted_in: str | None) -> str:
    return f", first {counted_in} {use.first}, {use.count} in all" if counted_in and use.first else ""


def _use_table(outline: Outline) -> str:
    counted = outline.counted_in
    head = ["feature", "price alone", *([f"first {counted}", f"{counted}s"] if counted else [])]
    rows = [
        [use.feature, amount(use.price, outline.unit), *([str(use.first), str(use.count)] if counted else [])]
        for use in outline.uses
    ]
    lines = [("th", head), *(("td", row) for row in rows)]
    cells = ["".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in line) for tag, line in lines]
    return f"<table>{''.join(f'<tr>{line}</tr>' for line in cells)}</table>"
