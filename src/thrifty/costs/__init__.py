"""What acquiring features costs: the cost model, and the running account of one row."""

from thrifty.costs.ledger import Ledger
from thrifty.costs.model import CostModel

__all__ = ["CostModel", "Ledger"]
