"""How many bytes blocks of rows take, for Dask: a worker writes blocks to its disk if its memory is nearly full."""

from typing import Any

from dask.sizeof import sizeof


@sizeof.register_lazy("thrifty")
def register_blocks() -> None:
    """Register the classes of blocks when Dask asks for the size of the first object of this package."""
    from thrifty.models.boosting.coded_rows import CodedBlock
    from thrifty.models.expected_cost.row_blocks import TrainingRows
    from thrifty.models.growing.losses import Loss
    from thrifty.models.least_squares.node_rows import RowBlock
    from thrifty.models.rows import Rows

    sizeof.register((Rows, RowBlock, CodedBlock, Loss, TrainingRows), size_of_block)


def size_of_block(block: Any) -> int:
    """Return the size of all attributes of a block."""
    return sum(sizeof(each) for each in vars(block).values())
