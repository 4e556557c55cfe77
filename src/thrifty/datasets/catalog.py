"""Loaders of real data sets, which are read from the folder that the environment variable THRIFTY_DATA names.

`load` reads every data set of the table in `sources`. Each data set also has its own loader.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from thrifty.datasets.folder import is_present, read_arrays
from thrifty.datasets.heart import load_heart
from thrifty.datasets.sources import SOURCES, Source

_PACKAGED: dict[str, Callable[..., Any]] = {"heart": load_heart}


def list_datasets() -> dict[str, bool]:
    """Return the names of all data sets, and whether each can be loaded.

    Returns
    -------
    dict of str to bool
        True for data sets that are part of the package or in the folder that THRIFTY_DATA names.

    Examples
    --------
    >>> from thrifty.datasets import list_datasets
    >>> list_datasets()["heart"]
    True
    """
    return dict.fromkeys(_PACKAGED, True) | {name: is_present(source) for name, source in SOURCES.items()}


def load(name: str, **options: Any) -> Bunch:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of the names of `list_datasets`.
    **options
        Options of the loader of this data set, such as ``fold`` of `load_mq2008`.

    Returns
    -------
    Bunch
        X (n, d), y (n,), costs (a CostModel), names (of the columns) and description. For classification, y holds
        class numbers from 0, and ``target_names[k]`` is the published name of class k. For ranking, y holds grades and
        qid the query of each row. If the data set has an official split, X holds all rows, and ``test`` (for some also
        ``validation``) is a boolean mask of them. Other arrays of the file are returned under their own names.

    Raises
    ------
    DatasetNotFoundError
        The data set is not in the folder. The message says where it is published and how to store it.
    ValueError
        The name is unknown.

    Examples
    --------
    >>> from thrifty.datasets import load
    >>> load("heart").X.shape
    (270, 13)
    """
    if name in _PACKAGED:
        return _PACKAGED[name](**options)
    if name not in SOURCES:
        raise ValueError(f"data set {name!r} is unknown. Pass one of {', '.join(list_datasets())}.")
    source = SOURCES[name]
    return _assemble(source, source.recipe(_join_split(read_arrays(name, source)), **options))


def _join_split(arrays: dict[str, Any]) -> dict[str, Any]:
    """Concatenate training rows and test rows to one X and y, and add a mask of the test rows."""
    if "X_train" not in arrays:
        return arrays
    n_train, n_test = len(arrays["y_train"]), len(arrays["y_test"])
    X, y = (np.concatenate([arrays.pop(f"{key}_train"), arrays.pop(f"{key}_test")]) for key in "Xy")
    return {**arrays, "X": X, "y": y, "test": np.repeat([False, True], [n_train, n_test])}


def _assemble(source: Source, arrays: dict[str, Any]) -> Bunch:
    """Return the Bunch of a data set from its arrays, with costs and a description."""
    X = arrays.pop("X").astype(source.dtype, copy=False)
    names = list(map(str, arrays.pop("feature_names", source.names))) or [f"x{j}" for j in range(X.shape[1])]
    y = arrays.pop("y")
    if not source.graded and "target_names" not in arrays:
        y, arrays["target_names"] = _encode_classes(y, source)
    return Bunch(
        X=X,
        y=y.astype(np.int64),
        costs=source.pricing.build(names, arrays),
        names=names,
        description=_describe(source, X),
        **arrays,
    )


