"""From a budget to a model: candidates, their frontier, and the search that keeps a promise."""

from thrifty.tuning.budget_search import BudgetSearchCV
from thrifty.tuning.methods import METHODS

__all__ = ["METHODS", "BudgetSearchCV"]
