"""Explanations of models, and traces of single rows."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import thrifty as package
from thrifty.cli.loaded_model import LoadedModel, number_distinct_rows
from thrifty.evaluation import purchases

THRIFTY = Path(sys.executable).with_name("thrifty")


def test_a_process_of_its_own_tells_the_stages_the_promise_and_the_shares(models, tables, searched, heart):
    command = [THRIFTY, "explain", models / "heart.thrifty", "--rows", "heart.csv"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = " ".join(done.stdout.split())
    assert "cost 323.97 CAD together" in said
    assert "At most 40 CAD a row on average" in said
    assert "every row: buy" in said
    assert f"270 rows spend {searched.spend(heart.X).mean():.2f}".removesuffix(".00") in said


def stages(stage):
    yield stage
    for child in stage.children:
        yield from stages(child)


@pytest.fixture(scope="module")
def tree(heart):
    tree = package.ASTCClassifier(max_depth=3, node_budget=[4, 10, 100], overflow="skip")
    return package.TableModel(tree, costs=heart.costs).fit(heart.X, heart.y)


def test_stages_and_their_shares_are_what_rows_do(tree, heart):
    acquisition = tree.acquire(heart.X)
    outline = tree.outline(acquisition.exit).stages
    leaves = [stage for stage in stages(outline) if not stage.children]
    assert sum(leaf.share for leaf in leaves) == pytest.approx(1)
    assert sum(leaf.share * leaf.paid for leaf in leaves) == pytest.approx(acquisition.spend.mean())
    for stage in stages(outline):
        assert stage.share == pytest.approx(sum(child.share for child in stage.children) or stage.share)
        for child in stage.children:
            assert child.paid == pytest.approx(stage.paid + child.cost)
    bought = {name for stage in stages(outline) for name in stage.buys}
    assert bought == set(heart.X.columns[acquisition.acquired.any(axis=0)])


def test_a_model_that_is_the_same_for_all_is_one_stage(heart):
    model = package.TableModel(package.CostWeightedL1Classifier(cost_weight=0.05), costs=heart.costs).fit(
        heart.X, heart.y
    )
    outline = model.outline().stages
    assert (outline.who, outline.rule, outline.children) == ("every row", None, [])
    assert outline.paid == model.spend(heart.X)[0]


def test_forests_tell_when_a_column_is_first_read(models, mixed):
    loaded = LoadedModel.open(models / "sick.thrifty")
    found = {use.feature: use for use in loaded.model.outline().uses}
    assert set(found) == {"age", "town", "smokes", "w;eird [b]<i>"}
    assert min(use.first for use in found.values()) == 1
    encoder, reads = loaded.model.encoder_, loaded.model.estimator_.forest_.tree_reads
    for name, use in found.items():
        read = reads[:, encoder.source_ == loaded.names.index(name)].any(axis=1)
        assert (use.first, use.count) == (read.argmax() + 1, read.sum())


@pytest.mark.parametrize(
    ("estimator", "says"),
    [
        (package.GreedyMiserClassifier(n_estimators=5), "first round"),
        (package.DynamicSelectionClassifier(n_folds=2), "It begins with"),
        (package.GreedyMiserClassifier(n_estimators=5, charge="row"), "It begins with"),
        (package.AttentiveClassifier(delta=0.1), "first step"),
        (package.CSCCClassifier(n_stages=2), "every row: buy"),
        (package.TruncatedClassifier(), "first step"),
    ],
)
def test_every_family_explains_itself(thrifty, tables, mixed, estimator, says):
    table, targets = mixed
    package.save(package.TableModel(estimator).fit(table, targets["sick"].to_numpy()), "m.thrifty")
    done = thrifty("explain", "m.thrifty", "--rows", "mixed.csv")
    assert done.code == 0
    assert says in " ".join(done.out.split())
    record = json.loads(thrifty("explain", "m.thrifty", "--rows", "mixed.csv", "--json").out)
    model = package.load("m.thrifty")
    assert record["mean_spend"] == pytest.approx(model.spend(table).mean())
    assert sum(each["share"] for each in record["bought"]) == pytest.approx(1)


def test_a_row_is_traced_as_the_batch_answers_it(thrifty, models, tables, heart):
    model = package.load(models / "heart.thrifty")
    acquisition = model.acquire(heart.X)
    for row in (1, 200):
        told = json.loads(
            thrifty("explain", models / "heart.thrifty", "--rows", "heart.csv", "--row", row, "--json").out
        )
        assert told["prediction"] == acquisition.prediction[row - 1]
        assert told["spend"] == acquisition.spend[row - 1] == told["steps"][-1]["spend"]
        assert told["probability"] == model.predict_proba(heart.X.iloc[[row - 1]]).max()
        assert told["saved"] == pytest.approx(323.97 - told["spend"])
        bought = {name: value for step in told["steps"] for name, value in step["bought"].items()}
        assert bought == {name: heart.X[name].iloc[row - 1] for name in heart.X.columns[acquisition.acquired[row - 1]]}
        for step in told["steps"]:
            assert sum(part["cost"] for part in step["bill"]) == pytest.approx(step["cost"])
    shown = thrifty("explain", models / "heart.thrifty", "--rows", "heart.csv", "--row", 200).out
    assert "Stopped: done" in shown
    assert f"Answer: {acquisition.prediction[199]}" in shown


def test_purchases_and_the_end_are_explained(thrifty, explained, tables, heart):
    model = package.load(explained)
    row = int(np.argmax(model.spend(heart.X)))
    session = model.session()
    steps = []
    while isinstance(step := session.next(), package.Acquire):
        steps.append(step)
        session.observe({name: heart.X[name].iloc[row] for name in step.features})
    assert all("nats, worth" in each.explanation for each in steps)
    arguments = ("explain", explained, "--rows", "heart.csv", "--row", row + 1)
    told = json.loads(thrifty(*arguments, "--json").out)
    assert [each["explanation"] for each in told["steps"]] == [each.explanation for each in steps]
    assert told["explanation"] == step.explanation != ""
    said = " ".join(thrifty(*arguments).out.split())
    for each in steps:
        assert each.explanation.split(",")[0] in said
    assert f"Stopped: {step.reason}; {step.explanation}." in said


def test_models_without_explanations_have_none(thrifty, models, tables):
    arguments = ("explain", models / "heart.thrifty", "--rows", "heart.csv", "--row", 1)
    told = json.loads(thrifty(*arguments, "--json").out)
    assert [told["explanation"], *(step["explanation"] for step in told["steps"])] == [""] * (1 + len(told["steps"]))
    assert "the model needs no more columns" in thrifty(*arguments).out


def test_a_row_of_json_may_have_gaps_and_a_cap(thrifty, models, mixed):
    model = package.load(models / "sick.thrifty")
    row = {"age": 61, "town": "Ulm", "smokes": "no"}
    told = json.loads(thrifty("explain", models / "sick.thrifty", "--row", json.dumps(row), "--json").out)
    frame = pd.DataFrame([row | {"seen": None, "w;eird [b]<i>": None}])
    assert told["spend"] == model.spend(frame)[0]
    assert told["prediction"] == model.predict(frame)[0]
    capped = thrifty("explain", models / "sick.thrifty", "--row", json.dumps(row), "--cap", 1)
    assert "Stopped: cap" in capped.out
    assert "for 1; 4 of 5 saved" in capped.out


def test_numbers_are_answered_without_certainty_and_nothing_may_be_asked_for(thrifty, models):
    done = thrifty("explain", models / "amount.thrifty", "--row", "{}", "--cap", 0)
    assert done.out.startswith("Nothing is asked for.\nStopped: cap")
    assert "sure" not in done.out


def test_the_bill_names_what_is_shared(thrifty, tables, heart):
    row = {name: float(heart.X[name].iloc[0]) for name in heart.X}
    package.save(
        package.TableModel(package.CostWeightedL1Classifier(cost_weight=0), costs=heart.costs).fit(heart.X, heart.y),
        "all.thrifty",
    )
    told = json.loads(thrifty("explain", "all.thrifty", "--row", json.dumps(row), "--json").out)
    bill = [(part["for"], part["cost"]) for step in told["steps"] for part in step["bill"]]
    assert ("blood draw", 2.1) in bill
    assert sum(cost for _, cost in bill) == pytest.approx(told["spend"])
    assert len({unit for unit, _ in bill}) == len(bill)


def test_rows_with_targets_tell_what_each_purchase_earns(thrifty, models, tables, heart):
    arguments = ("explain", models / "heart.thrifty", "--rows", "heart.csv", "--target", "diagnosis")
    told = json.loads(thrifty(*arguments, "--json").out)
    expected = purchases(package.load(models / "heart.thrifty"), heart.X, heart.frame["diagnosis"].to_numpy())
    assert told["scoring"] == "accuracy"
    assert [each["name"] for each in told["purchases"]] == expected.index.tolist()
    assert [each["loss"] for each in told["purchases"]] == pytest.approx(expected["loss"].tolist())
    said = " ".join(thrifty(*arguments).out.split())
    assert "loss of accuracy" in said
    assert f"No row buys {', '.join(expected.index[expected['bought'] == 0])}." in said


def test_rows_without_targets_tell_how_often_and_for_how_much(thrifty, models, tables, heart):
    heart.X.to_csv("rows.csv", index=False)
    told = json.loads(thrifty("explain", models / "heart.thrifty", "--rows", "rows.csv", "--json").out)
    assert told["scoring"] is None
    assert "loss" not in told["purchases"][0]
    assert sum(each["spend"] for each in told["purchases"]) == pytest.approx(told["mean_spend"])
    assert "loss" not in thrifty("explain", models / "heart.thrifty", "--rows", "rows.csv").out


def test_rankings_need_queries_to_be_scored(thrifty, models, tables):
    arguments = ("explain", models / "ranks.thrifty", "--rows", "mixed.csv", "--json")
    assert json.loads(thrifty(*arguments).out)["scoring"] is None
    told = json.loads(thrifty(*arguments, "--target", "grade", "--qid", "query").out)
    assert told["scoring"] == "ndcg@5"


def test_a_bar_chart_is_written_in_a_process_of_its_own(models, tables):
    command = [THRIFTY, "explain", models / "heart.thrifty", "--rows", "heart.csv", "--png", "bars.png"]
    done = subprocess.run([*command, "--target", "diagnosis"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("bars.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--target", "diagnosis"], "--target is for a table of rows"),
        (["--rows", "heart.csv", "--row", "1", "--png", "a.png"], "--png is for a table of rows"),
        (["--rows", "heart.csv", "--png", "a.jpg"], "--png is 'a.jpg'"),
        (["--rows", "heart.csv", "--target", "age"], "which is not a class of the model"),
        (["--row", "3"], "no --rows"),
        (["--row", "0", "--rows", "heart.csv"], "rows 1 to 270"),
        (["--row", "271", "--rows", "heart.csv"], "rows 1 to 270"),
        (["--row", "{age: 3}"], "neither a number nor JSON"),
        (["--row", "[3]"], "expected an object"),
        (["--row", '{"years": 3}'], "'years'"),
        (["--row", '{"age": "old"}'], "'old'"),
        (["--row", '{"age": 3}', "--rows", "heart.csv"], "expected a number"),
        (["--rows", "mixed.csv"], "'sex'"),
        (["--cap", "-3", "--row", "{}"], "cap is -3"),
    ],
)
def test_bad_input_is_one_line(refused, models, tables, arguments, says):
    assert says in refused("explain", models / "heart.thrifty", *arguments)


def test_distinct_rows_are_told_apart_beyond_a_machine_word():
    marks = np.random.default_rng(0).random((500, 150)) < 0.5
    marks[250:] = marks[:250]
    marks[10, 149] ^= True
    codes = number_distinct_rows(marks)
    _, expected = np.unique(marks, axis=0, return_inverse=True)
    assert len(set(zip(codes, expected, strict=True))) == len(set(codes)) == len(set(expected)) == 251
