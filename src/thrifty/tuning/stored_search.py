"""A search that was read from a model file: it serves other budgets once the training rows are passed again."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
from sklearn.base import clone, is_classifier

from thrifty.costs import CostModel
from thrifty.models.promise import Promise
from thrifty.models.rows import Rows
from thrifty.models.tables.preparation import learned_encoder
from thrifty.models.tables.table_model import TableModel
from thrifty.tuning.cross_validation import Folds
from thrifty.tuning.methods import METHODS
from thrifty.tuning.mixing import BETWEEN, mixture_of
from thrifty.tuning.other_budgets import Terms, model_for_budget, places_of, with_limits
from thrifty.tuning.problem import Task
from thrifty.tuning.splits import folds_of, sample

SEED = 0


@dataclass(frozen=True, eq=False)
class StoredSearch:
    """What a model file knows of the search that its model comes from.

    Attributes
    ----------
    best_estimator_ : TableModel
        The model, with its promise.
    frontier_ : DataFrame
        All points of the search.
    anchors_ : DataFrame or None
        The constant answer, and all columns for every row.
    """

    best_estimator_: TableModel
    frontier_: pd.DataFrame
    anchors_: pd.DataFrame | None

    @classmethod
    def of(cls, model: Any, frontier: Sequence[Mapping[str, Any]] | None, anchors: Any) -> "StoredSearch":
        """Return the search of a loaded model.

        Parameters
        ----------
        model : TableModel
        frontier : list of dict or None
            The points in the manifest of its file.
        anchors : dict or None
            The anchors in the manifest.

        Raises
        ------
        ValueError
            If the model does not come from a search.
        """
        if not frontier or not isinstance(model, TableModel) or model.promise_ is None:
            raise ValueError(
                "the model does not come from a search, so it has no other points. Fit a model with a budget."
            )
        table = pd.DataFrame(frontier)
        numbers = ["spend", "spend_bound", "score", "score_error"]
        table[numbers] = table[numbers].astype(float)
        return cls(model, table, anchors and pd.DataFrame.from_dict(anchors, orient="index"))

    @property
    def promise_(self) -> Promise:
        """The promise of the model."""
        assert self.best_estimator_.promise_ is not None
        return self.best_estimator_.promise_

    @property
    def budget(self) -> float | None:
        """The budget."""
        return self.promise_.budget

    @property
    def cost_model_(self) -> CostModel:
        """The costs of the columns."""
        return self.best_estimator_.cost_model_

    @property
    def scoring_(self) -> str:
        """The name of the scoring."""
        return self.promise_.scoring

    def at_budget(self, rows: Rows, budget: float, cap: float | None = None, *, mix: bool = False) -> "StoredSearch":
        """Return the search with the model for another budget, fitted to rows.

        Parameters
        ----------
        rows : Rows
            The training rows, with the raw columns of the model.
        budget : float
            Bound on the mean spend per row.
        cap : float, optional
            Hard limit on each row's spend. If the search had a cap too, the smaller one holds.
        mix : bool, default=False
            Whether two points may be mixed.

        Returns
        -------
        StoredSearch
        """
        terms, stored = with_limits(self._terms(rows), budget, cap), self.best_estimator_
        kinds = {field.name: field.kind for field in stored.encoder_.fields_}
        whole = terms.problem(rows, learned_encoder(rows, terms.costs, kinds, owner="thrifty refit"))
        table = self._known_points()
        stratify, n_folds = terms.task.has_classes, int(table["n_folds"].max())
        drawn = sample(rows, int(table["n_rows"].max()), stratify=stratify, random_state=SEED)
        positions = folds_of(drawn, n_folds, stratify=stratify, random_state=SEED)
        folds = Folds(drawn, terms.problem(drawn, whole.encoder), positions, SEED)
        max_rows = {name: method.max_rows(whole) for name, method in METHODS.items()}
        places = places_of(table, self._estimators(terms.task), max_rows)
        is_measured = terms.cap == self.promise_.cap
        model, line = model_for_budget(stored, whole, terms, table, places, folds, is_measured, mix)
        return replace(self, best_estimator_=model, frontier_=_with_line(table, line))

    def _terms(self, rows: Rows) -> Terms:
        promise, stored = self.promise_, self.best_estimator_
        kind = "classification" if is_classifier(stored) else "regression" if rows.qid is None else "ranking"
        return Terms(
            costs=stored.cost_model_,
            kinds=stored.kinds,
            task=Task.of(rows.y, rows.qid, kind),
            budget=promise.budget,
            cap=promise.cap,
            scoring=promise.scoring,
            confidence=promise.confidence,
            error_costs=getattr(stored, "error_costs", None),
            class_weight=stored.class_weight,
        )

    def _known_points(self) -> pd.DataFrame:
        """Return the points that can be fitted again: those of methods with a name, and of the model's estimator."""
        own = self.promise_.method
        known = [name == own or set(name.split(BETWEEN)) <= set(METHODS) for name in self.frontier_["method"]]
        return self.frontier_[known].reset_index(drop=True)

    def _estimators(self, task: Task) -> dict[str, Any]:
        found = {name: each for name, method in METHODS.items() if (each := method.estimator(task)) is not None}
        for estimator in found.values():
            if "random_state" in estimator.get_params():
                estimator.set_params(random_state=SEED)
        pairs = {name: name.split(BETWEEN) for name in set(self.frontier_["method"]) if BETWEEN in name}
        found |= {
            name: mixture_of(found[cheap], found[dear], task, SEED)
            for name, (cheap, dear) in pairs.items()
            if {cheap, dear} <= set(found)
        }
        return found | {self.promise_.method: clone(self.best_estimator_.estimator)}


def _with_line(table: pd.DataFrame, line: pd.Series) -> pd.DataFrame:
    """Return a frontier with a line in the place of the one of the same name, or at the end if there is none."""
    if line.name not in table.index:
        return pd.concat([table, line.to_frame().T]).infer_objects()
    table = table.copy()
    for name, value in line.items():
        table.at[line.name, name] = value
    return table
