"""After a warm-up all kernels are compiled."""

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import thrifty
from thrifty.cli.warmup import boost_rows, count_masks, evaluate_kernels, evaluate_trees, fitted, use
from thrifty.testing import public_estimators

FLOATS = {"buy_rows", "code_rows", "exit_early", "forest_outputs"}
FLOATS |= {"gather", "products", "project_rows", "squares", "walk_rows"}


def kernels():
    """Return the kernels that are called from outside the kernels; they compile the others."""
    package = Path(thrifty.__file__).parent
    for path in package.rglob("*.py"):
        if "kernels" not in path.relative_to(package).parts:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("thrifty.kernels."):
                    module = importlib.import_module(node.module)
                    for alias in node.names:
                        if hasattr(member := getattr(module, alias.name), "signatures"):
                            yield alias.name, member


def called_by_kernels():
    """Return the names that kernels call: if the caller comes from the cache, they are not compiled in this process."""
    for path in (Path(thrifty.__file__).parent / "kernels").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield node.func.id


def test_every_kernel_is_compiled_for_both_floats():
    for estimator in public_estimators():
        for model, X in fitted(estimator):
            use(model, X)
    count_masks()
    evaluate_trees()
    boost_rows()
    evaluate_kernels()
    inner = set(called_by_kernels())
    for name, kernel in kernels():
        seen = {str(argument.dtype) for signature in kernel.signatures for argument in signature if is_matrix(argument)}
        assert kernel.signatures or name in inner, f"{name} is left to be compiled"
        assert name not in FLOATS or {"float32", "float64"} <= seen, f"{name} is compiled for {seen} only"


def is_matrix(argument):
    return getattr(argument, "ndim", 0) == 2


def test_the_command_says_what_it_did(tmp_path):
    done = subprocess.run(
        [Path(sys.executable).with_name("thrifty"), "warmup"],
        capture_output=True, text=True, check=False, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    for estimator in public_estimators():
        assert estimator.__name__ in done.stdout
    assert list(tmp_path.rglob("*.nbi")), "nothing was cached"
