"""Least squares of the rows at a node: their moments, a model grown feature by feature, calibrated log-odds."""
