"""Saving fitted models, and loading them without running code that a file contains.

archive.py    the container                trust.py                 which types a file may contain
manifest.py   the description of a model   scikit_learn_checks.py   checks of scikit-learn's structures
errors.py     error messages
"""

import os
from hashlib import sha256
from pathlib import Path
from typing import Any

import skops.io
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from thrifty.exceptions import ModelFileError
from thrifty.models.base import BudgetedEstimator
from thrifty.persistence.archive import Archive, pack, read
from thrifty.persistence.errors import framed, one_line, refuse_unless
from thrifty.persistence.manifest import ALTERED, Manifest
from thrifty.persistence.scikit_learn_checks import refuse_unsound_parts
from thrifty.persistence.trust import read_trusted
from thrifty.replacing import replacing

PathLike = str | os.PathLike[str]


def save(model: Any, path: PathLike) -> Path:
    """Save a fitted model to a file, which is written completely or not at all.

    The file does not contain a pickle. Loading it runs only code of thrifty, scikit-learn, NumPy and skops.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted estimator of this package. For a search, its best estimator is saved, with the frontier in the
        manifest. Everything in the model must be of types of thrifty or scikit-learn, arrays, or plain values.
    path : path-like
        The file to write. An existing file is replaced. The usual suffix is ``.thrifty``.

    Returns
    -------
    Path
        The path of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thrifty import ASTCClassifier, load, save
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs).fit(heart.X, heart.y)
    >>> with TemporaryDirectory() as folder:
    ...     loaded = load(save(model, Path(folder, "heart.thrifty")))
    >>> bool((loaded.spend(heart.X) == model.spend(heart.X)).all())
    True
    """
    path = Path(path)
    with framed(f"{type(model).__name__}: "):
        best: Any = getattr(model, "best_estimator_", None) if hasattr(model, "frontier_") else model
        content = _model_bytes(best)
        manifest = Manifest.of(best, content, getattr(model, "frontier_", None))
        file = pack(Archive(manifest.to_json(), content))
    try:
        with replacing(path) as unfinished:
            unfinished.write_bytes(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ModelFileError(f"{path}: the file cannot be written ({reason}). Check the path.") from error
    return path


def load(path: PathLike) -> Any:
    """Load a model that `save` wrote.

    A file that is damaged, altered, of another format or of another kind is refused before any object in it is
    created.

    Parameters
    ----------
    path : path-like
        The file to read.

    Returns
    -------
    BudgetedEstimator
        It acquires, spends and predicts exactly what the saved model did.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> from thrifty import load
    >>> with NamedTemporaryFile(suffix=".pkl") as file:
    ...     _ = file.write(b"\\x80\\x04."), file.flush()
    ...     load(file.name)
    Traceback (most recent call last):
        ...
    thrifty.exceptions.ModelFileError: ...pkl: the file is a pickle, which can run arbitrary code. Only ...
    """
    return load_with_manifest(path)[0]


def load_with_manifest(path: PathLike) -> tuple[Any, Manifest]:
    """Load a model and its manifest; the file is read and hashed once.

    Parameters
    ----------
    path : path-like
        The file to read.

    Returns
    -------
    BudgetedEstimator
        The model, as `load` returns it.
    Manifest
        The manifest, as `read_manifest` returns it.
    """
    with framed(f"{os.fspath(path)}: "):
        archive = read(Path(path))
        manifest = _checked_manifest(archive)
        with framed(after=f" {ALTERED}"):
            model = _checked_model(archive.model)
            manifest.refuse_other(model)
    return model, manifest


def read_manifest(path: PathLike) -> Manifest:
    """Return the manifest of a model file, without loading the model.

    Parameters
    ----------
    path : path-like
        The file to read.

    Returns
    -------
    Manifest

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thrifty import CostWeightedL1Regressor, read_manifest, save
    >>> model = CostWeightedL1Regressor(costs=[2.5]).fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with TemporaryDirectory() as folder:
    ...     manifest = read_manifest(save(model, Path(folder, "line.thrifty")))
    >>> manifest.model, manifest.cost_model.costs, manifest.training["n_rows"]
    ('CostWeightedL1Regressor', {'x0': 2.5}, 3)
    """
    with framed(f"{os.fspath(path)}: "):
        return _checked_manifest(read(Path(path)))


def _model_bytes(model: Any) -> bytes:
    """Return the model as skops writes it, after checking that it can be loaded again."""
    refuse_unless(isinstance(model, BudgetedEstimator), "expected a fitted estimator of thrifty, or a search with one.")
    try:
        check_is_fitted(model)
        content = skops.io.dumps(model)
    except NotFittedError as error:
        raise ModelFileError("the model is not fitted. Call fit first.") from error
    except Exception as error:  # skops can raise anything
        raise ModelFileError(f"the model contains something that cannot be saved: {one_line(error)}.") from error
    _checked_model(content)
    return content


def _checked_manifest(archive: Archive) -> Manifest:
    manifest = Manifest.parse(archive.manifest)
    intact = sha256(archive.model).hexdigest() == manifest.sha256
    refuse_unless(intact, f"the model is not the one that was saved. {ALTERED}")
    return manifest


def _checked_model(content: bytes) -> BudgetedEstimator:
    """Create the model from its bytes, and check every index, length and type that kernels do not check."""
    model = read_trusted(content)
    try:
        refuse_unsound_parts(model)
        refuse_unless(isinstance(model, BudgetedEstimator), "it is not an estimator of thrifty")
        type(model).refuse_unsound(model)
    except Exception as error:  # an attribute of the wrong type can raise anything
        raise ModelFileError(f"the model is not consistent: {one_line(error)}.") from error
    return model
