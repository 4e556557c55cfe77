"""What each spend buys: the points of the search that a model comes from, or the model's own operating points."""

from typing import Any

import numpy as np

from thrifty.runtime.trace import plain
from thrifty.serving.served_model import ServedModel

METHOD = "thrifty"


def frontier(served: ServedModel) -> dict[str, Any]:
    """Return the points that can be reached, and how they are scored."""
    if served.manifest.frontier is not None and served.manifest.promise is not None:
        scoring = str(served.manifest.promise["scoring"])
        measured = [each for each in served.manifest.frontier if not each["error"] and each["spend_bound"] is not None]
        points = [_point_of_search(each) for each in measured]
    else:
        scoring, points = _operating_points(served)
    costs = served.model.cost_model_
    return {
        "unit": costs.unit,
        "scoring": scoring,
        "anchors": _anchors(served, points, costs.total) if points else None,
        "points": sorted(points, key=lambda point: (point["spend"], point["score"])),
        "operating": served.has_budgets,
    }


def _anchors(served: ServedModel, points: list[dict[str, Any]], total: float) -> dict[str, Any]:
    """Return what buying nothing and buying everything score: as the search measured it, or as the best point does."""
    measured = served.manifest.anchors or {}
    found = {"nothing": measured.get("constant"), "everything": measured.get("everything")}
    return {
        name: _best(points, spend) if anchor is None or anchor["score"] is None else _spend_and_score(anchor)
        for (name, anchor), spend in zip(found.items(), (0.0, total), strict=True)
    }


def _spend_and_score(anchor: dict[str, Any]) -> dict[str, Any]:
    return {"spend": plain(anchor["spend"]), "score": plain(anchor["score"])}


def _point_of_search(point: dict[str, Any]) -> dict[str, Any]:
    measured = {name: plain(point[name]) for name in ("spend", "score", "spend_bound", "method")}
    return measured | {"setting": plain(point["parameters"]), "kept": not point["dominated"]}


def _operating_points(served: ServedModel) -> tuple[str, list[dict[str, Any]]]:
    """Return the curve of an adaptive model, as a score that is larger if it is better."""
    if (curve := getattr(served.inner, "curve_", None)) is None:
        return "", []
    scoring, score = _score(served, curve.loss)
    best_before = np.concatenate([[-np.inf], np.maximum.accumulate(score)[:-1]])
    columns = (curve.cost_weight, curve.spend, score, curve._bounds(served.inner.confidence))
    better = [np.asarray(each)[score > best_before].tolist() for each in columns]
    return scoring, [
        plain({"spend": spend, "score": value, "spend_bound": bound, "method": METHOD})
        | {"setting": {"cost_weight": plain(weight)}, "kept": True}
        for weight, spend, value, bound in zip(*better, strict=True)
    ]


def _score(served: ServedModel, loss: np.ndarray) -> tuple[str, np.ndarray]:
    """Return the losses of a curve as a usual score; see `OperatingCurve.loss`."""
    if getattr(served.inner, "error_costs", None) is not None:
        return "neg_error_cost", -loss
    return ("neg_log_loss", -loss) if served.classes is not None else ("r2", 1.0 - 2.0 * loss)


def _best(points: list[dict[str, Any]], spend: float) -> dict[str, Any] | None:
    """Return the best point of this spend."""
    scores = [point["score"] for point in points if np.isclose(point["spend"], spend, atol=1e-9)]
    return {"spend": spend, "score": max(scores)} if scores else None
