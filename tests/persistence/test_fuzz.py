"""Thousands of damaged files: each is refused, or predicts what the original predicts, and nothing crashes."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from thrifty.exceptions import ModelFileError
from thrifty.persistence import load, save

N_FLIPS, N_CUTS = 600, 150  # of each model
N_MUTANTS = 60  # of each model


@pytest.mark.parametrize("name", ["tree", "forest", "chain", "policy"])
def test_flipped_and_missing_bytes(models, heart, tmp_path, name):
    model, random, n_refused = models[name], np.random.default_rng(0), 0
    path = save(model, tmp_path / "m")
    content, expected = path.read_bytes(), model.acquire(heart.X[:20])
    cuts = [content[:end] for end in random.integers(len(content), size=N_CUTS)]
    for damaged in (*cuts, *flipped(content, random)):
        path.write_bytes(damaged)
        try:
            twin = load(path)
        except ModelFileError:
            n_refused += 1
            continue
        np.testing.assert_array_equal(twin.acquire(heart.X[:20]).score, expected.score)
    assert n_refused > 0.9 * (N_FLIPS + N_CUTS)


def flipped(content, random):
    """Yield copies with one flipped bit; every fifth one is in the directory of the zip file, at its end."""
    for k in range(N_FLIPS):
        copy = bytearray(content)
        at = random.integers(len(content) - 200, len(content)) if k % 5 == 0 else random.integers(len(content))
        copy[at] ^= 1 << random.integers(8)
        yield copy


def mutants(models, folder, count, seed):
    """Load and use `count` mutants of each model in another process; return what happened to them."""
    paths = [save(model, folder / name) for name, model in models.items()]
    program = [sys.executable, "-X", "faulthandler", Path(__file__).with_name("mutants.py"), str(count), str(seed)]
    done = subprocess.run([*program, *paths], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"seed {seed}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    return json.loads(done.stdout.splitlines()[-1])


def test_mutants(models, tmp_path):
    for found in mutants(models, tmp_path, N_MUTANTS, seed=1):
        assert found["refused"] > 0.2 * N_MUTANTS
        assert found["used"] > 0.2 * N_MUTANTS


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 110))
def test_many_mutants(models, tmp_path, seed):
    mutants(models, tmp_path, 500, seed)
