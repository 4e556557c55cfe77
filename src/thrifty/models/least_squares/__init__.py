"""Least squares on the rows at a node: second moments, forward selection of features, calibrated log-odds."""
