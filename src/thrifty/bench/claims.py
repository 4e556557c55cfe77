"""What a paper or this project claims, and what was found."""

from dataclasses import dataclass
from typing import Literal, get_args

Outcome = Literal["reproduced", "not reproduced", "better", "not run"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)


@dataclass(frozen=True)
class Claim:
    """A claim, and where it was made.

    Attributes
    ----------
    paper : str
        Authors, year and title.
    where : str
        The figure, table or section.
    text : str
        The claim in one or two sentences of our own.
    """

    paper: str
    where: str
    text: str


@dataclass(frozen=True)
class Verdict:
    """What was found about a claim.

    Attributes
    ----------
    claim : Claim
    outcome : {"reproduced", "not reproduced", "better", "not run"}
        "better" means that the figure is better than the claimed one by more than its error.
    sentence : str
        One or two plain sentences with the figures and the seeds.
    """

    claim: Claim
    outcome: Outcome
    sentence: str

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"Verdict: outcome is {self.outcome!r}; expected one of {', '.join(OUTCOMES)}.")
