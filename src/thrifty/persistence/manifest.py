"""The manifest: the description of the model in a model file, which can be read without loading the model."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
import sklearn

import thrifty
from thrifty.costs import CostModel
from thrifty.costs.documents import arguments_of, document_of
from thrifty.models.base import BudgetedEstimator
from thrifty.persistence.documents import parsed, written
from thrifty.persistence.errors import refuse_unless
from thrifty.stored.medium import shown

FORMAT = 3  # files of formats 1 and 2 hold objects of skops
ALTERED = "The file was damaged, or altered on purpose: do not use it."
PACKAGES = {"thrifty": thrifty, "scikit-learn": sklearn, "numpy": np}
KINDS: dict[str, tuple[type, ...]] = {
    "model": (str,),
    "versions": (dict,),
    "features": (list,),
    "classes": (list, type(None)),
    "costs": (dict,),
    "promise": (dict, type(None)),
    "training": (dict, type(None)),
    "frontier": (list, type(None)),
    "trust": (str, type(None)),
    "sha256": (str,),
    "signature": (str, type(None)),
}
OPTIONAL = {"target": str, "anchors": dict}  # entries that a file has only if they are known
SEAL = ("sha256", "signature")  # the entries that are computed from all the others


@dataclass(frozen=True, repr=False)
class Manifest:
    """The description of the model in a model file.

    Attributes
    ----------
    format : int
        Version of the file format.
    model : str
        Name of the model's class.
    versions : dict
        Versions of the packages that wrote the file.
    features : list of dict
        Name and kind of each column, and the levels if it is a category.
    classes : list or None
        The classes of a classifier.
    costs : dict
        The cost model, in the form of the documents that `CostModel.to_file` writes; `cost_model` rebuilds it.
    promise : dict or None
        The promise of the search that the model comes from, if any: budget, cap, spend, score.
    training : dict or None
        The number of training rows, the date of the fit and a fingerprint of the data.
    frontier : list of dict or None
        All points of the search that the model comes from, if any.
    anchors : dict or None
        What that search measured for the constant answer (``"constant"``) and for all columns (``"everything"``).
    trust : str or None
        "scikit-learn" if the file holds objects of scikit-learn, so that `load` needs ``trust="scikit-learn"``.
    sha256 : str
        SHA-256 of everything in the file: the other entries of the manifest, and the model.
    signature : str or None
        HMAC-SHA-256 of `sha256`, if the file was saved with a key.
    target : str or None
        Name of the column that the model predicts, if it is known.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thrifty import CostWeightedL1Regressor, read_manifest, save
    >>> model = CostWeightedL1Regressor(costs={"rooms": 2.5}).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with TemporaryDirectory() as folder:
    ...     manifest = read_manifest(save(model, Path(folder, "rent.thrifty")))
    >>> manifest.model, manifest.features
    ('CostWeightedL1Regressor', [{'name': 'rooms', 'kind': 'number'}])
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
    anchors: dict[str, dict[str, Any]] | None
    trust: str | None
    sha256: str = ""
    signature: str | None = None
    target: str | None = None

    @classmethod
    def of(
        cls,
        model: BudgetedEstimator,
        frontier: Any = None,
        anchors: Any = None,
        trust: str | None = None,
        target: str | None = None,
    ) -> Manifest:
        """Describe a fitted model. The hash and the signature are added when the file is written.

        Parameters
        ----------
        model : BudgetedEstimator
        frontier : list of dict, optional
            All points of the search that the model comes from.
        anchors : dict of dict, optional
            Its anchors by name.
        trust : str, optional
            "scikit-learn" if the file holds objects of scikit-learn.
        target : str, optional
            Name of the column that the model predicts.

        Returns
        -------
        Manifest
        """
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
            frontier=plain(frontier),
            anchors=plain(anchors),
            trust=trust,
            target=target,
        )

    @classmethod
    def parse(cls, content: bytes) -> Manifest:
        """Read a manifest from JSON.

        Parameters
        ----------
        content : bytes

        Returns
        -------
        Manifest

        Raises
        ------
        ModelFileError
            If the content is not a manifest, or if its format is not the one that this version reads.
        """
        entries = parsed(content, "manifest")
        refuse_unless(isinstance(entries, dict), f"the manifest is not a JSON object. {ALTERED}")
        _refuse_other_format(entries.get("format"))
        for name, kinds in KINDS.items():
            fine = name in entries and isinstance(entries[name], kinds)
            refuse_unless(fine, f"{name!r} of the manifest is missing or has the wrong type. {ALTERED}")
        for name in OPTIONAL.keys() & entries.keys():
            refuse_unless(
                isinstance(entries[name], OPTIONAL[name]), f"{name!r} of the manifest has the wrong type. {ALTERED}"
            )
        names = {field.name for field in fields(cls)}
        refuse_unless(set(entries) | set(OPTIONAL) == names, f"the manifest has entries of other names. {ALTERED}")
        return cls(**{**dict.fromkeys(OPTIONAL), **entries})

    def to_json(self) -> bytes:
        """Return the manifest as JSON, as it is written to a file.

        Returns
        -------
        bytes
        """
        return (json.dumps(self._entries(), indent=2, ensure_ascii=False, allow_nan=False) + "\n").encode()

    def description(self) -> bytes:
        """Return everything but the hash and the signature, as it is hashed.

        Returns
        -------
        bytes
        """
        return written({name: entry for name, entry in self._entries().items() if name not in SEAL})

    def _entries(self) -> dict[str, Any]:
        """Return the entries as they are written: without optional ones that are not known."""
        return {name: entry for name, entry in asdict(self).items() if entry is not None or name not in OPTIONAL}

    @property
    def cost_model(self) -> CostModel:
        """The costs of the features; features without names are called x0, x1, ..."""
        return CostModel(**arguments_of(self.costs))

    def __repr__(self) -> str:
        return f"Manifest({', '.join(f'{name}={value}' for name, value in self._summary().items())})"

    def _summary(self) -> dict[str, Any]:
        """Return the entries that a person reads first, each in a few words."""
        training, promise = self.training or {}, self.promise or {}
        entries = {
            "model": self.model,
            "features": len(self.features),
            "classes": self.classes and shown(self.classes),
            "target": self.target and shown(self.target),
            "n_rows": training.get("n_rows"),
            "date": training.get("date") and shown(training["date"]),
            "budget": promise.get("budget"),
            "frontier": self.frontier and f"<{len(self.frontier)} points>",
            "sha256": f"{self.sha256[:12]}...",
            "signed": self.signature is not None,
        }
        return {name: entry for name, entry in entries.items() if entry is not None}

    def refuse_other(self, model: BudgetedEstimator) -> None:
        """Raise ModelFileError if the manifest describes another model.

        Parameters
        ----------
        model : BudgetedEstimator
        """
        told = Manifest.of(model)
        for name in ("model", "features", "classes", "costs", "promise", "training"):
            same = getattr(self, name) == getattr(told, name)
            refuse_unless(same, f"the manifest describes another model: {name!r} is not what the model says.")


def _refuse_other_format(given: Any) -> None:
    whole = isinstance(given, int) and not isinstance(given, bool) and given >= 1
    refuse_unless(whole, f"the format is {shown(given)}; expected a whole number of at least 1. {ALTERED}")
    refuse_unless(
        given <= FORMAT,
        f"the file has format {shown(given)}, of a newer thrifty; this version reads format {FORMAT}. Upgrade thrifty.",
    )
    refuse_unless(
        given == FORMAT,
        f"the file has format {given}, of an older thrifty; this version reads format {FORMAT}. Fit the model again "
        "with this version, and save it.",
    )


def named(costs: CostModel) -> CostModel:
    """Return costs whose features all have names: x0, x1, ... if they had none."""
    if costs.names is not None:
        return costs
    return CostModel.resolve(costs, costs.n_features, [f"x{j}" for j in range(costs.n_features)])


def plain(value: Any) -> Any:
    """Return a value in the types of JSON: infinity and NaN become None, objects of other types become their repr."""
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
