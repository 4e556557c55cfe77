"""Checks of estimators. Every estimator of the package passes them, and estimators written elsewhere should."""

from thrifty.testing.checks import CHECKS, check_estimator, public_estimators

__all__ = ["CHECKS", "check_estimator", "public_estimators"]
