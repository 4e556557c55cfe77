"""The manifest: what a model file says of its model, readable without loading anything."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from typing import Any

import numpy as np
import sklearn
import skops

import thrifty
from thrifty.costs import CostModel
from thrifty.costs.documents import arguments_of, document_of
from thrifty.exceptions import CostError
from thrifty.models.base import BudgetedEstimator
from thrifty.persistence.errors import refuse_unless

FORMAT = 1
ALTERED = "The file was damaged, or altered on purpose: do not use it."
PACKAGES = {"thrifty": thrifty, "scikit-learn": sklearn, "numpy": np, "skops": skops}
KINDS: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "versions": (dict,),
    "features": (list,),
    "classes": (list, type(None)),
    "costs": (dict,),
    "promise": (dict, type(None)),
    "training": (dict, type(None)),
    "frontier": (list, type(None)),
    "sha256": (str,),
}


@dataclass(frozen=True)
class Manifest:
    """What a model file says of its model.

    Attributes
    ----------
    format : int
        Version of the file format.
    model : str
        Class of the model.
    versions : dict
        Of the packages that wrote the file.
    features : list of dict
        Name and kind of each column; levels, where it is a category.
    classes : list or None
        What a classifier tells apart.
    costs : dict
        The cost model, as a document like those that `CostModel.to_file` writes; see `cost_model`.
    promise : dict or None
        What a search promised of the model, and what it measured: budget, cap, spend, score.
    training : dict or None
        Number of rows, date and fingerprint of the data.
    frontier : list of dict or None
        All points that a search has looked at.
    sha256 : str
        Hash of the model beside it.
    """

    format: int
    model: str
    versions: dict[str, str]
    features: list[dict[str, Any]]
    classes: list[Any] | None
    costs: dict[str, Any]
    promise: dict[str, Any] | None
    training: dict[str, Any] | None
    frontier: list[dict[str, Any]] | None
    sha256: str

    @classmethod
    def of(cls, model: BudgetedEstimator, content: bytes, frontier: Any = None) -> Manifest:
        """Describe a fitted model, whose file has this content, and the search that it comes from."""
        costs, promise = named(model.cost_model_), getattr(model, "promise_", None)
        return cls(
            format=FORMAT,
            model=type(model).__name__,
            versions={name: package.__version__ for name, package in PACKAGES.items()},
            features=plain(_features(model, costs)),
            classes=plain(getattr(model, "classes_", None)),
            costs=plain(document_of(costs)),
            promise=plain(promise and promise.as_dict()),
            training=asdict(model.training_),
            frontier=None if frontier is None else plain(frontier.to_dict("records")),
            sha256=sha256(content).hexdigest(),
        )

    @classmethod
    def parse(cls, content: bytes) -> Manifest:
        """Read a manifest, refusing what is none, or what a later version of thrifty wrote."""
        try:
            entries = json.loads(content.decode(), parse_constant=_refuse_constant)
        except (ValueError, RecursionError):
            entries = None
        refuse_unless(isinstance(entries, dict), f"the manifest is no JSON. {ALTERED}")
        given = entries.get("format")
        whole = isinstance(given, int) and not isinstance(given, bool) and given >= 1
        refuse_unless(whole, f"the format is {given!r}; expected a number. {ALTERED}")
        refuse_unless(
            given <= FORMAT,
            f"the file has format {given}, of a newer thrifty; this one reads up to {FORMAT}. Upgrade thrifty.",
        )
        for name, kinds in KINDS.items():
            fine = name in entries and isinstance(entries[name], kinds)
            refuse_unless(fine, f"the manifest has no proper {name!r}. {ALTERED}")
        return cls(**{field.name: entries[field.name] for field in fields(cls)})

    def to_json(self) -> bytes:
        """Return the manifest as it stands in a file."""
        return (json.dumps(asdict(self), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

    @property
    def cost_model(self) -> CostModel:
        """The costs of the features; those without names are called x0, x1, ..."""
        return CostModel(**arguments_of(self.costs))

    def refuse_other(self, model: BudgetedEstimator) -> None:
        """Refuse a model that the manifest does not describe."""
        try:
            costs = self.cost_model
        except CostError:
            costs = None
        fitting = (
            self.model == type(model).__name__
            and costs == named(model.cost_model_)
            and [feature.get("name") for feature in self.features if isinstance(feature, dict)] == [*costs.costs]
        )
        refuse_unless(fitting, "the manifest describes another model.")


def named(costs: CostModel) -> CostModel:
    """Return the costs with names for all features."""
    if costs.names is not None:
        return costs
    return CostModel.resolve(costs, costs.n_features, [f"x{j}" for j in range(costs.n_features)])


def plain(value: Any) -> Any:
    """Return a value as JSON has it: what is not finite becomes null, and what JSON does not know its repr."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | None) else repr(value)


def _features(model: Any, costs: CostModel) -> list[dict[str, Any]]:
    if not hasattr(model, "encoder_"):
        return [{"name": name, "kind": "number"} for name in costs.costs]
    return [
        {"name": name, "kind": field.kind} | ({"levels": field.levels} if field.kind == "category" else {})
        for name, field in zip(costs.costs, model.encoder_.fields_, strict=True)
    ]


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON")
