"""Published figures of Xu et al. (2014), section 6.3, on public ranking data (``THRIFTY_DATA``)."""

import numpy as np
import pytest

from thrifty import CronusClassifier, CSCCClassifier, CSTCClassifier
from thrifty.datasets import list_datasets, load_mq2008, skew_ranking
from thrifty.metrics import CostCurve, area_under_cost_curve, precision_at_k

FOLDS = (1, 2)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_cascades_are_better_than_trees_if_relevant_documents_are_rare():
    """Figure 7: at equal spend, Precision@5 of CSCC and of Cronus is above that of CSTC."""
    if not list_datasets()["mq2008"]:
        pytest.skip("mq2008 is not in the folder named by THRIFTY_DATA")
    folds = [skew_ranking(load_mq2008(fold=fold), relevant_from=2) for fold in FOLDS]
    tree = np.mean([area(CSTCClassifier(costs=data.costs, max_depth=3), data) for data in folds])
    for cascade in (CSCCClassifier, CronusClassifier):
        assert np.mean([area(cascade(costs=data.costs, class_weight="balanced"), data) for data in folds]) > tree


def area(model, data):
    train, test = ~(data.test | data.validation), data.test
    models = model.path(data.X[train], data.y[train])
    curve = CostCurve(
        [each.spend(data.X[test]).mean() for each in models],
        [
            precision_at_k(data.y[test], each.decision_function(data.X[test]), qid=data.qid[test], k=5)
            for each in models
        ],
    )
    return area_under_cost_curve(curve, limits=(0.0, 0.3 * data.costs.total))
