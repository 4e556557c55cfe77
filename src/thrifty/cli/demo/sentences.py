"""What the numbers say, in the words that the terminal and the page share."""

from functools import partial
from typing import Any

from thrifty.cli.amounts import amount
from thrifty.cli.demo.replay import Replay, Showcase
from thrifty.cli.demo.study import Outcome, Study

TREE = "ASTC tree: buys test by test, patient by patient"
STATIC = "static l1: the same tests for everyone"
FULL = "full model: every test for everyone"

money = partial(amount, unit="$")


def numbers(outcome: Outcome) -> tuple[str, str, str]:
    """Write spend, accuracy and AUC."""
    return f"${outcome.spend:.2f}", f"{outcome.accuracy:.1%}", f"{outcome.auc:.3f}"


def question(heart: Any) -> str:
    """What the demo is about."""
    return (
        f"{len(heart.y)} patients, {len(heart.names)} tests each, {money(heart.costs.total)} for the full work-up. "
        "Who needs which test, to tell whether it is heart disease?"
    )


def finding(study: Study) -> str:
    """The main finding, from the numbers alone."""
    row, full = study.headline, study.full
    return (
        f"At a budget of {money(row.budget)} the tree answers {row.tree.accuracy:.1%} of unseen patients correctly for "
        f"${row.tree.spend:.0f} each, {row.tree.spend / full.spend:.0%} of what the full work-up costs. "
        f"The full work-up reaches {full.accuracy:.1%}, the static model within the same budget "
        f"{row.static.accuracy:.1%}."
    )


def method(study: Study) -> str:
    """How it was measured, and how far the numbers can be trusted."""
    return (
        f"Means over {study.folds} held-out folds; models were chosen by an inner cross-validation of the other folds. "
        f"An accuracy is known to about {study.chance * 100:.0f} points either way. "
        "The kinds of tree to choose from were designed on these same data, which flatters the tree somewhat. "
        "A budget bounds the mean spend per patient, in Canadian dollars."
    )


def spread(showcase: Showcase) -> str:
    """How differently the tree treats patients."""
    spend = showcase.spend
    return (
        f"It spends {money(spend.min())} on {showcase.share_paying_least:.0%} of them, up to {money(spend.max())} "
        f"on those who are hard to tell, and ${spend.mean():.0f} on average."
    )


def patient(replay: Replay) -> str:
    """Who is replayed, and why."""
    return (
        f"Patient {replay.patient} was left out when this tree was fitted. "
        "It is shown because it takes many steps to a right answer, not because it is typical."
    )


def verdict(replay: Replay) -> str:
    """How it ended."""
    truth = "which is right" if replay.answer == replay.truth else f"but it is {replay.truth}"
    return (
        f"Answer: {replay.answer}, {truth}, for {money(replay.spend)}. "
        f"The full work-up costs {money(replay.full_cost)}."
    )
