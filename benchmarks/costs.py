"""What counting costs costs: a million masks against just reading them; and what importing thrifty adds."""

import subprocess
import sys

import numpy as np

from benchmarks.report import Line, report, seconds
from thrifty import CostModel

ROWS, FEATURES = 1_000_000, 100


def main() -> bool:
    random = np.random.default_rng(0)
    masks = random.random((ROWS, FEATURES)) < 0.3
    plain = CostModel(np.round(random.uniform(1, 9, FEATURES), 2))
    bundles = {f"bundle {b}": (random.permutation(FEATURES)[:12].tolist(), 4.5) for b in range(20)}
    bundled = CostModel(np.round(random.uniform(1, 9, FEATURES), 2), bundles=bundles)
    reading = seconds(masks.sum)
    lines = [
        Line("CostModel.of, own prices, in times of mask.sum()", timed(plain, masks) / reading, 3, False),
        Line("CostModel.of, 20 bundles, in times of mask.sum()", timed(bundled, masks) / reading, 3, False),
        Line("import thrifty, on top of scikit-learn", import_seconds(), 0.3, False, "s"),
    ]
    return report(f"Counting costs, {ROWS} x {FEATURES} masks", lines)


def timed(cost_model, masks):
    cost_model.of(masks[:1000])  # compile
    return seconds(lambda: cost_model.of(masks), 5)


def import_seconds():
    code = "import sklearn, time; start = time.perf_counter(); import thrifty; print(time.perf_counter() - start)"
    runs = [subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(3)]
    return min(float(run.stdout) for run in runs)
