"""The search for a budget: candidates are cross-validated, and the best one within the budget is chosen."""

from thrifty.tuning.budget_search import BudgetSearchCV
from thrifty.tuning.methods import METHODS

__all__ = ["METHODS", "BudgetSearchCV"]
