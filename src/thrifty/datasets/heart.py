"""Statlog heart data with the prices of Turney (1995), which is part of the package."""

from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from thrifty.costs import CostModel
from thrifty.exceptions import MissingExtraError

_FOLDER = Path(__file__).parent / "data"

_DESCRIPTION = """\
Statlog heart: 270 patients x 13 tests; is heart disease absent (0) or present (1)?

Prices are in Canadian dollars. All tests together cost 323.97. Three groups of tests share a cost that is paid once:
a blood draw (2.10) for chol and fbs, an exercise test (86.30) for exang, oldpeak and slope, and a thallium
test (101.90) for thalach and thal.

Data: Statlog (Heart), UCI Machine Learning Repository, https://doi.org/10.24432/C57303, licensed CC BY 4.0.
Its rows are a subset of the Cleveland data of R. Detrano.
Prices: P. D. Turney (1995), Cost-sensitive classification: empirical evaluation of a hybrid genetic decision
tree induction algorithm, Journal of Artificial Intelligence Research 2, 369-409.
"""


def load_heart(*, return_X_y: bool = False, as_frame: bool = False) -> Any:
    """Load the Statlog heart data: 270 patients, 13 tests, and the cost of each test.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return only ``(X, y)``.
    as_frame : bool, default=False
        Whether to return X as a pandas DataFrame and y as a Series.

    Returns
    -------
    Bunch, or tuple (X, y) if return_X_y
        X (270, 13), y (0: heart disease is absent, 1: present), costs (a CostModel in Canadian dollars, total 323.97),
        names, description and target_names.

    References
    ----------
    Statlog (Heart), UCI Machine Learning Repository, https://doi.org/10.24432/C57303.

    P. D. Turney (1995), Cost-sensitive classification: empirical evaluation of a hybrid genetic decision tree induction
    algorithm, Journal of Artificial Intelligence Research 2, 369-409.

    Examples
    --------
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> heart.X.shape, heart.names[:3], round(heart.costs.total, 2)
    ((270, 13), ['age', 'sex', 'cp'], 323.97)
    """
    path = _FOLDER / "heart.csv"
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    *names, target = path.read_text(encoding="utf-8").partition("\n")[0].split(",")
    X: Any = table[:, :-1]
    y: Any = table[:, -1].astype(np.int64) - 1
    if as_frame:
        pandas = _import_pandas()
        X, y = pandas.DataFrame(X, columns=names), pandas.Series(y, name=target)
    if return_X_y:
        return X, y
    return Bunch(
        X=X,
        y=y,
        costs=CostModel.from_file(_FOLDER / "heart_costs.csv"),
        names=names,
        description=_DESCRIPTION,
        target_names=["absent", "present"],
    )


def _import_pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise MissingExtraError(
            "load_heart: as_frame=True needs pandas, which is not installed. Run: pip install pandas"
        ) from error
    return pandas
