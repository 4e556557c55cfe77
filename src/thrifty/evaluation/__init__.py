"""Evaluation of fitted models on rows with known targets: does the promise hold, and what does each purchase earn?

estimates.py       estimates with standard errors and confidence intervals
recorded_rows.py   what a model predicted and spent, row by row
calibration.py     how often answers of a stated probability are right
evaluation.py      score, spend, calibration, and the test of the promise
offers.py          what can be bought and cancelled as one
purchases.py       how often each column is bought, and the loss of score when it is not to be had
"""

from thrifty.evaluation.evaluation import Evaluation, evaluate
from thrifty.evaluation.purchases import purchases

__all__ = ["Evaluation", "evaluate", "purchases"]
