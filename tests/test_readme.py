"""What the README shows is what happens: its Python runs, its commands run, and both print what is written there."""

import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(python|console)\n(.*?)```(?:\n+```text\n(.*?)```)?", README, flags=re.DOTALL)
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")
COMMANDS = re.compile(r"^\$ (.*?)\n(.*?)(?=^\$ |\Z)", flags=re.DOTALL | re.MULTILINE)


def run(code, scope):
    """Execute a block as a console would: the value of a last expression is shown."""
    *body, last = code.strip().splitlines()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        try:
            shown = compile(last, "README.md", "eval")
        except SyntaxError:
            exec(code, scope)
        else:
            exec("\n".join(body), scope)
            value = eval(shown, scope)
            if value is not None:
                print(value)
    return printed.getvalue()


def typed(command):
    """Run a command as if typed into a terminal of a hundred columns; blanks at the ends of lines do not show."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "TERM": "dumb"}
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, ended.stderr
    return "\n".join(line.rstrip() for line in ended.stdout.splitlines()).strip("\n")


@pytest.mark.filterwarnings("error")
def test_every_block_runs_and_prints_what_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert len(BLOCKS) >= 4
    scope = {}
    for kind, code, expected in BLOCKS:
        if kind == "python":
            printed = run(code, scope)
            assert not expected or printed == expected
        else:
            for command, shown in COMMANDS.findall(code):
                printed, written = (DATE.sub("today", text) for text in (typed(command), shown.strip("\n")))
                assert printed == written, command
