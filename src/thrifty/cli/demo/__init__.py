"""``thrifty demo``: what prediction on a budget is about, on 270 patients and their 13 tests.

story       from the data to what is shown
study       what accuracy a budget buys, by nested cross-validation
replay      one patient's way through a tree
findings    the columns and values of the data in words
sentences   what the numbers say
terminal    what is printed
pictures    what is drawn
page        all of it on one HTML page
folder      where the files go
"""

import os
from pathlib import Path
from typing import Annotated

import typer

from thrifty.cli.demo.folder import refuse_unwritable

MOST_FOLDS, LARGEST_SEED = 20, 2**32 - 1


def demo(
    output: Annotated[Path, typer.Option(help="Folder for the pictures and the page.")] = Path("thrifty-demo"),
    folds: Annotated[int, typer.Option(help=f"Outer folds of the cross-validation, 2 to {MOST_FOLDS}.")] = 5,
    seed: Annotated[int, typer.Option(help="Decides who falls into which fold.")] = 0,
) -> None:
    """See a model pay a fraction of what a full heart work-up costs: a table, two pictures, a page, a patient."""
    _refuse_outside("--folds", folds, 2, MOST_FOLDS)
    _refuse_outside("--seed", seed, 0, LARGEST_SEED)
    refuse_unwritable(output)
    os.environ["MPLBACKEND"] = "agg"  # pictures go to files, so no window system is needed
    from thrifty.cli.demo.story import tell

    tell(output, folds=folds, seed=seed)


def _refuse_outside(option: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise ValueError(f"{option} is {value}; expected a whole number from {least} to {most}.")
