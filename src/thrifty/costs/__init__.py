"""Costs of features: `CostModel` prices sets of features, `Ledger` records what one row has paid."""

from thrifty.costs.ledger import Ledger
from thrifty.costs.model import CostModel

__all__ = ["CostModel", "Ledger"]
