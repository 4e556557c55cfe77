"""``thrifty demo``: prediction on a budget, on 270 patients with 13 tests each.

heart_in_words   the data, with readable names and values
study            what accuracy each budget buys, on held-out patients
report           what is printed, drawn and written on the page
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from thrifty.cli.output_files import refuse_unwritable_folder

MAX_FOLDS, MAX_SEED = 20, 2**32 - 1


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the picture and the page.")] = Path("thrifty-demo"),
    folds: Annotated[int, typer.Option(help=f"Number of outer folds, 2 to {MAX_FOLDS}.")] = 5,
    seed: Annotated[int, typer.Option(help="Random state of the folds and of the methods.")] = 0,
) -> None:
    """Predict heart disease for a fraction of what all tests cost: a table, a patient's trace, a picture, a page."""
    _refuse_outside("--folds", folds, 2, MAX_FOLDS)
    _refuse_outside("--seed", seed, 0, MAX_SEED)
    refuse_unwritable_folder(output)
    os.environ["MPLBACKEND"] = "agg"  # draw without a window system
    from thrifty.cli.demo.report import run_demo

    run_demo(output, folds=folds, seed=seed)


def _refuse_outside(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{option} is {value}; expected a whole number from {least} to {most}.")
