"""After a warm-up no kernel is left to compile."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import thrifty.kernels
from thrifty.cli.warmup import count_masks, evaluate_trees, fitted, use
from thrifty.testing import public_estimators

# Called by other kernels only, which are compiled with them inside.
INNER = {"all_arrived", "dot", "longest_path", "loss_at", "weigh"}
FLOATS = {"gather", "products", "project_rows", "squares", "walk_rows"}


def kernels():
    for module in pkgutil.iter_modules(thrifty.kernels.__path__):
        for name, member in vars(importlib.import_module(f"thrifty.kernels.{module.name}")).items():
            if hasattr(member, "signatures"):
                yield name, member


def test_every_kernel_is_compiled_for_both_floats():
    for estimator in public_estimators():
        for model, X in fitted(estimator):
            use(model, X)
    count_masks()
    evaluate_trees()
    for name, kernel in kernels():
        seen = {str(argument.dtype) for signature in kernel.signatures for argument in signature if is_matrix(argument)}
        assert kernel.signatures or name in INNER, f"{name} is left to be compiled"
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
