"""The demo with few folds, and its parts."""

import re
import signal
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from cli.pages import Page
from thrifty import ASTCClassifier, TableModel
from thrifty.cli.demo.heart_in_words import load_heart_in_words
from thrifty.cli.demo.report import choose_patient
from thrifty.cli.demo.study import BUDGETS, BudgetRow, Outcome, Study, choose_models
from thrifty.cli.output_files import write_all

THRIFTY = Path(sys.executable).with_name("thrifty")
FILES = ["cost-curve.png", "index.html"]


@pytest.fixture(scope="module")
def heart():
    return load_heart_in_words()


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "out"
    folder.mkdir()
    (folder / "mine.txt").write_text("kept")
    command = [THRIFTY, "demo", "--folds", "2", "--output", folder]
    return subprocess.run(command, capture_output=True, text=True, check=False), folder


def test_it_prints_the_table_the_finding_and_the_patient(demo):
    done, folder = demo
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    for words in ("budget", "accuracy", "AUC", "all tests $324", "Within a budget of $", "Patient ", "Stopped: "):
        assert words in said
    for name in FILES:
        assert str(folder / name) in done.stdout


def test_it_writes_its_files_and_nothing_else(demo):
    _, folder = demo
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "mine.txt"])
    assert (folder / "mine.txt").read_text() == "kept"
    assert (folder / "cost-curve.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_page_needs_nothing_but_itself(demo):
    _, folder = demo
    page = Page(folder / "index.html")
    (image,) = [attributes for tag, attributes in page.tags if tag == "img"]
    kind, _, content = image["src"].partition(",")
    assert kind == "data:image/png;base64"
    assert b64decode(content) == (folder / "cost-curve.png").read_bytes()
    assert len(image["alt"]) > 20
    loaded = [a.get("src") or a.get("href", "") for tag, a in page.tags if tag != "a"]
    assert not [address for address in loaded if address and not address.startswith("data:")]
    assert not {"script", "iframe", "object"} & {tag for tag, _ in page.tags}
    assert "url(" not in page.text
    assert "@import" not in page.text


def test_the_page_says_what_the_terminal_says_and_cites_its_sources(demo):
    done, folder = demo
    page = " ".join(Page(folder / "index.html").text.split())
    said = " ".join(done.stdout.split())
    finding = said[said.index("Within a budget of") : said.index(" Means over")]
    assert finding in page
    for start in ("Patient ", "Stopped: ", "Answer: "):
        sentence = re.search(rf"{start}.*?\.(?= [A-Z]|$)", said)[0]
        assert sentence in page
    numbers = re.findall(r"\$[\d.]+|[\d.]+%|0\.\d{3}", said)
    assert len(numbers) > 40
    for number in numbers:
        assert number in page, number
    for words in ("CC BY 4.0", "UCI Machine Learning Repository", "Turney (1995)"):
        assert words in page


def test_an_interrupt_ends_it_quietly_with_nothing_written(tmp_path):
    command = [THRIFTY, "demo", "--output", "out"]
    with subprocess.Popen(command, cwd=tmp_path, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        running.stdout.readline()  # it has begun
        running.send_signal(signal.SIGINT)
        _, complaints = running.communicate(timeout=60)
    assert (running.returncode, complaints) == (130, "")
    assert not list(tmp_path.iterdir())


def test_files_are_written_together_or_not_at_all(tmp_path):
    (tmp_path / "out" / "b").mkdir(parents=True)
    with pytest.raises(OSError, match="b' is a folder"):
        write_all(tmp_path / "out", {"a": b"1", "b": b"2"})
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["b"]
    assert write_all(tmp_path / "new", {"a": b"1"}) == [tmp_path / "new" / "a"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "out"]


def test_the_choices_keep_their_budgets_and_use_them(heart):
    train = np.arange(0, len(heart.y), 2)
    chosen = choose_models(heart, train, seed=0)
    spends = [[model.spend(heart.X.iloc[train]).mean() for model in pair] for pair in chosen]
    for budget, pair in zip(BUDGETS, spends, strict=True):
        assert max(pair) <= budget
    assert spends[0][0] < spends[-1][0]
    for *_, same in chosen:
        assert len(np.unique(same.acquire(heart.X).acquired, axis=0)) == 1


def test_the_patient_is_predicted_by_a_model_that_was_not_fitted_to_it(heart):
    train, test = np.arange(200), np.arange(200, 270)
    tree = ASTCClassifier(max_depth=3, node_budget=[4, 20, 100], overflow="skip")
    model = TableModel(tree, costs=heart.costs).fit(heart.X.iloc[train], heart.y[train])
    row = BudgetRow(100.0, Outcome(50, 0.8, 0.9), Outcome(50, 0.8, 0.9), Outcome(50, 0.7, 0.8))
    study = Study((row,), Outcome(324, 0.84, 0.9), 270, 5, {100.0: model}, tuple(test.tolist()))
    patient = choose_patient(heart, study)
    assert patient.number - 1 in test
    acquisition = model.acquire(heart.X.iloc[[patient.number - 1]])
    assert patient.trace.spend == acquisition.spend[0] < heart.costs.total
    assert patient.trace.prediction == acquisition.prediction[0] == patient.truth == heart.y[patient.number - 1]
    assert sum(len(step.items) for step in patient.trace.steps) == acquisition.acquired.sum()


def test_the_headline_is_the_cheapest_row_that_is_about_as_good_as_all_tests():
    def row(budget, accuracy):
        return BudgetRow(budget, Outcome(budget, 0.9, 0.9), Outcome(budget, accuracy, 0.9), Outcome(budget, 0.7, 0.8))

    rows = (row(5, 0.75), row(50, 0.82), row(100, 0.83))
    study = Study(rows, Outcome(324, 0.84, 0.9), n_patients=270, n_folds=5)
    assert study.accuracy_error == pytest.approx((0.84 * 0.16 / 270) ** 0.5)
    assert study.headline.budget == 50
    assert Study(rows, Outcome(324, 0.95, 0.9), n_patients=270, n_folds=5).headline.budget == 100
