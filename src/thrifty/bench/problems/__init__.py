"""The problems of the race.

    problem   rows, prices, and the meter and the score that count for every contender
    split     training and test rows of a seed
    catalog   the problems by name
    sources   where their data come from

A data set that is not at hand raises `thrifty.DatasetNotFoundError`, and the runner leaves the problem out.
"""

from thrifty.bench.problems.catalog import CATALOG, QUICK, load
from thrifty.bench.problems.problem import Answers, Problem, Table

__all__ = ["CATALOG", "QUICK", "Answers", "Problem", "Table", "load"]
