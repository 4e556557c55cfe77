"""Base of the cascades that are defined for two classes only."""

from typing import Any

from thrifty.models.expected_cost.estimator import ExpectedCostEstimator
from thrifty.models.homes import Home
from thrifty.models.rows import Encoder, Rows
from thrifty.models.task_bases import BudgetedClassifier


class TwoClassCascade(ExpectedCostEstimator, BudgetedClassifier):
    """A cascade that rows leave if they are unlikely to be of the rarer of two classes.

    With more classes there is no such class, and it would not be clear which rows should leave.
    """

    def _encoder(self, rows: Home[Rows]) -> Encoder:
        encoder = super()._encoder(rows)
        if len(self.classes_) > 2:
            raise ValueError(
                f"{type(self).__name__}: y has {len(self.classes_)} classes. Only binary classification is supported. "
                "Merge the classes that are to leave early, or use CSTCClassifier."
            )
        return encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags
