"""Speed of CostModel.of on a million masks, relative to mask.sum(), and the import time of thrifty."""

import subprocess
import sys

import numpy as np

from benchmarks.report import at_most, ratio, report
from thrifty import CostModel

ROWS, FEATURES = 1_000_000, 100


def main() -> None:
    random = np.random.default_rng(0)
    masks = random.random((ROWS, FEATURES)) < 0.3
    plain = CostModel(np.round(random.uniform(1, 9, FEATURES), 2))
    bundles = {f"bundle {b}": (random.permutation(FEATURES)[:12].tolist(), 4.5) for b in range(20)}
    bundled = CostModel(np.round(random.uniform(1, 9, FEATURES), 2), bundles=bundles)
    lines = [
        at_most("CostModel.of, no bundles: time / time of mask.sum()", time_over_sum(plain, masks), 3),
        at_most("CostModel.of, 20 bundles: time / time of mask.sum()", time_over_sum(bundled, masks), 3),
        at_most("import of thrifty after scikit-learn", import_seconds(), 0.3, "s"),
    ]
    report(f"Costs of {ROWS} x {FEATURES} masks", lines)


def time_over_sum(cost_model, masks):
    cost_model.of(masks[:1000])  # compile
    return ratio(lambda: cost_model.of(masks), masks.sum, 5)


def import_seconds():
    code = "import sklearn, time; start = time.perf_counter(); import thrifty; print(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)
