"""From the data to what is shown: measure, replay, print, draw, write."""

from pathlib import Path

from threadpoolctl import threadpool_limits

from thrifty.cli.demo import sentences, terminal
from thrifty.cli.demo.folder import write_all
from thrifty.cli.demo.page import compose
from thrifty.cli.demo.pictures import draw_study, draw_tree
from thrifty.cli.demo.replay import show
from thrifty.cli.demo.study import n_steps, run_study, shown_tree
from thrifty.cli.terminal import console, progress
from thrifty.datasets import load_heart


def tell(output: Path, *, folds: int, seed: int) -> None:
    """Run the demo and leave its files in the output folder."""
    heart, out = load_heart(), console()
    with threadpool_limits(1):  # 270 rows: threads would only wait for each other
        out.print(f"{sentences.question(heart)}\n")
        with progress("cross-validating", n_steps(folds)) as on_step:
            study = run_study(heart, folds=folds, seed=seed, on_step=on_step)
            showcase = show(heart, shown_tree(heart, seed=seed, on_step=on_step))
    terminal.print_study(out, study)
    terminal.print_replay(out, showcase.replay)
    pictures = {
        "cost-curve.png": draw_study(study, heart.costs.unit),
        "tree.png": draw_tree(showcase, heart.names),
    }
    page = compose(heart, study, showcase, pictures)
    terminal.print_files(out, write_all(output, {"index.html": page.encode(), **pictures}))
