"""Synthetic problems with eight classes, whose bits are in columns that depend on the class: CUBE and CUBE-NM.

Both are problems of AFABench (Schütz et al. 2025). They show whether a model decides row by row what to buy next. In
CUBE-NM, a model must buy a context that says nothing about the class to know which other columns do. A greedy model,
which buys what helps most at once, does not start with it.
"""

from numbers import Integral

import numpy as np
from sklearn.utils import Bunch, check_scalar

from thrifty.costs import CostModel

_N_CLASSES = 8
_N_BITS = 3
_BLOCK_SIZE = 10  # the bits of class k are in the columns k, k + 1 and k + 2 of a block
_N_DUMMIES = 10
_BACKGROUND = 0.5, 0.3  # mean and standard deviation of a value that is not a bit
_NOISE = 0.1  # standard deviation of the noise of a bit, and of a column of the context


def make_cube(n_samples: int = 1000, *, random_state: int | np.random.Generator | None = None) -> Bunch:
    """Generate the CUBE problem: three adjacent columns hold the bits of the class, and the class tells which ones.

    A row has one of eight classes, all equally likely. Class k has the three bits of the number k. In a row of class k,
    the columns k, k + 1 and k + 2 hold these bits, the lowest bit first, with normal noise of standard deviation 0.1.
    The others of the first ten columns, and all of the ten further columns, have a normal distribution with mean 0.5
    and standard deviation 0.3. Each column costs 1.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    random_state : int, numpy Generator or None, default=None
        Random state of the data.

    Returns
    -------
    Bunch
        X (n_samples, 20), y (n_samples,; classes 0 to 7), costs (a CostModel), names and description.

    References
    ----------
    Schütz, Wu, Rezvan, Aronsson, Haghir Chehreghani (2025), AFABench: a generic framework for benchmarking active
    feature acquisition, arXiv 2508.14734.

    Zannone et al. (2019), ODIN: optimal discovery of high-value information using model-based deep reinforcement
    learning.

    Examples
    --------
    >>> from thrifty.datasets import make_cube
    >>> data = make_cube(4, random_state=0)
    >>> data.X.shape, data.costs.total
    ((4, 20), 20.0)
    >>> data.y
    array([6, 5, 4, 2])
    >>> (data.X[0, 6:9] > 0.5).astype(int)  # 6 is 110 in binary, and the lowest bit is first
    array([0, 1, 1])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    rng = np.random.default_rng(random_state)
    y = rng.integers(_N_CLASSES, size=n_samples)
    X = rng.normal(*_BACKGROUND, size=(n_samples, _BLOCK_SIZE + _N_DUMMIES))
    _write_bits(X, y, np.zeros_like(y), rng)
    names = [f"cube_{j}" for j in range(_BLOCK_SIZE)] + [f"dummy_{j}" for j in range(_N_DUMMIES)]
    return Bunch(
        X=X,
        y=y,
        costs=CostModel(dict.fromkeys(names, 1.0)),
        names=names,
        description=(
            f"CUBE (AFABench): {n_samples} rows x 20 features at cost 1, 8 classes. The columns k, k + 1 and k + 2 "
            "hold the bits of class k; ten further columns are noise."
        ),
    )


def make_cube_nm(
    n_samples: int = 1000,
    *,
    n_contexts: int = 5,
    context_last: bool = False,
    random_state: int | np.random.Generator | None = None,
) -> Bunch:
    """Generate the CUBE-NM problem: a context, which says nothing about the class, tells where its bits are.

    A row has a context and one of eight classes, which are independent and uniform. There is a block of ten columns
    for each context, and each of these columns costs 1. In the block of the row's own context, the columns k, k + 1 and
    k + 2 hold the bits of class k, the lowest bit first, with normal noise of standard deviation 0.1. All other values
    of blocks have a normal distribution with mean 0.5 and standard deviation 0.3. The context itself is a bundle at
    cost 1: one column per context, which is 1 for the row's own context and 0 for others, with normal noise of standard
    deviation 0.1. The columns of the bundle have no price of their own.

    NM means non-myopic: alone, the context does not improve any prediction, but it saves the other blocks.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of rows.
    n_contexts : int, default=5
        Number of contexts, and of blocks.
    context_last : bool, default=False
        Whether the columns of the context come after the blocks. By default they come first.
    random_state : int, numpy Generator or None, default=None
        Random state of the data. The order of the columns does not change their values.

    Returns
    -------
    Bunch
        X (n_samples, 11 * n_contexts), y (n_samples,; classes 0 to 7), costs (a CostModel with the bundle
        ``"context"``), names, description and context (n_samples,): the context of each row.

    References
    ----------
    Schütz, Wu, Rezvan, Aronsson, Haghir Chehreghani (2025), AFABench: a generic framework for benchmarking active
    feature acquisition, arXiv 2508.14734.

    Examples
    --------
    >>> from thrifty.datasets import make_cube_nm
    >>> data = make_cube_nm(4, random_state=0)
    >>> data.X.shape, data.costs.total
    ((4, 55), 51.0)
    >>> data.context, data.y
    (array([4, 3, 2, 1]), array([2, 0, 0, 0]))
    >>> block = data.X[0, 5:].reshape(5, 10)[4]  # the block of context 4
    >>> (block[2:5] > 0.5).astype(int)  # 2 is 010 in binary
    array([0, 1, 0])
    """
    check_scalar(n_samples, "n_samples", Integral, min_val=1)
    check_scalar(n_contexts, "n_contexts", Integral, min_val=1)
    check_scalar(context_last, "context_last", (bool, np.bool_))
    rng = np.random.default_rng(random_state)
    context = rng.integers(n_contexts, size=n_samples)
    y = rng.integers(_N_CLASSES, size=n_samples)
    of_context = np.eye(n_contexts)[context] + rng.normal(0.0, _NOISE, size=(n_samples, n_contexts))
    blocks = rng.normal(*_BACKGROUND, size=(n_samples, n_contexts * _BLOCK_SIZE))
    _write_bits(blocks, y, context, rng)
    of_blocks = {f"block_{k}_{j}": 1.0 for k in range(n_contexts) for j in range(_BLOCK_SIZE)}
    members = [f"context_{k}" for k in range(n_contexts)]
    free = dict.fromkeys(members)
    prices = of_blocks | free if context_last else free | of_blocks
    return Bunch(
        X=np.hstack([blocks, of_context] if context_last else [of_context, blocks]),
        y=y,
        costs=CostModel(prices, bundles={"context": (members, 1.0)}),
        names=list(prices),
        description=(
            f"CUBE-NM (AFABench): {n_samples} rows x {len(prices)} features, 8 classes. A context at cost 1 tells "
            f"which one of {n_contexts} blocks of ten columns, at cost 1 each, holds the bits of the class."
        ),
        context=context,
    )


def _write_bits(blocks: np.ndarray, y: np.ndarray, own: np.ndarray, rng: np.random.Generator) -> None:
    """Replace three values of each row by the bits of its class plus noise, in its own block."""
    bit = np.arange(_N_BITS)
    columns = (own * _BLOCK_SIZE + y)[:, None] + bit
    bits = y[:, None] >> bit & 1
    np.put_along_axis(blocks, columns, bits + rng.normal(0.0, _NOISE, size=bits.shape), axis=1)
