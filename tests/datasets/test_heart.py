import hashlib
import sys

import numpy as np
import pytest

from thrifty.datasets import load_heart
from thrifty.exceptions import MissingExtraError

UCI_SHA256 = "f5f3b4204c285bafadd85cb735f38b47689f2be7047feb172dcbeab648110bf9"


@pytest.fixture(scope="module")
def heart():
    return load_heart()


def cost_of(heart, *names):
    return heart.costs.of(np.isin(heart.names, names)[None])[0]


def test_rows_are_those_of_the_uci_file(heart):
    lines = (
        " ".join([*(f"{value:.1f}" for value in row), f"{label + 1}\n"])
        for row, label in zip(heart.X, heart.y, strict=True)
    )
    assert hashlib.sha256("".join(lines).encode()).hexdigest() == UCI_SHA256


def test_shape_and_classes(heart):
    assert heart.X.shape == (270, 13)
    assert heart.X.dtype == np.float64
    np.testing.assert_array_equal(np.bincount(heart.y), [150, 120])
    assert heart.target_names == ["absent", "present"]
    assert heart.costs.names == tuple(heart.names)


def test_total_and_unit_of_the_prices(heart):
    assert heart.costs.total == pytest.approx(323.97)
    assert heart.costs.unit == "CAD"


@pytest.mark.parametrize(
    ("names", "price"),
    [
        (["age"], 1.00),
        (["restecg"], 15.50),
        (["ca"], 100.90),
        (["chol"], 7.27),
        (["fbs"], 5.20),
        (["chol", "fbs"], 10.37),
        (["exang"], 87.30),
        (["exang", "oldpeak", "slope"], 89.30),
        (["thal"], 102.90),
        (["thal", "thalach"], 103.90),
        (["thal", "exang"], 190.20),
    ],
)
def test_tests_of_a_group_share_its_cost(heart, names, price):
    assert cost_of(heart, *names) == pytest.approx(price)


def test_description_cites_data_and_prices(heart):
    for citation in ("UCI", "CC BY 4.0", "Turney (1995)"):
        assert citation in heart.description


def test_return_X_y(heart):
    X, y = load_heart(return_X_y=True)
    np.testing.assert_array_equal(X, heart.X)
    np.testing.assert_array_equal(y, heart.y)


def test_as_frame(heart):
    frame = load_heart(as_frame=True)
    assert list(frame.X.columns) == heart.names
    np.testing.assert_array_equal(frame.X.to_numpy(), heart.X)
    np.testing.assert_array_equal(frame.y.to_numpy(), heart.y)
    assert frame.y.name == "diagnosis"


def test_as_frame_without_pandas_gives_the_pip_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match="pip install pandas"):
        load_heart(as_frame=True)
