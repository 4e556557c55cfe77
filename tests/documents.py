"""Run the examples in the documentation, and write what they print into the pages.

The ```python and ```console blocks of a page run in order, in one scope and in one folder. A ```text block directly
after a ```python block holds what that block prints; if the block ends in an expression, its value is printed too. In a
```console block a line that starts with "$ " is a command, and the lines after it hold what the command prints.

    python tests/documents.py             run all pages and write what they print
    python tests/documents.py README.md   run these pages only
"""

import ast
import contextlib
import io
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n(?:\n*^```text\n(.*?)^```\n)?", flags=re.DOTALL | re.MULTILINE)
COMMAND = re.compile(r"^\$ ((?:[^\n]*\\\n)*[^\n]*)\n(.*?)(?=^\$ |\Z)", flags=re.DOTALL | re.MULTILINE)
DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def rerun(page: Path, folder: Path) -> str:
    """Run the blocks of a page in a folder, and return the page with what they print now."""
    # A real module, so that classes that are defined in a page can be pickled.
    module = sys.modules["page"] = ModuleType("page")
    text = page.read_text(encoding="utf-8")

    def renew(block: re.Match[str]) -> str:
        kind, code, written = block.groups()
        if kind == "console":
            return _with(block, 2, COMMAND.sub(_rerun_command, code))
        padding = "\n" * text.count("\n", 0, block.start(2))  # so that tracebacks show the line of the page
        printed = run_python(padding + code, str(page), vars(module))
        return block[0] if written is None else _with(block, 3, _unless_same(written, printed))

    with contextlib.chdir(folder):
        return BLOCK.sub(renew, text)


def run_python(code: str, filename: str, scope: dict) -> str:
    """Run code and return what it prints, including the value of a last line that is an expression."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, filename, "exec"), scope)
        if last and (value := eval(compile(ast.Expression(last.value), filename, "eval"), scope)) is not None:
            print(value)
    return printed.getvalue()


def run_command(command: str) -> str:
    """Run a shell command in a terminal of 100 columns; return what it prints, without spaces at the ends of lines."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "100", "TERM": "dumb"}
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, env=environment, check=False)
    if ended.returncode:
        raise RuntimeError(f"{command!r} ended with exit code {ended.returncode}: {ended.stderr}")
    lines = "\n".join(line.rstrip() for line in ended.stdout.splitlines()).strip("\n")
    return f"{lines}\n" if lines else ""


def _rerun_command(command: re.Match[str]) -> str:
    return _with(command, 2, _unless_same(command[2], run_command(command[1])))


def _unless_same(written: str, printed: str) -> str:
    """Return what was printed, or what is written already if only dates differ."""
    same = DATE.sub("date", written) == DATE.sub("date", printed)
    return written if same else printed


def _with(match: re.Match[str], group: int, replacement: str) -> str:
    """Return the text of a match with one of its groups replaced."""
    start, end = match.start(group) - match.start(), match.end(group) - match.start()
    return match[0][:start] + replacement + match[0][end:]


def main(pages: list[Path]) -> None:
    """Run pages and write what they print."""
    for page in pages:
        print(page.name, flush=True)
        with TemporaryDirectory() as folder:
            text = rerun(page.resolve(), Path(folder))
        page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or PAGES)
