"""Rows with given values: the same as batch prediction, for few rows and for many."""

import numpy as np
import pytest

from thrifty.serving.rows import FEW

FEW_AND_MANY = [1, FEW, FEW + 1, 60]


@pytest.mark.parametrize("n", FEW_AND_MANY)
@pytest.mark.parametrize("cap", [None, 12.0])
def test_rows_are_predicted_as_in_a_batch(on_tree, tree, heart, n, cap):
    reply = on_tree.post("/predict/rows", json={"rows": heart.rows[:n], **({} if cap is None else {"cap": cap})}).json()
    bought = tree.acquire(heart.X[:n], cap)
    predictions = reply["predictions"]
    assert [each["prediction"] for each in predictions] == bought.prediction.tolist()
    assert [each["score"] for each in predictions] == bought.score.tolist()
    assert [each["spend"] for each in predictions] == bought.spend.tolist()
    assert [each["exit"] for each in predictions] == bought.exit.tolist()
    names = np.array(heart.X.columns)
    assert [each["acquired"] for each in predictions] == [names[marks].tolist() for marks in bought.acquired]
    assert [each["probability"]["present"] for each in predictions] == tree._probabilities(bought.score)[:, 1].tolist()
    assert reply["mean_spend"] == pytest.approx(bought.spend.mean())


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_rows_of_an_adaptive_model_at_a_budget(on_adaptive, adaptive, heart, n):
    reply = on_adaptive.post("/predict/rows", json={"rows": heart.rows[:n], "budget": 20}).json()
    bought = adaptive.at_budget(20).acquire(heart.X[:n], cap=200)
    assert [each["spend"] for each in reply["predictions"]] == bought.spend.tolist()
    assert [each["score"] for each in reply["predictions"]] == pytest.approx(bought.score.tolist())


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_rows_of_mixed_columns(on_rent, rent, flats, n):
    rows = flats[:n].astype(object).where(flats[:n].notna(), None).to_dict("records")
    reply = on_rent.post("/predict/rows", json={"rows": rows}).json()
    assert [each["prediction"] for each in reply["predictions"]] == pytest.approx(rent.predict(flats[:n]).tolist())
    assert [each["spend"] for each in reply["predictions"]] == rent.spend(flats[:n]).tolist()
    assert reply["predictions"][0]["probability"] is None


def test_no_rows(on_tree):
    assert on_tree.post("/predict/rows", json={"rows": []}).json() == {"predictions": [], "mean_spend": 0.0}


@pytest.mark.parametrize("n", FEW_AND_MANY)
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"agee": 1.0}, "row {last} has 'agee', which is not a column of the model."),
        ({"age": "old"}, "row {last}: 'age' is 'old'; expected a finite number, or null if it is unavailable."),
        ({"age": 10**400}, "row {last}: 'age' is a number of 1329 bits; expected a finite number, or null"),
    ],
)
def test_wrong_values_are_refused(on_tree, heart, n, change, sentence):
    rows = [*heart.rows[: n - 1], {**heart.rows[n], **change}]
    refused = on_tree.post("/predict/rows", json={"rows": rows})
    assert refused.status_code == 422
    assert sentence.format(last=n - 1) in refused.json()["detail"]


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_a_value_that_is_not_asked_for_may_be_missing_or_wrong(on_tree, tree, heart, n):
    bought = tree.acquire(heart.X[:1])
    spare = next(name for name, marked in zip(heart.X, bought.acquired[0], strict=True) if not marked)
    for row in ({**heart.rows[0], spare: "unreadable"}, {k: v for k, v in heart.rows[0].items() if k != spare}):
        reply = on_tree.post("/predict/rows", json={"rows": [row] * n})
        assert reply.json()["predictions"][-1]["score"] == bought.score[0]
    needed = {k: v for k, v in heart.rows[0].items() if k != "age"}
    refused = on_tree.post("/predict/rows", json={"rows": [needed] * n})
    assert refused.status_code == 422
    assert "row 0: the model asks for 'age', which the row does not have." in refused.json()["detail"]


@pytest.mark.parametrize("n", FEW_AND_MANY)
def test_unreadable_cells_of_mixed_columns(on_rent, n):
    row = {"rooms": "many", "town": "Ulm", "lift": True, "built": "1999-01-31"}
    refused = on_rent.post("/predict/rows", json={"rows": [row] * n})
    assert refused.status_code == 422
    assert "'many'" in refused.json()["detail"]
    assert "row 0" in refused.json()["detail"]
    assert refused.json()["detail"].endswith("expected a finite number, or null if it is unavailable.")
