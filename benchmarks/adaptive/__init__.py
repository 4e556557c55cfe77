"""Accuracy within a budget: the adaptive model against boosted trees and every other method of the package.

    problems.py      data, prices, and the split of each seed
    points.py        operating points: mean spend and scores on test rows
    boosted_sets.py  LightGBM: all columns, fixed sets of columns, cost-effective boosting (CEGB)
    methods.py       the methods of this package
    contenders.py    all of these by name
    time_limit.py    a limit on the time of one run
    results.py       the file of results
    runs.py          one run per problem, seed and contender
    choice.py        which settings of contenders count, chosen on training rows
    measure.py       figures of a curve
    tables.py        tables by problem
    claims.py        the limits that the adaptive model must meet

All runs take many hours. Each result is appended to a file, and a later call computes only what is missing.
``python -m benchmarks.adaptive --help`` lists options to choose problems, seeds and contenders.
"""

from benchmarks.adaptive.command import main

__all__ = ["main"]
