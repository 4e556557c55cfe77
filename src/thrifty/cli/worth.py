"""What a search says about the value of money: the anchors, the same columns for everyone, and what more money buys."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from thrifty.costs.amounts import amount
from thrifty.tuning.comparisons import (
    Point,
    best_beyond,
    best_of_all,
    best_same_for_all,
    best_within,
    complete,
    is_measured_again,
    notes,
    smoothed,
)
from thrifty.tuning.mixing import best_pair, is_mixture
from thrifty.tuning.refinement import CLOSE

MAX_METHODS = 4  # in a sentence
IDENTITY = ("method", "parameters", "spend")  # of a point


def worth_sentences(
    points: Sequence[Point],
    anchors: Mapping[str, Point] | None,
    chosen: Point | None,
    unit: str,
    *,
    budget: float | None = None,
    smooth: bool = True,
) -> Iterator[str]:
    """Yield sentences that compare the chosen point, or else the best one, with what less and more money buy.

    Parameters
    ----------
    points : sequence of dict
    anchors : dict or None
    chosen : dict or None
    unit : str
    budget : float or None
        If there is one, a sentence tells whether a mixture would use what is left of it.
    smooth : bool, default=True
        Whether scores are expected to rise with the spend. What less and more money buy is then compared by smoothed
        scores, because the best of many measured scores is too good on average.
    """
    yield from anchor_sentences(anchors or {}, unit)
    point = chosen or best_of_all(points)
    if point is None:
        return
    if static := best_same_for_all(points, point["spend"]):
        found = f"{static['score']:.3f}, for {amount(static['spend'], unit)} ({static['method']})"
        yield f"The same columns for every row score at best {found}, within this spend."
    known = smoothed(points) if smooth else complete(points)
    here = next((each for each in known if all(each[name] == point[name] for name in IDENTITY)), point)
    kind = "smoothed score" if smooth else "score"
    yield from less_money(known, here, unit, kind)
    yield more_money(known, here, unit, kind)
    if chosen is not None and budget is not None:
        yield from unspent_sentences(complete(points), here, budget, smooth=smooth)


def anchor_sentences(anchors: Mapping[str, Point], unit: str) -> Iterator[str]:
    """Yield what the constant answer scores for nothing, and what everything for everyone scores."""
    known = {name: each for name, each in anchors.items() if _is_known(each)}
    if "constant" in known:
        yield f"The constant answer scores {known['constant']['score']:.3f} for nothing."
    if "everything" in known:
        spend = amount(known["everything"]["spend"], unit)
        yield f"Everything for everyone scores {known['everything']['score']:.3f} for {spend} a row."


def less_money(points: Sequence[Point], point: Point, unit: str, kind: str) -> Iterator[str]:
    """Yield what half the spend of a point buys, if that is something."""
    cheaper = best_within(points, point["spend"] / 2)
    if cheaper is not None and cheaper["spend"] > 0:
        yield (
            f"Less money: within half of this spend, the best {kind} is {cheaper['score']:.3f}, for "
            f"{amount(cheaper['spend'], unit)} a row ({cheaper['method']})."
        )


def more_money(points: Sequence[Point], point: Point, unit: str, kind: str) -> str:
    """Return what the best score costs that is higher than that of a point, or that there is none."""
    better = best_beyond(points, point)
    if better is None:
        return f"No point that was measured above {amount(point['spend'], unit)} has a better {kind}."
    return (
        f"More money buys more: the best {kind} is {better['score']:.3f}, for {amount(better['spend'], unit)} a row "
        f"({better['method']})."
    )


def unspent_sentences(points: Sequence[Point], point: Point, budget: float, *, smooth: bool = True) -> Iterator[str]:
    """Yield what a mixture of two points should score at the budget, if a point leaves a tenth of it unspent."""
    if point["spend"] >= CLOSE * budget or not _could_mix(points):
        return
    pair = best_pair(pd.DataFrame(points), budget, smooth=smooth)
    if pair is not None and pair.score > point["score"]:
        yield (
            "No model that was measured uses the rest of the budget for a better score. A mixture of two models should "
            f"score about {pair.score:.3f}: pass --mix."
        )


def _could_mix(points: Sequence[Point]) -> bool:
    """Tell whether points are comparable, and no mixture of them was measured yet."""
    return bool(points) and not any(is_mixture(each["parameters"]) or is_measured_again(each) for each in points)


def note_sentences(points: Sequence[Point]) -> Iterator[str]:
    """Yield which points do not compete, and why."""
    for note, methods, count in notes(points):
        others = f" and {len(methods) - MAX_METHODS} more" if len(methods) > MAX_METHODS else ""
        named = ", ".join(methods[:MAX_METHODS]) + others
        yield f"{count:,} point{'s' * (count != 1)} of {named}: {note.rstrip('.')}."


def _is_known(anchor: Mapping[str, Any]) -> bool:
    score = anchor.get("score")
    return score is not None and score == score  # not NaN
