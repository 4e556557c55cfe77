"""Tables by problem: mean and standard error over the seeds, in percent.

    area           mean accuracy over mean spends from 0 to the cost of all columns
    pooled         the same for the curve of points that are means over the seeds; see `figures.pooled_area`
    quarter        mean accuracy over mean spends from 0 to a quarter of the cost of all columns
    @ 5            accuracy at a mean spend of 5
    99% at         least mean spend that reaches 99% of the full model's accuracy
    n              number of seeds

A star after the name of a method means that some run ended early: its limit, or an error.
"""

from benchmarks.adaptive.contenders import CONTENDERS, FULL
from benchmarks.adaptive.figures import areas, first_quarters, pooled_area, scores_at, spends_for_enough
from benchmarks.adaptive.measure import mean_and_error
from benchmarks.adaptive.problems import PROBLEMS
from benchmarks.adaptive.results import Results
from benchmarks.report import table

SPENDS = {
    "spambase": (5, 6, 8, 9),
    "thyroid": (20, 25, 30, 40),
    "segmentation": (1, 2, 3, 5),
    "satimage": (2, 3, 4.5, 7),
    "cube": (3.4, 4.2, 5, 7),
    "cube_nm": (4, 5, 6, 7),
    "cube_nm_last": (4, 5, 6, 7),
    "covtype": (2, 4, 7, 13),
    "letter": (2, 4, 6, 9),
}  # mean spends at which the accuracy is shown
SHARES = (0.02, 0.05, 0.1, 0.25)  # of the cost of all columns, for the other problems


def print_tables(results: Results) -> None:
    """Print a table for each problem that has results."""
    for problem in PROBLEMS:
        methods = [method for method in CONTENDERS if results.of(problem, method)]
        if methods:
            _print_table(results, problem, methods)


def _print_table(results: Results, problem: str, methods: list[str]) -> None:
    one = next(iter(results.of(problem, methods[0]).values()))
    total, majority = one["total"], one["majority"]
    spends = SPENDS.get(problem, tuple(share * total for share in SHARES))
    by_area = sorted(methods, key=lambda method: -_mean(areas(results, problem, method)))
    auc = "auc" in one["points"][0]
    header = ["", "area", "pooled", "quarter", *(f"@ {spend:.3g}" for spend in spends), *(["AUC @ 10"] if auc else [])]
    rows = [_row(results, problem, method, spends, auc) for method in by_area]
    title = f"{problem}: most frequent class {majority:.3f}; all columns cost {total:g}"
    if full := results.of(problem, FULL):
        title += f"; full model {_mean({s: r['points'][0]['accuracy'] for s, r in full.items()}):.4f}"
    table(title, [*header, "99% at", "n"], rows)


def _row(results: Results, problem: str, method: str, spends: tuple[float, ...], auc: bool) -> list[str]:
    found = results.of(problem, method)
    figures = [areas(results, problem, method), {0: pooled_area(results, problem, method)}]
    figures += [first_quarters(results, problem, method)]
    figures += [scores_at(results, problem, method, spend) for spend in spends]
    figures += [scores_at(results, problem, method, 10, "auc")] if auc else []
    failed = "*" * any(result["error"] for result in found.values())
    enough = spends_for_enough(results, problem, method)
    shown = [_cell(figure) for figure in figures]
    return [method + failed, *shown, _spend_cell(enough), str(len(found))]


def _cell(by_seed: dict[int, float]) -> str:
    """Return a mean in percent, and its standard error."""
    mean, error = mean_and_error(list(by_seed.values()))
    return f"{100 * mean:.1f}" + (f"±{100 * error:.1f}" if error == error else "")


def _spend_cell(by_seed: dict[int, float]) -> str:
    return f"{_mean(by_seed):.3g}" if by_seed else ""


def _mean(by_seed: dict[int, float]) -> float:
    return mean_and_error(list(by_seed.values()))[0]
