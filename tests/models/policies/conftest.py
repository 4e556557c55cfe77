from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from reference.policies import Problem
from thrifty import CostModel
from thrifty.models.factors import Factors
from thrifty.models.policies.data_model import Scores
from thrifty.models.policies.rollout import Rollout

COSTS = CostModel([1.0, 2.5, 0.6, 4.0, 0.7, 3.0, 1.3], bundles={"panel": ((1, 3, 4), 2.2), "scan": ((4, 5), 6.1)})
GROUPS = [[0, 2], [1], [3], [4], [5, 6]]


@pytest.fixture(scope="session")
def small():
    """Rows of three classes with two data classifiers, for thrifty and for the reference; bundles span factors."""
    random = np.random.default_rng(3)
    X = random.normal(size=(40, 7))
    y = (X @ random.normal(size=(7, 3)) + random.normal(size=(40, 3))).argmax(axis=1)
    factors = Factors.of(COSTS, GROUPS, "here")
    Z, which = factors.sorted_columns(X), np.arange(40) % 2
    classifiers = [LogisticRegression(C=C).fit(Z, y) for C in (0.3, 3.0)]

    def rollout():
        return Rollout(factors, Scores.of(classifiers, factors), Z, which).start()

    def problem(i, cost_weight=0.5, quality="probability"):
        blocks = [list(range(*factors.starts[f : f + 2])) for f in range(len(factors))]
        mine = classifiers[which[i]]
        requirement = COSTS.requirement[factors.columns]
        return Problem(blocks, mine.coef_, mine.intercept_, requirement, COSTS.unit_costs, cost_weight, quality)

    return SimpleNamespace(
        Z=Z, y=y, which=which, factors=factors, classifiers=classifiers, rollout=rollout, problem=problem, random=random
    )
