"""Costs: `CostModel` prices sets of features, `Ledger` records what one row has paid, `ErrorCosts` prices mistakes."""

from thrifty.costs.error_costs import ErrorCosts
from thrifty.costs.ledger import Ledger
from thrifty.costs.model import CostModel

__all__ = ["CostModel", "ErrorCosts", "Ledger"]
