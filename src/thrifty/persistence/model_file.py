"""Saving fitted models, and loading them without running anything that a file says.

archive.py    the container               trust.py          which types a file may hold
manifest.py   what it says of itself      soundness.py      indices, shapes and types of what was loaded
errors.py     whose error it is           scikit_learn.py   the same, of scikit-learn's structures
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
from thrifty.persistence.soundness import refuse_unsound
from thrifty.persistence.trust import revive
from thrifty.replacing import replacing


def save(model: Any, path: str | os.PathLike[str]) -> Path:
    """Save a fitted model, all of it or nothing, and return the path.

    The file holds no pickle: whoever loads it runs nothing but thrifty and scikit-learn.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted estimator of this package; of a search its best estimator, with the frontier in the manifest.
        Whatever it holds must be made of thrifty's and scikit-learn's types, arrays and plain values.
    path : path-like
        Where to; what is there is replaced. ``.thrifty`` is a good suffix.

    Returns
    -------
    Path

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thrifty import ASTCClassifier, load, save
    >>> from thrifty.datasets import load_heart
    >>> heart = load_heart()
    >>> model = ASTCClassifier(costs=heart.costs).fit(heart.X, heart.y)
    >>> with TemporaryDirectory() as folder:
    ...     twin = load(save(model, Path(folder, "heart.thrifty")))
    >>> bool((twin.spend(heart.X) == model.spend(heart.X)).all())
    True
    """
    path = Path(path)
    with framed(f"{type(model).__name__}: "):
        best: Any = getattr(model, "best_estimator_", None) if hasattr(model, "frontier_") else model
        content = _written(best)
        manifest = Manifest.of(best, content, getattr(model, "frontier_", None))
        file = pack(Archive(manifest.to_json(), content))
    try:
        with replacing(path) as unfinished:
            unfinished.write_bytes(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ModelFileError(f"{path}: the file cannot be written ({reason}). Check the path.") from error
    return path


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that `save` wrote.

    A file that is damaged, altered, of a newer format or something else is refused before anything in it is made.

    Parameters
    ----------
    path : path-like

    Returns
    -------
    BudgetedEstimator
        That acquires, spends and answers what the one saved did, to the last bit.

    Examples
    --------
    >>> from tempfile import NamedTemporaryFile
    >>> from thrifty import load
    >>> with NamedTemporaryFile(suffix=".pkl") as file:
    ...     _ = file.write(b"\\x80\\x04."), file.flush()
    ...     load(file.name)
    Traceback (most recent call last):
        ...
    thrifty.exceptions.ModelFileError: ...pkl: the file is a pickle, which can run anything. Only files that ...
    """
    with framed(f"{os.fspath(path)}: "):
        archive = read(Path(path))
        manifest = _checked_manifest(archive)
        with framed(after=f" {ALTERED}"):
            model = _revived(archive.model)
            manifest.refuse_other(model)
    return model


def read_manifest(path: str | os.PathLike[str]) -> Manifest:
    """Return what a model file says of its model, without loading that.

    Parameters
    ----------
    path : path-like

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


def _written(model: Any) -> bytes:
    """Return the model as skops writes it, having seen that it can be loaded again."""
    refuse_unless(isinstance(model, BudgetedEstimator), "expected a fitted estimator of thrifty, or a search with one.")
    try:
        check_is_fitted(model)
        content = skops.io.dumps(model)
    except NotFittedError as error:
        raise ModelFileError("there is nothing to save, for it is not fitted. Call fit first.") from error
    except Exception as error:  # skops raises whatever it stumbles over
        raise ModelFileError(f"the model holds something that cannot be saved: {one_line(error)}.") from error
    _revived(content)
    return content


def _checked_manifest(archive: Archive) -> Manifest:
    manifest = Manifest.parse(archive.manifest)
    intact = sha256(archive.model).hexdigest() == manifest.sha256
    refuse_unless(intact, f"the model is not the one that was saved. {ALTERED}")
    return manifest


def _revived(content: bytes) -> BudgetedEstimator:
    model = revive(content)
    refuse_unsound(model)
    return model
