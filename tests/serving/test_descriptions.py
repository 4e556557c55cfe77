"""The descriptions: the model, the frontier, health and metrics; and predictions by key."""

import httpx
import pytest

from serving.started import SECONDS_TO_START, started
from thrifty import BudgetSearchCV, Engine, save
from thrifty.runtime import FrameSource


def test_the_model_is_described(on_tree, tree, heart):
    told = on_tree.get("/model").json()
    assert (told["name"], told["model"], told["task"]) == ("tree", "ASTCClassifier", "classification")
    assert told["classes"] == ["absent", "present"]
    assert (told["unit"], told["total"], told["cap"]) == ("CAD", heart.costs.total, None)
    assert told["outline"]["stages"]["buys"] == tree.outline().stages.buys
    assert told["outline"]["uses"] is None
    assert told["manifest"]["training"]["n_rows"] == 270
    features = {each["name"]: each for each in told["features"]}
    assert list(features) == list(heart.X)
    assert features["chol"]["price"] == pytest.approx(7.27)
    assert features["chol"]["bundle"] == "blood draw"
    assert features["age"]["bundle"] is None
    assert features["age"]["range"] == [heart.X["age"].min(), heart.X["age"].max()]
    assert told["examples"][1] == {"name": "case 2", "values": heart.rows[1]}


def test_mixed_columns_are_described(on_rent, flats):
    told = on_rent.get("/model").json()
    assert [each["kind"] for each in told["features"]] == ["number", "category", "boolean", "date"]
    assert told["features"][1]["levels"] == ["Bern", "Graz", "Ulm"]
    assert (told["task"], told["classes"]) == ("regression", None)
    shown = told["examples"][0]["values"]
    assert shown["lift"] is bool(flats["lift"][0])
    assert shown["built"] == flats["built"][0]
    assert {each["values"]["town"] for each in told["examples"]} <= {"Bern", "Graz", "Ulm", None}


def test_a_model_without_a_search_shows_its_operating_points(on_adaptive, adaptive, heart):
    told = on_adaptive.get("/frontier").json()
    assert (told["scoring"], told["unit"], told["operating"]) == ("neg_log_loss", "CAD", True)
    points = told["points"]
    assert [point["spend"] for point in points] == sorted(point["spend"] for point in points)
    assert [point["score"] for point in points] == sorted(point["score"] for point in points)
    assert told["anchors"]["nothing"] == {"spend": 0.0, "score": -adaptive.curve_.loss[0]}
    assert -points[-1]["score"] == adaptive.curve_.loss.min()


def test_a_tree_without_a_search_has_no_frontier(on_tree):
    assert on_tree.get("/frontier").json() == {
        "unit": "CAD", "scoring": "", "anchors": None, "points": [], "operating": False,
    }  # fmt: skip


def test_a_model_from_a_search_shows_what_the_search_found(tmp_path, heart):
    search = BudgetSearchCV(["l1"], budget=40, cap=150, costs=heart.costs, cv=3).fit(heart.X, heart.labels)
    save(search, tmp_path / "searched.thrifty")
    with started(tmp_path / "searched.thrifty") as server:
        told = httpx.get(f"{server.address}/frontier", timeout=SECONDS_TO_START).json()
        model = httpx.get(f"{server.address}/model", timeout=SECONDS_TO_START).json()
    assert told["scoring"] == model["promise"]["scoring"]
    assert (model["budget"], model["promise"]["cap"]) == (40, 150)
    assert len(told["points"]) == len(search.frontier_)
    assert sum(point["kept"] for point in told["points"]) == (~search.frontier_["dominated"]).sum()
    for name, anchor in (("nothing", "constant"), ("everything", "everything")):
        assert told["anchors"][name] == search.anchors_.loc[anchor, ["spend", "score"]].to_dict()


def test_health(on_tree):
    assert on_tree.get("/healthz").json() == {"status": "ok"}
    assert on_tree.get("/readyz").json() == {"status": "ready"}


def test_a_prediction_by_key_is_that_of_an_engine(on_tree, tree, heart):
    with Engine(tree, [FrameSource(heart.X, name="record")]) as engine:
        expected = engine.predict(17, cap=12.0).as_dict()
    told = on_tree.post("/predict", json={"key": 17, "cap": 12.0}).json()
    for varying in (expected, told):
        varying.pop("elapsed")
        for step in varying["steps"]:
            for call in step["calls"]:
                call.pop("elapsed")
                call.pop("started")
                call.pop("source")
    assert told == expected


def test_an_unknown_key_gets_a_degraded_answer(on_tree):
    told = on_tree.post("/predict", json={"key": "nobody"}).json()
    assert told["degraded"] is True
    assert told["steps"][0]["calls"][0]["outcome"] == "missing"


def test_prediction_by_key_needs_sources(on_adaptive):
    refused = on_adaptive.post("/predict", json={"key": 1})
    assert refused.status_code == 503
    assert "the service has no sources" in refused.json()["detail"]


def test_metrics_count_requests_rows_and_sessions(on_tree):
    def read():
        lines = (line.rpartition(" ") for line in on_tree.get("/metrics").text.splitlines() if line[0] != "#")
        return {name: float(value) for name, _, value in lines}

    def total(counted, name):
        return sum(value for key, value in counted.items() if key.startswith(name))

    before = read()
    on_tree.post("/predict", json={"key": 3})
    on_tree.post("/sessions", json={})
    on_tree.get("/x" * 50)
    after = read()
    assert total(after, "thrifty_rows_total") == total(before, "thrifty_rows_total") + 1
    assert total(after, "thrifty_sessions{") == total(before, "thrifty_sessions{") + 1
    started_sessions = 'thrifty_requests_total{method="POST",route="/sessions",status="201"'
    assert total(after, started_sessions) == total(before, started_sessions) + 1
    assert all("worker=" in name for name in after)
    assert not any("/x/x" in name for name in after)


def test_the_text_of_an_error_of_a_source_stays_in_the_log(files, heart, tmp_path):
    (tmp_path / "failing.py").write_text(
        "from thrifty import source\n"
        f"@source(provides={list(heart.X)!r})\n"
        "def record(key):\n"
        "    raise OSError('postgres://user:secret@host')\n"
    )
    with started(files / "tree.thrifty", "--sources", tmp_path / "failing.py") as server:
        reply = httpx.post(f"{server.address}/predict", json={"key": 3}, timeout=SECONDS_TO_START)
    assert reply.status_code == 200
    assert reply.json()["degraded"] is True
    assert "secret" not in reply.text
    assert reply.json()["steps"][0]["calls"][0]["error"] == "failed; the log of the service says more"
