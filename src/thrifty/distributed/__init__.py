"""Rows on the workers of a Dask cluster: training, and lazy predictions.

    located(estimator, X, y)         check Dask collections on the workers, and return the home of their rows
    acquired(model, X, cap)          what a fitted model acquires and predicts, as lazy collections
    sampled(X, y), encoded(X)        the rows of a search: some of them here, and all of them as numbers
    Partitions                       the home of blocks of rows on workers; see `thrifty.models.homes`

This is the only package that imports Dask. Estimators call it if X is a Dask collection, so users need not import it.
"""

from thrifty.distributed import sizes as sizes  # workers import this package, and then know the sizes of blocks
from thrifty.distributed.partitions import Partitions
from thrifty.distributed.predictions import LazyAcquisition, acquired, probabilities
from thrifty.distributed.sampled_rows import class_weighted, encoded, mean_spend, queries_are_divided, sampled
from thrifty.distributed.training_rows import FITTED, cannot_fit, located

__all__ = [
    "FITTED",
    "LazyAcquisition",
    "Partitions",
    "acquired",
    "cannot_fit",
    "class_weighted",
    "encoded",
    "located",
    "mean_spend",
    "probabilities",
    "queries_are_divided",
    "sampled",
]