def _encode_classes(y: np.ndarray, source: Source) -> tuple[np.ndarray, list[str]]:
    """Return class numbers from 0, and the names of the classes."""
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
    """Load a scenario of ASlib: predict which algorithm solves an instance fastest.

    Features are computed in steps. Each step is a bundle whose price is its mean CPU time in seconds. The bundle
    contains the features of the step, and those of all steps that require it.

    Parameters
    ----------
    scenario : {"SAT12-INDU", "ASP-POTASSCO"}
        The scenario.

    Returns
    -------
    Bunch
        X (n, d) with missing values, y, costs (a CostModel), names, description and target_names. y is the fastest
        algorithm that solved the instance; the last class, ``none``, means that no algorithm solved it. Also step_cost
        (seconds per row and step, NaN if they were not recorded), feature_step (the step of each feature), step_names,
        algo_perf (seconds per row and algorithm), algo_ok (whether it solved the instance) and cutoff (the time limit).

    References
    ----------
    Bischl et al. (2016), ASlib: a benchmark library for algorithm selection, Artificial Intelligence 237.

    Examples
    --------
    >>> load_aslib("SAT12-INDU").X.shape  # doctest: +SKIP
    (1167, 115)
    """
    return load("aslib_" + scenario.lower().replace("-", "_"))


def load_covtype(*, binary: bool = False) -> Bunch:
    """Load the forest cover types: 54 columns, which include two one-hot blocks of 4 and 40 columns.

    Parameters
    ----------
    binary : bool, default=False
        Whether to return two classes, lodgepole pine (the published class 2) and the rest, instead of seven.

    Returns
    -------
    Bunch
        X (581012, 54), y (class numbers from 0), costs (a CostModel, 1 per feature), names, description and
        target_names.

    Examples
    --------
    >>> load_covtype(binary=True).X.shape  # doctest: +SKIP
    (581012, 54)
    """
    return load("covtype", binary=binary)


def load_mnist(*, digits: Sequence[int] | None = None, resolutions: Sequence[int] = (28,)) -> Bunch:
    """Load the MNIST digits, with pixels in [0, 1].

    ``digits=(3, 8), resolutions=(4, 8, 16, 28)`` is the cost-sensitive MNIST of Xu et al. (2014): 1120 features at cost
    1. A pixel of a smaller image is the mean over its area in the original image.

    Parameters
    ----------
    digits : sequence of int or None, default=None
        Digits to keep; None keeps all ten.
    resolutions : sequence of int, default=(28,)
        Heights of square images, from 1 to 28. X contains the pixels of all of them.

    Returns
    -------
    Bunch
        X (n, d), y (class numbers from 0), costs (a CostModel, 1 per pixel), names, description, target_names and
        ``test``, a mask of the official 10000 test images.

    References
    ----------
    Xu, Kusner, Weinberger, Chen, Chapelle (2014), Classifier cascades and trees for minimizing feature
    evaluation cost, JMLR 15, section 6.7.

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
        The official fold, 1 to 5.

    Returns
    -------
    Bunch
        X (15211, 46), y (grades 0 to 2), qid (the query of each row), costs (a CostModel; prices are synthetic), names,
        description, ``test`` and ``validation`` (masks of the rows of the fold) and split (the part of each row, 1 to
        5).

    Examples
    --------
    >>> load_mq2008(fold=2).X.shape  # doctest: +SKIP
    (15211, 46)
    """
    return load("mq2008", fold=fold)


def _loader(name: str) -> Callable[[], Bunch]:
    """Return the loader of a data set without options, with a docstring from the table."""
    source = SOURCES[name]

    def loader() -> Bunch:
        return load(name)

    loader.__name__ = loader.__qualname__ = f"load_{name}"
    target = "y (grades), qid (the query of each row)" if source.graded else "y (class numbers from 0), target_names"
    loader.__doc__ = f"""Load {source.title}.

    Costs: {source.pricing.note}. {source.note}

    Returns
    -------
    Bunch
        X (n, d), {target}, costs (a CostModel), names (of the columns)
        and description. If there is an official split, ``test`` (for some data sets also ``validation``) is a
        boolean mask of the rows. Other arrays of the file are returned under their own names.

    References
    ----------
    {source.published}.

    Examples
    --------
    >>> from thrifty.datasets import load_{name}
    >>> data = load_{name}()  # doctest: +SKIP
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
