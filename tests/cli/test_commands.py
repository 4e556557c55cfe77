"""The command itself: help, version, and one line for every error."""

import subprocess
import sys
from pathlib import Path

import pytest

import thrifty
from thrifty.__main__ import main as started

THRIFTY = Path(sys.executable).with_name("thrifty")


def run(*arguments, cwd=None):
    return subprocess.run([THRIFTY, *arguments], capture_output=True, text=True, cwd=cwd, check=False)


def test_it_tells_its_version():
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"thrifty {thrifty.__version__}\n", "")


@pytest.mark.parametrize("arguments", [["--help"], []])
def test_it_lists_its_verbs(arguments):
    done = run(*arguments)
    assert done.returncode == 0
    for verb in ("fit", "frontier", "predict", "explain", "ask", "costs", "demo", "warmup"):
        assert f" {verb} " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["spend"], ["'spend'", "thrifty --help"]),
        (["--lavish"], ["--lavish", "thrifty --help"]),
        (["demo", "--lavish"], ["--lavish", "thrifty demo --help"]),
        (["demo", "more"], ["more", "thrifty demo --help"]),
        (["demo", "--folds", "many"], ["--folds", "integer", "thrifty demo --help"]),
        (["demo", "--folds", "1"], ["--folds is 1", "from 2 to 20"]),
        (["demo", "--seed", "-1"], ["--seed is -1", "from 0 to"]),
        (["demo", "--output", "taken"], ["--output is 'taken'", "a file", "Pass a folder"]),
        (["demo", "--output", "no/such"], ["--output is 'no/such'", "no folder 'no'", "Make it"]),
        (["warmup", "--lavish"], ["--lavish", "thrifty warmup --help"]),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, says, tmp_path):
    (tmp_path / "taken").write_text("mine")
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("thrifty: ")
    assert done.stderr.count("\n") == 1
    assert done.stderr.endswith("\n")
    for words in says:
        assert words in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]
    assert (tmp_path / "taken").read_text() == "mine"


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs a folder that even root cannot write to")
def test_a_folder_that_cannot_be_written_is_refused_before_the_work():
    done = run("demo", "--output", "/proc/thrifty-demo")
    assert done.returncode == 2
    assert "nothing can be written" in done.stderr
    assert done.stderr.count("\n") == 1


def test_importing_the_command_line_is_quick():
    code = "import thrifty.cli, sys; print(*{name.partition('.')[0] for name in sys.modules})"
    modules = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "pandas", "sklearn", "numba", "matplotlib", "skops"} & set(modules)


class Interrupting:
    """A finder of modules during which Ctrl-C is pressed."""

    def find_spec(self, name, path=None, target=None):
        if name == "thrifty.cli":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_command_line_is_imported_shows_no_traceback(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "thrifty.cli", raising=False)
    monkeypatch.delattr(thrifty, "cli", raising=False)
    assert started() == 130


def test_the_package_can_be_run_as_a_module():
    done = subprocess.run([sys.executable, "-m", "thrifty", "--version"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"thrifty {thrifty.__version__}\n")
