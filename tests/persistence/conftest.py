"""A few small fitted models, and a saved one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.svm import SVC

from thrifty import ASTCClassifier, AttentiveClassifier, DynamicSelectionClassifier, GreedyMiserClassifier
from thrifty.datasets import load_heart
from thrifty.models.tables.table_model import TableModel
from thrifty.persistence import save


@pytest.fixture(scope="session")
def heart():
    return load_heart()


@pytest.fixture(scope="session")
def models(heart):
    """One fitted model of each family."""
    costs, X, y = heart.costs, heart.X, heart.y
    return {
        "tree": ASTCClassifier(costs=costs, max_depth=2).fit(X, y),
        "forest": GreedyMiserClassifier(costs=costs, n_estimators=5).fit(X, y),
        "chain": AttentiveClassifier(SVC(), costs=costs).fit(X, y),
        "policy": DynamicSelectionClassifier(costs=costs, n_iterations=2, n_folds=2, random_state=0).fit(X, y),
    }


@pytest.fixture
def path(tmp_path, models):
    """A saved model."""
    return save(models["tree"], tmp_path / "model.thrifty")


@pytest.fixture(scope="session")
def visits():
    """A table of mixed columns, and targets."""
    random = np.random.default_rng(0)
    pain = random.choice(["none", "typical", "atypical"], 120).astype(object)
    pain[::11] = None
    table = pd.DataFrame(
        {
            "age": random.integers(30, 80, 120),
            "smokes": random.random(120) < 0.3,
            "pain": pain,
            "seen": pd.to_datetime("2024-01-01") + pd.to_timedelta(random.integers(0, 300, 120), unit="D"),
        }
    )
    return table, np.where((pain == "typical") ^ (table["age"] > 60), "ill", "well")


@pytest.fixture(scope="session")
def table_model(visits):
    costs = {"age": 1.0, "smokes": 0.5, "pain": 2.0, "seen": 4.0}
    return TableModel(ASTCClassifier(max_depth=2), costs=costs, cap=5.0).fit(*visits)
