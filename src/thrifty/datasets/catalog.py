"""Real sets, read from the folder named by the environment variable THRIFTY_DATA.

One reader serves every row of the table in `sources`; the named loaders below give it options and completion.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from thrifty.datasets.folder import is_present, read_arrays
from thrifty.datasets.heart import load_heart
from thrifty.datasets.sources import SOURCES, Source

_EMBEDDED: dict[str, Callable[..., Any]] = {"heart": load_heart}


def list_datasets() -> dict[str, bool]:
    """Names that `load` knows, and whether each can be loaded here and now.

    Returns
    -------
    dict of str to bool
        True for sets that ship with the package or lie in the folder named by THRIFTY_DATA.

    Examples
    --------
    >>> from thrifty.datasets import list_datasets
    >>> list_datasets()["heart"]
    True
    """
    return dict.fromkeys(_EMBEDDED, True) | {name: is_present(source) for name, source in SOURCES.items()}


def load(name: str, **options: Any) -> Bunch:
    """Load a set by name.

    Parameters
    ----------
    name : str
        One of the names of `list_datasets`.
    **options
        Those of the set's own loader, such as ``fold`` of `load_mq2008`.

    Returns
    -------
    Bunch
        X, y, costs (a CostModel), names (one per column), description. For classification, y counts the
        classes from 0 and ``target_names[y]`` is their published name; for ranking, y is the grade and qid
        the query. Where the set has a split, all rows are in X and ``test`` (sometimes also ``validation``)
        is a boolean mask of them.

    Raises
    ------
    DatasetNotFoundError
        The set is not in the folder; the message tells where to get it and how to store it.

    Examples
    --------
    >>> from thrifty.datasets import load
    >>> load("heart").X.shape
    (270, 13)
    """
    if name in _EMBEDDED:
        return _EMBEDDED[name](**options)
    if name not in SOURCES:
        raise ValueError(f"data set {name!r} is not known; choose one of {', '.join(list_datasets())}")
    source = SOURCES[name]
    return _assemble(source, source.recipe(_join_split(read_arrays(name, source)), **options))


def _join_split(arrays: dict[str, Any]) -> dict[str, Any]:
    """Training rows and then test rows in one X and y, with a mask of the latter."""
    if "X_train" not in arrays:
        return arrays
    n_train, n_test = len(arrays["y_train"]), len(arrays["y_test"])
    X, y = (np.concatenate([arrays.pop(f"{key}_train"), arrays.pop(f"{key}_test")]) for key in "Xy")
    return {**arrays, "X": X, "y": y, "test": np.repeat([False, True], [n_train, n_test])}


def _assemble(source: Source, arrays: dict[str, Any]) -> Bunch:
    """The Bunch of a set: `arrays` with X, y and names put in order, priced and described."""
    X = arrays.pop("X").astype(source.dtype, copy=False)
    names = list(map(str, arrays.pop("feature_names", source.names))) or [f"x{j}" for j in range(X.shape[1])]
    y = arrays.pop("y")
    if not source.graded and "target_names" not in arrays:
        y, arrays["target_names"] = _count_classes(y, source)
    return Bunch(
        X=X,
        y=y.astype(np.int64),
        costs=source.pricing.build(names, arrays),
        names=names,
        description=_describe(source, X),
        **arrays,
    )


def _count_classes(y: np.ndarray, source: Source) -> tuple[np.ndarray, list[str]]:
    codes = list(source.classes) or np.unique(y).tolist()
    return np.searchsorted(codes, y), [source.classes.get(code, str(code)) for code in codes]


def _describe(source: Source, X: np.ndarray) -> str:
    return (
        f"{source.title}: {X.shape[0]} rows x {X.shape[1]} features.\n"
        f"Costs: {source.pricing.note}.\n"
        f"Published: {source.published}.\n"
        f"{source.note}"
    ).rstrip()


def load_aslib(scenario: str) -> Bunch:
    """Load an ASlib scenario: which algorithm solves an instance fastest, from features bought in steps.

    Parameters
    ----------
    scenario : str
        "SAT12-INDU" or "ASP-POTASSCO".

    Returns
    -------
    Bunch
        As `load`. Each feature step is a bundle priced at its mean CPU seconds, and holds the features of all
        steps that require it. y is the fastest algorithm that finished; the last class, ``none``, is for
        instances that none solved. Also step_cost (seconds per row and step, NaN where not recorded),
        feature_step, step_names, algo_perf, algo_ok and cutoff.

    Examples
    --------
    >>> load_aslib("SAT12-INDU").X.shape  # doctest: +SKIP
    (1167, 115)
    """
    return load("aslib_" + scenario.lower().replace("-", "_"))


def load_covtype(*, binary: bool = False) -> Bunch:
    """Load the forest cover types: 54 columns, of which 4 and 40 are one-hot blocks.

    Parameters
    ----------
    binary : bool, default=False
        Tell lodgepole pine (the published class 2) from the rest, instead of seven classes.

    Returns
    -------
    Bunch
        As `load`.

    Examples
    --------
    >>> load_covtype(binary=True).X.shape  # doctest: +SKIP
    (581012, 54)
    """
    return load("covtype", binary=binary)


def load_mnist(*, digits: Sequence[int] | None = None, resolutions: Sequence[int] = (28,)) -> Bunch:
    """Load the MNIST digits, with pixels in [0, 1].

    ``digits=(3, 8), resolutions=(4, 8, 16, 28)`` is the cost-sensitive MNIST of Xu et al. (2014), JMLR 15,
    section 6.7: 1120 features at cost 1. Images are shrunk by averaging over area.

    Parameters
    ----------
    digits : sequence of int or None, default=None
        Keep these classes only; None keeps all ten.
    resolutions : sequence of int, default=(28,)
        Heights of the square images whose pixels are set side by side as columns.

    Returns
    -------
    Bunch
        As `load`, with ``test`` marking the official 10000 test images.

    Examples
    --------
    >>> load_mnist(digits=(3, 8), resolutions=(4, 8, 16, 28)).X.shape  # doctest: +SKIP
    (13966, 1120)
    """
    return load("mnist", digits=digits, resolutions=resolutions)


def load_mq2008(*, fold: int = 1) -> Bunch:
    """Load the MQ2008 ranking data of LETOR 4.0.

    Parameters
    ----------
    fold : int, default=1
        The official fold that ``test`` and ``validation`` mark; ``split`` holds the part of each row, 1 to 5.

    Returns
    -------
    Bunch
        As `load`.

    Examples
    --------
    >>> load_mq2008(fold=2).X.shape  # doctest: +SKIP
    (15211, 46)
    """
    return load("mq2008", fold=fold)


def _loader(name: str) -> Callable[[], Bunch]:
    source = SOURCES[name]

    def loader() -> Bunch:
        return load(name)

    loader.__name__ = loader.__qualname__ = f"load_{name}"
    loader.__doc__ = f"""Load {source.title}.

    Costs: {source.pricing.note}. {source.note}

    Returns
    -------
    Bunch
        As `load`.
    """
    return loader


load_basehock = _loader("basehock")
load_bupa = _loader("bupa")
load_heart_cleveland = _loader("heart_cleveland")
load_hepatitis = _loader("hepatitis")
load_higgs = _loader("higgs")
load_ionosphere = _loader("ionosphere")
load_isolet = _loader("isolet")
load_letter = _loader("letter")
load_mslr = _loader("mslr")
load_ohsumed = _loader("ohsumed")
load_optdigits = _loader("optdigits")
load_pcmac = _loader("pcmac")
load_pendigits = _loader("pendigits")
load_pima = _loader("pima")
load_satimage = _loader("satimage")
load_segmentation = _loader("segmentation")
load_semeion = _loader("semeion")
load_spambase = _loader("spambase")
load_thyroid = _loader("thyroid")
load_usps = _loader("usps")
load_wdbc = _loader("wdbc")
