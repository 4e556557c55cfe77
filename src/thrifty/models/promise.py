"""What a search promises of the model it chose: what a row will cost on average, and at most."""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Promise:
    """The terms on which a model was chosen, and what was measured out of fold.

    Attributes
    ----------
    budget : float or None
        The bound on the mean spend that was asked for.
    cap : float or None
        The hard limit on each row's spend.
    unit : str
        What spend is counted in.
    spend : float
        Mean spend of rows that the models had not seen.
    spend_bound : float
        What the mean spend of as many new rows stays below, with the confidence stated.
    confidence : float
    scoring : str
        What `score` is.
    score : float
        Mean score of rows that the models had not seen, and `score_error`, its standard error.
    score_error : float
    method : str
        Name of the method that was chosen, and its `parameters`.
    parameters : dict
    n_rows : int
        Rows that spend and score were measured on.
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
        """Whether the bound on the mean spend is within the budget."""
        return self.budget is None or self.spend_bound <= self.budget

    def as_dict(self) -> dict[str, Any]:
        """Return the promise as plain values, ready for JSON."""
        return asdict(self)
