"""The contenders of the race, one thin file each.

    contender           what a contender is
    boosters            shared by all that use LightGBM
    lightgbm_full, lightgbm_early_stop, lightgbm_coupled, lightgbm_lazy, lightgbm_forward
    catboost_penalties, optimal_trees, sequential_linear
    greedy_network      a predictor and a policy in torch
    own_methods         the methods of this package, and `thrifty`, its default model

A file imports its package when it fits, so that the others run where the package is missing.
"""

from thrifty.bench.contenders import (
    catboost_penalties,
    greedy_network,
    lightgbm_coupled,
    lightgbm_early_stop,
    lightgbm_forward,
    lightgbm_full,
    lightgbm_lazy,
    optimal_trees,
    own_methods,
    sequential_linear,
)
from thrifty.bench.contenders.contender import Contender, Model, Setting, Training

FLAGSHIP, FULL = own_methods.FLAGSHIP, lightgbm_full.CONTENDER.name
_ALL = (
    lightgbm_full.CONTENDER,
    lightgbm_early_stop.CONTENDER,
    lightgbm_coupled.CONTENDER,
    lightgbm_lazy.CONTENDER,
    lightgbm_forward.CONTENDER,
    catboost_penalties.CONTENDER,
    optimal_trees.CONTENDER,
    sequential_linear.CONTENDER,
    greedy_network.CONTENDER,
    *own_methods.CONTENDERS,
)
CONTENDERS: dict[str, Contender] = {contender.name: contender for contender in _ALL}

__all__ = ["CONTENDERS", "FLAGSHIP", "FULL", "Contender", "Model", "Setting", "Training"]
