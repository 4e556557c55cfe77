"""Numba kernels: functions that take arrays and write arrays. No other package imports Numba."""
