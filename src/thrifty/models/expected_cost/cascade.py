"""CSCC and Cronus: cascades in which every stage lets some rows leave (eq. 19).

A row that a stage finds unlikely to be of the rare class, or to have a high target, leaves there with the prediction of
the stage. All other rows continue to the next stage. The loss of a stage counts for the rows that leave there.
"""

from typing import Any

from sklearn.base import is_classifier

from thrifty.models.expected_cost.design import Design
from thrifty.models.expected_cost.topology import Topology


def cascade_design(estimator: Any, **differences: Any) -> Design:
    """Return the design of a cascade of an estimator's ``n_stages`` stages; `differences` are further fields."""
    topology, with_classes = Topology.cascade(estimator.n_stages), is_classifier(estimator)
    return Design.of(estimator, topology, by_exit=True, rare_class_up=with_classes, **differences)
