"""Saving fitted models, and loading them without running anything that a file contains.

archive.py     the container                  manifest.py   the description of a model
documents.py   JSON, strict and limited       keys.py       signatures
errors.py      error messages                 foreign.py    objects of scikit-learn, only for those who trust a file

What a model consists of is declared by its class; see `thrifty.stored`.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from thrifty.exceptions import ModelFileError
from thrifty.models.base import BudgetedEstimator
from thrifty.persistence import foreign
from thrifty.persistence.archive import Archive, pack, read
from thrifty.persistence.documents import parsed, written
from thrifty.persistence.errors import explained, framed, refuse_unless
from thrifty.persistence.keys import checked_key, refuse_unsigned, signature_of
from thrifty.persistence.manifest import ALTERED, Manifest
from thrifty.replacing import replacing
from thrifty.stored.medium import Place, Reader, Writer
from thrifty.stored.structures import read_structure, write_structure

PathLike = str | os.PathLike[str]


def save(
    model: Any,
    path: PathLike,
    *,
    key: bytes | None = None,
    allow_scikit_learn: bool = False,
    target: str | None = None,
) -> Path:
    """Save a fitted model to a file, which is written completely or not at all.

    The file holds arrays and plain values only. Fitted estimators of other libraries inside the model are stored as
    structures of thrifty.

    Parameters
    ----------
    model : BudgetedEstimator or BudgetSearchCV
        A fitted estimator of this package. For a search, its best estimator is saved, with the frontier and the
        anchors in the manifest.
    path : path-like
        The file to write. An existing file is replaced, and keeps its permissions. The usual suffix is ``.thrifty``.
    key : bytes, optional
        A secret of at least 16 bytes. The file is signed with it (HMAC-SHA-256), so that ``load(path, key=key)`` can
        tell that it comes from someone who has the key.
    allow_scikit_learn : bool, default=False
        Whether fitted estimators of scikit-learn that have no structure in thrifty may be in the file. If there are
        any, it loads only with ``trust="scikit-learn"``.
    target : str, optional
        The name of the column that the model predicts, for the manifest. ``thrifty evaluate`` looks for this column.

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
        frontier, anchors = getattr(model, "frontier_", None), getattr(model, "anchors_", None)
        archive = _model_members(best, allow_scikit_learn)
        manifest = Manifest.of(
            best,
            None if frontier is None else frontier.to_dict("records"),
            None if anchors is None else anchors.to_dict("index"),
            foreign.TRUST if archive.foreign else None,
            target,
        )
        file = pack(archive._replace(manifest=_sealed(manifest, archive, key).to_json()))
    try:
        with replacing(path) as unfinished:
            unfinished.write_bytes(file)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ModelFileError(f"{path}: the file cannot be written ({reason}). Check the path.") from error
    return path


def load(path: PathLike, *, key: bytes | None = None, trust: str | None = None) -> Any:
    """Load a model that `save` wrote.

    Every part of the file is checked before anything is made of it, and nothing in it is run. A file that is damaged,
    altered, of another format or of another kind is refused.

    Parameters
    ----------
    path : path-like
        The file to read.
    key : bytes, optional
        The key that the file was signed with. A file that is not signed with this key is refused. Without a key, the
        signature of a file is not checked.
    trust : {"scikit-learn"}, optional
        Load objects of scikit-learn too, if the file was saved with ``allow_scikit_learn=True``. Such a file can run
        arbitrary code, as a pickle can. Pass this only for files from people you trust.

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
    return load_with_manifest(path, key=key, trust=trust)[0]


def load_with_manifest(path: PathLike, *, key: bytes | None = None, trust: str | None = None) -> tuple[Any, Manifest]:
    """Load a model and its manifest; the file is read and hashed once.

    Parameters
    ----------
    path : path-like
        The file to read.
    key : bytes, optional
        The key that the file was signed with.
    trust : {"scikit-learn"}, optional
        Load objects of scikit-learn too; see `load`.

    Returns
    -------
    BudgetedEstimator
        The model, as `load` returns it.
    Manifest
        The manifest, as `read_manifest` returns it.
    """
    with framed(f"{os.fspath(path)}: "):
        refuse_unless(trust in (None, foreign.TRUST), f"trust is {trust!r}; expected {foreign.TRUST!r} or None.")
        archive = read(Path(path))
        manifest = _checked_manifest(archive, key)
        refuse_unless(
            manifest.trust is None or trust == manifest.trust,
            "the file holds objects of scikit-learn, which can run arbitrary code. If you trust its author, pass "
            f"trust={foreign.TRUST!r}.",
        )
        return _checked_model(archive, manifest), manifest


def read_manifest(path: PathLike, *, key: bytes | None = None) -> Manifest:
    """Return the manifest of a model file, after checking that it describes the model in the file.

    Parameters
    ----------
    path : path-like
        The file to read.
    key : bytes, optional
        The key that the file was signed with.

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
        archive = read(Path(path))
        manifest = _checked_manifest(archive, key)
        if manifest.trust is None:  # a model with objects of scikit-learn is not loaded for its description
            _checked_model(archive, manifest)
        return manifest


def _model_members(model: Any, allow_scikit_learn: bool) -> Archive:
    """Return the members of a file that hold the model, after checking that it can be loaded again."""
    refuse_unless(isinstance(model, BudgetedEstimator), "expected a fitted estimator of thrifty, or a search with one.")
    try:
        check_is_fitted(model)
    except NotFittedError as error:
        raise ModelFileError("the model is not fitted. Call fit first.") from error
    writer = Writer(allow_scikit_learn)
    with framed(after="."):
        node = write_structure(model, Place(writer))
    archive = Archive(b"", written(node), writer.content(), foreign.written(writer.foreign))
    _read_model(archive)
    return archive


def _sealed(manifest: Manifest, archive: Archive, key: bytes | None) -> Manifest:
    """Return the manifest with the hash of the file, and with a signature if there is a key."""
    digest = archive.digest(manifest.description())
    return replace(manifest, sha256=digest, signature=None if key is None else signature_of(digest, key))


def _checked_manifest(archive: Archive, key: bytes | None) -> Manifest:
    manifest = Manifest.parse(archive.manifest)
    with explained("the manifest is not valid"):  # JSON can spell numbers and characters that cannot be written again
        digest = archive.digest(manifest.description())
    refuse_unless(digest == manifest.sha256, f"the model or its manifest is not the one that was saved. {ALTERED}")
    refuse_unless(
        (manifest.trust == foreign.TRUST) == bool(archive.foreign), f"the manifest is wrong about trust. {ALTERED}"
    )
    if key is not None:
        refuse_unsigned(manifest.signature, digest, checked_key(key))
    return manifest


def _checked_model(archive: Archive, manifest: Manifest) -> BudgetedEstimator:
    """Create the model, and compare it with its manifest."""
    with framed(after=f" {ALTERED}"):
        model = _read_model(archive)
        manifest.refuse_other(model)
    return model


def _read_model(archive: Archive) -> BudgetedEstimator:
    """Create the model from the members of a file, after checking every part."""
    document = parsed(archive.model, "model")
    reader = Reader(archive.arrays, foreign.read(archive.foreign) if archive.foreign else None)
    with explained("the model is not consistent"):
        model = read_structure(document, Place(reader), (BudgetedEstimator,))
        reader.require_complete()
        check_is_fitted(model)
    return model
