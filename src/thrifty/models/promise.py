"""The promise of a search: what the chosen model spends on average and at most, and what it scored."""

from dataclasses import asdict, dataclass
from typing import Any

from thrifty.costs.amounts import amount
from thrifty.costs.notebook import described, table
from thrifty.metrics.curves import score_name
from thrifty.stored import MappingOf, Number, OrNone, Parameter, Text, Whole, stored


@stored(
    budget=OrNone(Number()),
    cap=OrNone(Number()),
    unit=Text(),
    spend=Number(),
    spend_bound=Number(),
    confidence=Number(),
    scoring=Text(),
    score=Number(),
    score_error=Number(),
    method=Text(),
    parameters=MappingOf(Parameter()),
    n_rows=Whole(0),
)
@dataclass(frozen=True)
class Promise:
    """The terms on which a search chose a model, and what cross-validation measured.

    Spend and score are out-of-fold: each row was predicted by a model that was not fitted on it.

    Attributes
    ----------
    budget : float or None
        The bound on the mean spend per row that the user asked for.
    cap : float or None
        The hard limit on each row's spend.
    unit : str
        The unit of all costs.
    spend : float
        Mean out-of-fold spend per row.
    spend_bound : float
        Upper confidence bound on the mean spend of new rows.
    confidence : float
        The confidence of `spend_bound`, between 0 and 1.
    scoring : str
        The name of the score.
    score : float
        Mean of the scores of the folds.
    score_error : float
        Standard error of `score`.
    method : str
        Name of the chosen method.
    parameters : dict
        Parameters of the chosen method.
    n_rows : int
        The number of rows that spend and score were measured on.

    Examples
    --------
    >>> from thrifty import BudgetSearchCV
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> promise = BudgetSearchCV(["l1"], budget=40, costs=heart.costs).fit(heart.X, heart.y).promise_
    >>> promise.kept, promise.method, promise.unit
    (True, 'l1', 'CAD')
    """

    budget: float | None
    cap: float | None
    unit: str
    spend: float
    spend_bound: float
    confidence: float
    scoring: str
    score: float
    score_error: float
    method: str
    parameters: dict[str, Any]
    n_rows: int

    @property
    def kept(self) -> bool:
        """Whether `spend_bound` is within the budget; True if there is no budget."""
        return self.budget is None or self.spend_bound <= self.budget

    def as_dict(self) -> dict[str, Any]:
        """Return the attributes as a dict of plain values, ready for JSON.

        Returns
        -------
        dict
        """
        return asdict(self)

    def _repr_html_(self) -> str:
        spend, bound = amount(self.spend, self.unit), amount(self.spend_bound, self.unit)
        budget, cap = ("none" if each is None else amount(each, self.unit) for each in (self.budget, self.cap))
        facts = [
            ["budget, the bound on the mean spend", budget],
            ["cap, the limit on each row's spend", cap],
            ["mean spend, measured", f"{spend}, with {self.confidence:.0%} confidence below {bound}"],
            [score_name(self.scoring), f"{self.score:.3f} ± {self.score_error:.3f}"],
            ["method", self.method],
            *([name, str(value)] for name, value in self.parameters.items()),
        ]
        kept = "kept" if self.kept else "not kept: the bound exceeds the budget"
        return described("Promise", f"{kept}, by cross-validation on {self.n_rows:,} rows.", table(None, facts))
