"""The model as the service shows it: names instead of positions, plain values instead of arrays."""

from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor

from thrifty.models.base import BudgetedEstimator
from thrifty.models.outline import Columns
from thrifty.models.session import Feature, Stop
from thrifty.models.tables.raw_columns import fields_of
from thrifty.persistence import Manifest, load_with_manifest
from thrifty.runtime.sources.catalog import column_names
from thrifty.runtime.trace import plain
from thrifty.serving.examples import Examples
from thrifty.serving.stages import StagePaths

MAX_OPERATING_POINTS = 64  # that are kept; others are looked up again


class ServedModel:
    """A fitted model with its manifest, in plain values.

    Parameters
    ----------
    model : BudgetedEstimator
    manifest : Manifest
    name : str
        How the service calls the model.
    cap : float, optional
        The largest cap that a client may ask for.
    examples : str, optional
        The path of a table with complete rows.
    """

    def __init__(
        self,
        model: BudgetedEstimator,
        manifest: Manifest,
        name: str,
        cap: float | None = None,
        examples: str | None = None,
    ):
        self.model, self.manifest, self.name, self.cap = model, manifest, name, cap
        self.fields = fields_of(model)
        self.examples = Examples(self.fields) if examples is None else Examples.read(self.fields, examples)
        self.columns = list(self.fields)
        self.names: dict[Feature, str] = column_names(model)
        self.positions = {feature: j for j, feature in enumerate(self.names)}
        self.paths = StagePaths(model)
        self._operating_point = lru_cache(MAX_OPERATING_POINTS)(self._at_budget)
        self.model._row_caps(cap, 1)  # raises ValueError if the cap is not valid

    @classmethod
    def open(
        cls, path: str, key: bytes | None = None, cap: float | None = None, examples: str | None = None
    ) -> "ServedModel":
        """Load a model file."""
        model, manifest = load_with_manifest(path, key=key)
        return cls(model, manifest, Path(path).stem, cap, examples)

    @property
    def digest(self) -> str:
        """The digest of the model file."""
        return self.manifest.sha256

    # Limits and operating points

    @property
    def has_budgets(self) -> bool:
        """Whether the model has an operating point for each budget."""
        return hasattr(self.model, "at_budget")

    def at(self, budget: float | None) -> BudgetedEstimator:
        """Return the model at the operating point that keeps a budget; raise ValueError if it has none."""
        return self.model if budget is None else self._operating_point(budget)

    def _at_budget(self, budget: float) -> BudgetedEstimator:
        if not self.has_budgets:
            raise ValueError(
                f"budget is {budget:g}, but the model has one operating point only. Leave it out, or pass a cap."
            )
        return self.model.at_budget(budget)

    def limited(self, cap: float | None) -> float | None:
        """Return the cap that holds; raise ValueError if a client asks for more than the service allows."""
        if self.cap is not None and cap is not None and cap > self.cap:
            raise ValueError(f"cap is {cap:g}; this service allows at most {self.cap:g}. Pass a smaller cap.")
        return self.cap if cap is None else cap

    # Answers

    @cached_property
    def classes(self) -> list[Any] | None:
        """The classes of a classifier; None for other models."""
        return self.model.classes_.tolist() if is_classifier(self.model) else None

    def probabilities(self, score: Any) -> list[dict[str, float] | None] | None:
        """Return the probability of each class, for each of some scores; None if the model has no probabilities.

        Values near the largest float can overflow a score. Such a score has no probabilities either.
        """
        if not self._class_names:
            return None
        table = self.model._probabilities(np.asarray(score))
        lines = zip(table.tolist(), np.isfinite(table).all(axis=1).tolist(), strict=True)
        return [dict(zip(self._class_names, line, strict=True)) if known else None for line, known in lines]

    def probability(self, score: Any) -> dict[str, float] | None:
        """Return the probability of each class for one score; None if the model has no probabilities."""
        known = self.probabilities(np.asarray(score)[None])
        return None if known is None else known[0]

    @cached_property
    def _class_names(self) -> list[str]:
        known = self.classes if hasattr(self.model, "predict_proba") else None
        return [str(each) for each in known or ()]

    def answer(self, stop: Stop) -> dict[str, Any]:
        """Return the prediction at the end of a session."""
        return {
            "prediction": plain(stop.prediction),
            "probability": self.probability(stop.score),
            "score": plain(stop.score),
            "exit": int(stop.exit),
        }

    def belief(self, stop: Stop | None) -> dict[str, float] | None:
        """Return what the model would answer: the probability of each class, or a number."""
        if stop is None:
            return None
        if self.classes is None:
            value = plain(stop.prediction)  # None if it is not finite
            return None if value is None else {"value": value}
        return self.probability(stop.score)

    # Descriptions

    def described(self) -> dict[str, Any]:
        """Return all that a client can know about the model before it asks."""
        costs, promise = self.model.cost_model_, self.manifest.promise
        return {
            "name": self.name,
            "model": self.manifest.model,
            "task": self._task(),
            "classes": plain(self.classes),
            "unit": costs.unit,
            "total": costs.total,
            "budget": plain(self._budget(promise)),
            "cap": self.cap,
            "promise": plain(promise),
            "manifest": plain(asdict(self.manifest) | {"signature": None}),
            "features": self._features(),
            "outline": self._outline(),
            "examples": self.examples.cases(),
        }

    def _task(self) -> str:
        if self.classes is not None:
            return "classification"
        return "regression" if is_regressor(self.model) else "ranking"

    def _budget(self, promise: dict[str, Any] | None) -> float | None:
        return promise["budget"] if promise else getattr(self.inner, "budget", None)

    @property
    def inner(self) -> Any:
        """The estimator inside a model of mixed columns, or the model itself."""
        return getattr(self.model, "estimator_", self.model)

    def _features(self) -> list[dict[str, Any]]:
        alone = Columns.of(self.model.cost_model_).unordered_uses()
        bundle_of: dict[str, str] = {}
        for bundle, (members, _) in self.model.cost_model_.bundles.items():
            bundle_of = {self.names[member]: bundle for member in members} | bundle_of
        return [
            {"name": use.feature, "price": use.price, "bundle": bundle_of.get(use.feature)}
            | self.kinds[use.feature]
            | {"example": self.examples.example_of(use.feature)}
            for use in alone
        ]

    @cached_property
    def kinds(self) -> dict[str, dict[str, Any]]:
        """Which values each column takes."""
        return {
            name: {"kind": field.kind, "levels": list(field.levels) or None, "range": self.examples.range_of(name)}
            for name, field in self.fields.items()
        }

    def _outline(self) -> dict[str, Any]:
        outline = self.model.outline()
        shown = {name: getattr(outline, name) for name in ("summary", "unit", "total", "counted_in", "evaluation")}
        stages, uses = (None, outline.structure()) if outline.stages is None else (outline.structure(), None)
        return plain(shown | {"stages": stages, "uses": uses})
