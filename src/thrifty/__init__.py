"""Prediction on a budget: learn which features to acquire, for which rows, and when to stop.

    CostModel      cost of acquiring a set of features
    estimator      learns which features to acquire for which rows, and what to predict
    Session        acquisition of one row: it asks for features, takes their values, and ends with a prediction
    Engine         drives sessions against real feature sources: functions, databases, web services

Names are imported on first use, so that ``import thrifty`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thrifty.costs import CostModel as CostModel
    from thrifty.exceptions import CostError as CostError
    from thrifty.exceptions import DatasetNotFoundError as DatasetNotFoundError
    from thrifty.exceptions import MissingExtraError as MissingExtraError
    from thrifty.exceptions import ModelFileError as ModelFileError
    from thrifty.exceptions import ServiceError as ServiceError
    from thrifty.exceptions import SessionError as SessionError
    from thrifty.exceptions import SourceError as SourceError
    from thrifty.exceptions import ThriftyError as ThriftyError
    from thrifty.models.acquisition import Acquisition as Acquisition
    from thrifty.models.adaptive.thrifty_models import ThriftyClassifier as ThriftyClassifier
    from thrifty.models.adaptive.thrifty_models import ThriftyRegressor as ThriftyRegressor
    from thrifty.models.base import BudgetedEstimator as BudgetedEstimator
    from thrifty.models.base import Run as Run
    from thrifty.models.boosting.adaboost_rs import AdaBoostRSClassifier as AdaBoostRSClassifier
    from thrifty.models.boosting.early_exit import EarlyExitRanker as EarlyExitRanker
    from thrifty.models.boosting.greedy_miser import GreedyMiserClassifier as GreedyMiserClassifier
    from thrifty.models.boosting.greedy_miser import GreedyMiserRanker as GreedyMiserRanker
    from thrifty.models.boosting.greedy_miser import GreedyMiserRegressor as GreedyMiserRegressor
    from thrifty.models.expected_cost.and_or import AndOrClassifier as AndOrClassifier
    from thrifty.models.expected_cost.criterion import CSTCCriterion as CSTCCriterion
    from thrifty.models.expected_cost.criterion import cstc_criterion as cstc_criterion
    from thrifty.models.expected_cost.cronus import CronusClassifier as CronusClassifier
    from thrifty.models.expected_cost.cronus import CronusRegressor as CronusRegressor
    from thrifty.models.expected_cost.cscc import CSCCClassifier as CSCCClassifier
    from thrifty.models.expected_cost.cscc import CSCCRegressor as CSCCRegressor
    from thrifty.models.expected_cost.cstc import CSTCClassifier as CSTCClassifier
    from thrifty.models.expected_cost.cstc import CSTCRegressor as CSTCRegressor
    from thrifty.models.forests.feature_map import BoostedFeatureMap as BoostedFeatureMap
    from thrifty.models.forests.forest import Forest as Forest
    from thrifty.models.greedy.astc import ASTCClassifier as ASTCClassifier
    from thrifty.models.greedy.astc import ASTCRegressor as ASTCRegressor
    from thrifty.models.greedy.cost_weighted_l1 import CostWeightedL1Classifier as CostWeightedL1Classifier
    from thrifty.models.greedy.cost_weighted_l1 import CostWeightedL1Regressor as CostWeightedL1Regressor
    from thrifty.models.mixtures.mixture import MixtureClassifier as MixtureClassifier
    from thrifty.models.mixtures.mixture import MixtureRanker as MixtureRanker
    from thrifty.models.mixtures.mixture import MixtureRegressor as MixtureRegressor
    from thrifty.models.outline import Outline as Outline
    from thrifty.models.policies.dynamic_regression import DynamicSelectionRegressor as DynamicSelectionRegressor
    from thrifty.models.policies.dynamic_selection import DynamicSelectionClassifier as DynamicSelectionClassifier
    from thrifty.models.policies.oracle import forward_selection_oracle as forward_selection_oracle
    from thrifty.models.policies.static_regression import StaticSelectionRegressor as StaticSelectionRegressor
    from thrifty.models.policies.static_selection import StaticSelectionClassifier as StaticSelectionClassifier
    from thrifty.models.promise import Promise as Promise
    from thrifty.models.session import Acquire as Acquire
    from thrifty.models.session import Session as Session
    from thrifty.models.session import Stop as Stop
    from thrifty.models.stopping.attentive import AttentiveClassifier as AttentiveClassifier
    from thrifty.models.stopping.attentive_regressor import AttentiveRegressor as AttentiveRegressor
    from thrifty.models.stopping.simulation import simulate_stst as simulate_stst
    from thrifty.models.stopping.truncated import TruncatedClassifier as TruncatedClassifier
    from thrifty.models.stopping.truncated import TruncatedRegressor as TruncatedRegressor
    from thrifty.models.tables.table_model import TableModel as TableModel
    from thrifty.models.task_bases import BudgetedClassifier as BudgetedClassifier
    from thrifty.models.task_bases import BudgetedRanker as BudgetedRanker
    from thrifty.models.task_bases import BudgetedRegressor as BudgetedRegressor
    from thrifty.persistence import Manifest as Manifest
    from thrifty.persistence import load as load
    from thrifty.persistence import read_manifest as read_manifest
    from thrifty.persistence import save as save
    from thrifty.runtime.engine import Engine as Engine
    from thrifty.runtime.sources.function import source as source
    from thrifty.runtime.trace import Result as Result
    from thrifty.tuning.budget_search import BudgetSearchCV as BudgetSearchCV

__version__ = "0.1.0"

_HOMES = {
    "costs": ["CostModel"],
    "exceptions": [
        "CostError",
        "DatasetNotFoundError",
        "MissingExtraError",
        "ModelFileError",
        "ServiceError",
        "SessionError",
        "SourceError",
        "ThriftyError",
    ],
    "models.acquisition": ["Acquisition"],
    "models.adaptive.thrifty_models": ["ThriftyClassifier", "ThriftyRegressor"],
    "models.base": ["BudgetedEstimator", "Run"],
    "models.boosting.adaboost_rs": ["AdaBoostRSClassifier"],
    "models.boosting.early_exit": ["EarlyExitRanker"],
    "models.forests.feature_map": ["BoostedFeatureMap"],
    "models.forests.forest": ["Forest"],
    "models.boosting.greedy_miser": ["GreedyMiserClassifier", "GreedyMiserRanker", "GreedyMiserRegressor"],
    "models.expected_cost.and_or": ["AndOrClassifier"],
    "models.expected_cost.cronus": ["CronusClassifier", "CronusRegressor"],
    "models.expected_cost.cscc": ["CSCCClassifier", "CSCCRegressor"],
    "models.greedy.cost_weighted_l1": ["CostWeightedL1Classifier", "CostWeightedL1Regressor"],
    "models.policies.dynamic_regression": ["DynamicSelectionRegressor"],
    "models.policies.dynamic_selection": ["DynamicSelectionClassifier"],
    "models.policies.oracle": ["forward_selection_oracle"],
    "models.policies.static_regression": ["StaticSelectionRegressor"],
    "models.policies.static_selection": ["StaticSelectionClassifier"],
    "models.mixtures.mixture": ["MixtureClassifier", "MixtureRanker", "MixtureRegressor"],
    "models.outline": ["Outline"],
    "models.promise": ["Promise"],
    "models.session": ["Acquire", "Session", "Stop"],
    "models.stopping.attentive": ["AttentiveClassifier"],
    "models.stopping.attentive_regressor": ["AttentiveRegressor"],
    "models.stopping.simulation": ["simulate_stst"],
    "models.stopping.truncated": ["TruncatedClassifier", "TruncatedRegressor"],
    "models.tables.table_model": ["TableModel"],
    "models.task_bases": ["BudgetedClassifier", "BudgetedRanker", "BudgetedRegressor"],
    "models.greedy.astc": ["ASTCClassifier", "ASTCRegressor"],
    "models.expected_cost.criterion": ["CSTCCriterion", "cstc_criterion"],
    "models.expected_cost.cstc": ["CSTCClassifier", "CSTCRegressor"],
    "persistence": ["Manifest", "load", "read_manifest", "save"],
    "runtime.engine": ["Engine"],
    "runtime.sources.function": ["source"],
    "runtime.trace": ["Result"],
    "tuning.budget_search": ["BudgetSearchCV"],
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}
_SUBMODULES = (
    "client",
    "costs",
    "datasets",
    "evaluation",
    "exceptions",
    "metrics",
    "persistence",
    "plots",
    "runtime",
    "serving",
    "testing",
    "tuning",
)

__all__ = [
    "ASTCClassifier",
    "ASTCRegressor",
    "Acquire",
    "Acquisition",
    "AdaBoostRSClassifier",
    "AndOrClassifier",
    "AttentiveClassifier",
    "AttentiveRegressor",
    "BoostedFeatureMap",
    "BudgetSearchCV",
    "BudgetedClassifier",
    "BudgetedEstimator",
    "BudgetedRanker",
    "BudgetedRegressor",
    "CSCCClassifier",
    "CSCCRegressor",
    "CSTCClassifier",
    "CSTCCriterion",
    "CSTCRegressor",
    "CostError",
    "CostModel",
    "CostWeightedL1Classifier",
    "CostWeightedL1Regressor",
    "CronusClassifier",
    "CronusRegressor",
    "DatasetNotFoundError",
    "DynamicSelectionClassifier",
    "DynamicSelectionRegressor",
    "EarlyExitRanker",
    "Engine",
    "Forest",
    "GreedyMiserClassifier",
    "GreedyMiserRanker",
    "GreedyMiserRegressor",
    "Manifest",
    "MissingExtraError",
    "MixtureClassifier",
    "MixtureRanker",
    "MixtureRegressor",
    "ModelFileError",
    "Outline",
    "Promise",
    "Result",
    "Run",
    "ServiceError",
    "Session",
    "SessionError",
    "SourceError",
    "StaticSelectionClassifier",
    "StaticSelectionRegressor",
    "Stop",
    "TableModel",
    "ThriftyClassifier",
    "ThriftyError",
    "ThriftyRegressor",
    "TruncatedClassifier",
    "TruncatedRegressor",
    "cstc_criterion",
    "forward_selection_oracle",
    "load",
    "read_manifest",
    "save",
    "simulate_stst",
    "source",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(f"thrifty.{_HOME[name]}"), name)
    elif name in _SUBMODULES:
        value = import_module(f"thrifty.{name}")
    else:
        raise AttributeError(f"module 'thrifty' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_SUBMODULES])
