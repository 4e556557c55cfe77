"""The demo as a newcomer runs it, on small settings; and the parts it is made of."""

import signal
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from cli.pages import Page
from thrifty.cli.demo.folder import write_all
from thrifty.cli.demo.replay import replay_patient, show
from thrifty.cli.demo.study import BudgetRow, Outcome, Study, choose, static_family, tree_family
from thrifty.datasets import load_heart

THRIFTY = Path(sys.executable).with_name("thrifty")
FILES = ["cost-curve.png", "index.html", "tree.png"]


@pytest.fixture(scope="module")
def heart():
    return load_heart()


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
    for words in ("budget", "accuracy", "AUC", "full model $323.97", "At a budget of $", "Patient ", "Stopped: done"):
        assert words in said
    for name in FILES:
        assert str(folder / name) in done.stdout


def test_it_writes_its_files_and_nothing_else(demo):
    _, folder = demo
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "mine.txt"])
    assert (folder / "mine.txt").read_text() == "kept"
    for name in ("cost-curve.png", "tree.png"):
        assert (folder / name).read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_the_page_needs_nothing_but_itself(demo):
    _, folder = demo
    page = Page(folder / "index.html")
    images = [attributes for tag, attributes in page.tags if tag == "img"]
    for image, name in zip(images, ["cost-curve.png", "tree.png"], strict=True):
        kind, _, content = image["src"].partition(",")
        assert kind == "data:image/png;base64"
        assert b64decode(content) == (folder / name).read_bytes()
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
    finding = said[said.index("At a budget of") : said.index(" Means over")]
    assert finding in page
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


def test_both_families_keep_a_small_budget_and_use_a_large_one(heart):
    rows, steps = (heart.X, heart.y), []
    for family in (tree_family(heart.costs), static_family(heart.costs, rows)):
        cheap, dear = choose(family, rows, [5, 200], seed=0, on_step=lambda: steps.append(1))
        assert cheap.spend(heart.X).mean() <= 5.5
        assert cheap.spend(heart.X).mean() <= dear.spend(heart.X).mean() <= 220
        assert cheap.score(heart.X, heart.y) <= dear.score(heart.X, heart.y)
    assert len(steps) == 12


def test_the_replay_is_what_the_tree_does_to_a_patient_it_was_not_fitted_to(heart):
    trees = tree_family(heart.costs)(heart.X, heart.y)
    tree = next(tree for tree in trees if tree.node_budget == [4, 131, 0, 0, 131, 131, 0])
    showcase = show(heart, tree)
    replay, patient = showcase.replay, showcase.replay.patient - 1
    assert len(showcase.labels) == len(heart.y) - 1
    np.testing.assert_array_equal(showcase.X, np.delete(heart.X, patient, axis=0))
    assert replay == replay_patient(heart, showcase.tree, patient)
    acquisition = showcase.tree.acquire(heart.X[[patient]])
    assert replay.spend == acquisition.spend[0]
    assert replay.answer == acquisition.prediction[0] == replay.truth
    assert sum(len(step.findings) for step in replay.steps) == acquisition.acquired.sum()
    np.testing.assert_allclose(np.cumsum([step.cost for step in replay.steps]), [s.spend for s in replay.steps])
    assert replay.steps[-1].risk == showcase.tree.predict_proba(heart.X[[patient]])[0, 1]
    halves = sum(len(step.turns) for step in replay.steps)
    assert halves == showcase.tree.tree_.depth[acquisition.exit[0]]


def test_the_headline_is_the_cheapest_row_that_is_about_as_good_as_the_full_model():
    def row(budget, accuracy):
        return BudgetRow(budget, Outcome(budget, accuracy, 0.9), Outcome(budget, 0.7, 0.8))

    rows = (row(5, 0.75), row(50, 0.82), row(100, 0.83))
    assert Study(5, rows, Outcome(324, 0.84, 0.9), chance=0.02).headline.budget == 50
    assert Study(5, rows, Outcome(324, 0.95, 0.9), chance=0.02).headline.budget == 100
