"""Mixtures: a share of the rows, chosen by their positions, is answered by one model, and the others by another one.

positions.py   which rows get the more expensive model
mixture.py     the estimators
"""
