"""The README's Python runs, and prints what the README says it prints."""

import contextlib
import io
import re
from pathlib import Path

import pytest

README = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```(?:\n+```text\n(.*?)```)?", README, flags=re.DOTALL)


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


@pytest.mark.filterwarnings("error")
def test_every_block_runs_and_prints_what_is_written():
    assert len(BLOCKS) >= 4
    scope = {}
    for code, expected in BLOCKS:
        printed = run(code, scope)
        if expected:
            assert printed == expected
