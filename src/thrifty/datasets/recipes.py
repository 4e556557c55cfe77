"""Conversion of the stored arrays of a data set to X, y and masks of its splits."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Arrays = dict[str, Any]


def as_stored(arrays: Arrays) -> Arrays:
    """Return the arrays unchanged."""
    return arrays


def cleveland(arrays: Arrays) -> Arrays:
    """Reduce the diagnosis, 0 to 4, to absent or present, and keep it as `num`."""
    return {**arrays, "y": arrays["y"] > 0, "num": arrays["y"]}


def letter(arrays: Arrays) -> Arrays:
    """Add the usual split: the last 4000 of 20000 rows are test rows."""
    n_rows = len(arrays["y"])
    return {**arrays, "test": np.arange(n_rows) >= 0.8 * n_rows}


def ohsumed(arrays: Arrays) -> Arrays:
    """Add a split: rows of queries 96 to 106 are test rows."""
    return {**arrays, "test": arrays["qid"] > 95}


def mslr(arrays: Arrays) -> Arrays:
    """Add the masks of test and validation rows, which follow from the names of the parts."""
    part_names = arrays["part_names"]
    test, validation = (np.char.endswith(part_names, ending)[arrays["part"]] for ending in ("_test", "_vali"))
    return {**arrays, "part_names": part_names.tolist(), "test": test, "validation": validation}


def mq2008(arrays: Arrays, *, fold: int = 1) -> Arrays:
    """Add the masks of a fold. Folds rotate the five official parts: fold 1 has test part 5 and validation part 4."""
    if fold not in range(1, 6):
        raise ValueError(f"fold={fold!r} is not one of the five official folds. Pass 1, 2, 3, 4 or 5.")
    validation, test = (fold + 2) % 5 + 1, (fold + 3) % 5 + 1
    return {**arrays, "test": arrays["split"] == test, "validation": arrays["split"] == validation}


def covtype(arrays: Arrays, *, binary: bool = False) -> Arrays:
    """Return the 54 published columns; the two one-hot blocks are stored as indices."""
    measured, wilderness, soil, cover = (arrays.pop(key) for key in ("X_cont", "wilderness", "soil", "y"))
    rows = np.arange(len(cover))
    X = np.zeros((len(cover), 54), dtype=np.float32)
    X[:, :10] = measured
    X[rows, 10 + wilderness.astype(int)] = 1
    X[rows, 14 + soil.astype(int)] = 1
    if not binary:
        return {**arrays, "X": X, "y": cover}
    return {**arrays, "X": X, "y": cover == 2, "target_names": ["other", "lodgepole pine"]}


def aslib(arrays: Arrays) -> Arrays:
    """Return as class of an instance the fastest algorithm that solved it, or ``none``."""
    solved = arrays["algo_ok"].any(axis=1)
    seconds = np.where(arrays["algo_ok"], arrays["algo_perf"], np.inf)
    algorithms = arrays.pop("algo_names").tolist()
    return {
        **arrays,
        "y": np.where(solved, seconds.argmin(axis=1), len(algorithms)),
        "target_names": [*algorithms, "none"],
        "step_names": arrays["step_names"].tolist(),
        "cutoff": float(arrays["cutoff"]),
    }


def mnist(arrays: Arrays, *, digits: Sequence[int] | None = None, resolutions: Sequence[int] = (28,)) -> Arrays:
    """Return the pixels in [0, 1] of the chosen digits at each resolution."""
    if not all(size in range(1, 29) for size in resolutions):
        raise ValueError(f"resolutions={resolutions!r} must be integers from 1 to 28, the size of the images.")
    rows = np.isin(arrays["y"], np.arange(10) if digits is None else digits)
    pixels = arrays["X"][rows].astype(np.float32) / np.float32(255)
    return {
        "X": np.hstack([pixels if size == 28 else pixels @ _averaging_matrix(size) for size in resolutions]),
        "y": arrays["y"][rows],
        "test": arrays["test"][rows],
        "feature_names": [f"{size}x{size}_r{r}_c{c}" for size in resolutions for r in range(size) for c in range(size)],
    }


def _averaging_matrix(size: int) -> np.ndarray:
    """Return the matrix (784, size * size) that averages a 28 x 28 image over the area of each larger pixel."""
    edges = np.arange(size + 1) * 28 / size
    pixel = np.arange(28)
    overlap = np.minimum(edges[1:, None], pixel + 1) - np.maximum(edges[:-1, None], pixel)
    average = overlap.clip(min=0) * size / 28
    return np.kron(average, average).T.astype(np.float32)
