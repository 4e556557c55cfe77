"""Checks that ship with the package: what an estimator must do to be trusted with a budget."""

from thrifty.testing.checks import CHECKS, check_estimator, public_estimators

__all__ = ["CHECKS", "check_estimator", "public_estimators"]
