"""Small models of the heart data, one for each kind of page."""

import numpy as np

from thrifty import ASTCClassifier, GreedyMiserRegressor, TableModel, ThriftyClassifier

MARKUP = "<img src=x onerror=alert(1)>"  # the name of a column
N_FITTED = 120  # rows; the others are cases


def fitted_models(heart):
    """Return a model with a list of tests and a curve, a tree, a model of a number, and one of mixed columns."""
    X, y = heart.X[:N_FITTED], np.where(heart.y == 1, "present", "absent")[:N_FITTED]
    adaptive = ThriftyClassifier(costs=heart.costs, budget=60, random_state=0)
    tree = ASTCClassifier(costs=heart.costs, max_depth=3, node_budget=[4, 10, 100], overflow="skip")
    number = GreedyMiserRegressor(costs=heart.costs, cost_weight=1e-3, n_estimators=20, evaluation_cost=0.25)
    columns = mixed_columns(heart)[:N_FITTED]
    mixed = TableModel(ASTCClassifier(max_depth=2, node_budget=[3, 5]), costs=dict.fromkeys(columns, 1.0))
    return {
        "adaptive": adaptive.fit(X, y),
        "tree": tree.fit(X, y),
        "number": number.fit(X, X["thalach"]),
        "mixed": mixed.fit(columns, y),
    }


def mixed_columns(heart):
    """Return a table with a category, a boolean, and a column whose name is markup."""
    pain = heart.X["cp"].map({1: "typical", 2: "atypical", 3: "other", 4: "none"})
    return heart.X[["age"]].assign(**{MARKUP: heart.X["oldpeak"], "pain": pain, "exang": heart.X["exang"] == 1})
