"""Greedy least squares: ASTC and the cost-weighted l1 model."""
