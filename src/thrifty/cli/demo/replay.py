"""One patient's way through the tree, step by step, by a tree that was fitted without this patient."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from thrifty import Acquire, ASTCClassifier
from thrifty.cli.demo.findings import LABELS, name_of, value_of
from thrifty.models.linear_nodes.tree import ROOT, LinearTree

_WHY = {
    "done": "done; for a patient who ends here, this tree plans no further test",
    "cap": "cap; the next test would cost more than is left",
}


@dataclass(frozen=True)
class Step:
    """One purchase: what was found, what it cost, and what is known after it."""

    findings: tuple[tuple[str, str], ...]  # name, value
    cost: float
    spend: float
    risk: float
    turns: tuple[str, ...]  # where the tree sends the patient because of it


@dataclass(frozen=True)
class Replay:
    """A session from the first question to the answer."""

    patient: int  # counted from 1
    steps: tuple[Step, ...]
    reason: str
    answer: str
    truth: str
    full_cost: float

    @property
    def spend(self) -> float:
        """What the patient was charged in all."""
        return self.steps[-1].spend


@dataclass(frozen=True)
class Showcase:
    """A tree, the patients it was fitted to, what each of them is charged, and one it has not seen."""

    tree: ASTCClassifier
    X: np.ndarray
    labels: np.ndarray
    spend: np.ndarray
    replay: Replay

    @property
    def share_paying_least(self) -> float:
        """The share of the patients for whom the first purchase is enough."""
        return float(np.mean(self.spend == self.spend.min()))


def show(heart: Any, tree: ASTCClassifier) -> Showcase:
    """Set the patient aside who shows most, fit the tree to all others, and replay."""
    labels = np.array(LABELS)[heart.y]
    for patient in _telling_patients(heart, labels, tree):
        others = np.arange(len(labels)) != patient
        X, known = heart.X[others], labels[others]
        refitted = clone(tree).fit(X, known)
        replay = replay_patient(heart, refitted, patient)
        if replay.answer == replay.truth:
            break
    return Showcase(refitted, X, known, refitted.spend(X), replay)


def _telling_patients(heart: Any, labels: np.ndarray, tree: ASTCClassifier) -> Iterator[int]:
    """Patients by the number of purchases, then by how much these changed the risk."""
    fitted = clone(tree).fit(heart.X, labels)
    acquisition = fitted.acquire(heart.X)
    purchases = np.array([len(_turns(fitted.tree_, node)) for node in acquisition.exit])
    at_first = fitted.predict_proba(heart.X, cap=fitted.tree_.path_cost[ROOT])[:, 1]
    swing = np.abs(fitted.predict_proba(heart.X)[:, 1] - at_first)
    yield from np.lexsort((-swing, -purchases)).tolist()


def replay_patient(heart: Any, model: ASTCClassifier, patient: int) -> Replay:
    """Drive a session with the values of one patient, and keep what happens."""
    values = dict(zip(heart.names, heart.X[patient], strict=True))
    session, asked = model.session(), []
    while isinstance(step := session.next(), Acquire):
        session.observe({feature: values[feature] for feature in step.features})
        asked.append((step, session.spend))
    row = heart.X[[patient]]
    steps = [
        Step(
            findings=tuple((name_of(feature), value_of(feature, values[feature])) for feature in bought.features),
            cost=bought.cost,
            spend=spend,
            risk=float(model.predict_proba(row, cap=spend)[0, 1]),
            turns=turns,
        )
        for (bought, spend), turns in zip(asked, _turns(model.tree_, step.exit), strict=True)
    ]
    truth = LABELS[heart.y[patient]]
    return Replay(patient + 1, tuple(steps), _WHY[step.reason], str(step.prediction), truth, heart.costs.total)


def _turns(tree: LinearTree, node: int) -> list[tuple[str, ...]]:
    """For each purchase on the way to a node, the sides that the patient is sent to before the next one."""
    path = [node]
    while path[0] != ROOT:
        path.insert(0, int(tree.parent[path[0]]))
    turns: list[tuple[str, ...]] = [()]
    for node, child in pairwise(path):
        turns[-1] += ("riskier side" if tree.upper[node] == child else "safer side",)
        if tree.buys(child).size:
            turns.append(())
    return turns
