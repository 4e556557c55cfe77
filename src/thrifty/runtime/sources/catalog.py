"""All sources of an engine: each feature has one provider, and nothing that the model can ask for is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from traceback import extract_tb
from types import ModuleType
from typing import Any

from thrifty.costs.declaration import default_names
from thrifty.costs.errors import shorten
from thrifty.exceptions import SourceError
from thrifty.models.outline import Stage
from thrifty.models.session import Feature
from thrifty.runtime.sources.base import Source

_SIMILAR = 0.75  # names that are at least this similar look like typing errors
_MAX_LISTED = 12


class Catalog:
    """Sources by name and by feature.

    Parameters
    ----------
    sources : sequence of Source
        Each feature and each name may occur once.

    Attributes
    ----------
    sources : tuple of Source
        The sources.
    provider_of : dict
        The source of each feature.

    Examples
    --------
    >>> from thrifty import source
    >>> from thrifty.runtime import Catalog
    >>> @source(provides=["age", "sex"])
    ... def person(key): ...
    >>> catalog = Catalog([person])
    >>> catalog.provider_of["age"].name
    'person'
    """

    def __init__(self, sources: Sequence[Source]):
        if isinstance(sources, str | Mapping) or not isinstance(sources, Iterable):
            raise SourceError(f"sources is {sources!r}; expected a list of sources.")
        self.sources: tuple[Source, ...] = tuple(sources)
        self.provider_of: dict[str, Source] = {}
        for position, each in enumerate(self.sources):
            _refuse_no_source(position, each)
            self._refuse_same_name(position, each)
            for feature in each.features:
                self._refuse_provided(feature, each)
                self.provider_of[feature] = each

    @classmethod
    def of(cls, sources: Any) -> Catalog:
        """Return the catalog of some sources.

        Parameters
        ----------
        sources : Catalog, Source, sequence of Source, or path-like
            A path is that of a Python file; see `load_sources`.

        Returns
        -------
        Catalog

        Examples
        --------
        >>> from thrifty import source
        >>> from thrifty.runtime import Catalog
        >>> @source(provides=["age"])
        ... def age(key): ...
        >>> Catalog.of(age)
        Catalog(['age'])
        """
        if isinstance(sources, Catalog):
            return sources
        if isinstance(sources, str | PathLike):
            return load_sources(sources)
        return cls([sources] if isinstance(sources, Source) else sources)

    def refuse_incomplete(self, model: Any) -> None:
        """Raise SourceError unless every column that a model can ask for has a provider.

        Parameters
        ----------
        model : BudgetedEstimator
            A fitted model.

        Examples
        --------
        >>> from thrifty import CostWeightedL1Regressor, source
        >>> from thrifty.runtime import Catalog
        >>> model = CostWeightedL1Regressor(cost_weight=0.01, costs={"size": 1.0}).fit([[0.0], [1.0]], [0.0, 1.0])
        >>> @source(provides=["sise"])
        ... def size(key): ...
        >>> Catalog([size]).refuse_incomplete(model)
        Traceback (most recent call last):
        thrifty.exceptions.SourceError: the model can ask for 'size', but no source provides it ('sise' of source 'size'
        has a similar name). Add what is missing to the sources.
        """
        missing = [name for name in usable_columns(model) if name not in self.provider_of]
        if not missing:
            return
        them = "it" if len(missing) == 1 else "them"
        similar = "; ".join(text for name in missing[:_MAX_LISTED] if (text := self._similar(name, missing)))
        raise SourceError(
            f"the model can ask for {_quoted(missing)}, but no source provides {them}"
            f"{f' ({similar})' if similar else ''}. Add what is missing to the sources.{_advice(model)}"
        )

    def _similar(self, name: str, missing: Sequence[str]) -> str:
        """Return which feature may have been meant by a column without a provider."""
        found = get_close_matches(name, self.provider_of, n=1, cutoff=_SIMILAR)
        if not found:
            return ""
        for_which = f" as {name!r}" if len(missing) > 1 else ""
        return f"{found[0]!r} of source {self.provider_of[found[0]].name!r} has a similar name{for_which}"

    def _refuse_same_name(self, position: int, source: Source) -> None:
        if source.name in (other.name for other in self.sources[:position]):
            raise SourceError(f"two sources have the name {source.name!r}. Pass another name= to one of them.")

    def _refuse_provided(self, feature: str, source: Source) -> None:
        if other := self.provider_of.get(feature):
            raise SourceError(
                f"the sources {other.name!r} and {source.name!r} both provide {feature!r}. Remove it from one of them."
            )

    def __iter__(self) -> Iterator[Source]:
        return iter(self.sources)

    def __len__(self) -> int:
        return len(self.sources)

    def __repr__(self) -> str:
        return f"Catalog({[each.name for each in self.sources]})"


def column_names(model: Any) -> dict[Feature, str]:
    """Return the name of each column of a model, by what its sessions call it.

    Sessions of a model without column names ask for column numbers. Sources then provide x0, x1, ..., as in price lists
    and on the command line.

    Parameters
    ----------
    model : BudgetedEstimator
        A fitted model.

    Returns
    -------
    dict
        In the order of the columns.

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> column_names(CostWeightedL1Regressor(cost_weight=0.01).fit([[0.0, 1.0], [1.0, 0.0]], [0.0, 1.0]))
    {0: 'x0', 1: 'x1'}
    """
    costs = _estimator(model).cost_model_
    if costs.names is None:
        return dict(enumerate(default_names(costs.n_features)))
    return {name: name for name in costs.names}


def usable_columns(model: Any) -> list[str]:
    """Return the names of the columns that a model can ask for, in the order of its columns.

    Parameters
    ----------
    model : BudgetedEstimator
        A fitted model.

    Returns
    -------
    list of str

    Examples
    --------
    >>> from thrifty import CostWeightedL1Regressor
    >>> X = [[0.0, 1.0], [1.0, 1.0]]
    >>> usable_columns(CostWeightedL1Regressor(cost_weight=0.01, costs={"size": 1.0, "one": 1.0}).fit(X, [0.0, 1.0]))
    ['size']
    """
    outline = _estimator(model).outline()
    used = {use.feature for use in outline.uses} if outline.stages is None else set(_bought(outline.stages))
    return [name for name in column_names(model).values() if name in used]


def load_sources(path: str | PathLike[str]) -> Catalog:
    """Run a Python file, and return the sources that it defines.

    The file is your own program: it is run as it is. It can import modules that lie beside it.

    Parameters
    ----------
    path : path-like
        A Python file. Every source in its module scope is taken.

    Returns
    -------
    Catalog

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from thrifty.runtime import load_sources
    >>> text = '''
    ... from thrifty import source
    ... @source(provides=["age"])
    ... def person(key): ...
    ... '''
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "sources.py")
    ...     _ = path.write_text(text)
    ...     load_sources(path)
    Catalog(['person'])
    """
    module = _run(Path(path))
    found = {id(each): each for each in vars(module).values() if isinstance(each, Source)}
    if not found:
        raise SourceError(
            f"{path}: the file defines no source. Decorate a function with @thrifty.source, or make a FrameSource, "
            "SQLSource or HTTPSource, and give it a name in the file."
        )
    try:
        return Catalog(list(found.values()))
    except SourceError as error:
        raise SourceError(f"{path}: {error}") from None


def _run(path: Path) -> ModuleType:
    """Run a Python file as a module."""
    try:
        text = path.read_bytes()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise SourceError(f"{path}: the file of sources cannot be read ({reason}). Check the path.") from None
    module = ModuleType(f"_thrifty_sources_{path.stem}")
    module.__file__ = str(path.resolve())
    sys.modules[module.__name__] = module  # pickle and dataclasses look modules up
    sys.path.insert(0, str(path.resolve().parent))
    try:
        exec(compile(text, module.__file__, "exec"), vars(module))
    except (Exception, SystemExit) as error:
        del sys.modules[module.__name__]
        raise SourceError(f"{path}{_line(error, module.__file__)}: {_reason(error)}. Correct the file.") from error
    finally:
        sys.path.remove(str(path.resolve().parent))
    return module


def _line(error: BaseException, file: str) -> str:
    """Return the last line of the file that was running when an error was raised."""
    if isinstance(error, SyntaxError) and error.filename == file and error.lineno:
        return f", line {error.lineno}"
    lines = [frame.lineno for frame in extract_tb(error.__traceback__) if frame.filename == file]
    return f", line {lines[-1]}" if lines else ""


def _reason(error: BaseException) -> str:
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    message = shorten(text).removesuffix(".")
    return f"{type(error).__name__} ({message})" if message else type(error).__name__


def _bought(stage: Stage) -> Iterator[str]:
    yield from stage.buys
    for child in stage.children:
        yield from _bought(child)


def _estimator(model: Any) -> Any:
    """Return the model that a search chose, or the model itself."""
    return getattr(model, "best_estimator_", model)


def _advice(model: Any) -> str:
    if _estimator(model).cost_model_.names is not None:
        return ""
    return " The model was fitted without column names: to give them names, fit it with costs={name: price}."


def _refuse_no_source(position: int, each: Any) -> None:
    if not isinstance(each, Source):
        what = "Decorate functions with @thrifty.source." if callable(each) else "Pass a list of sources."
        raise SourceError(f"sources[{position}] is {shorten(repr(each), 100)}; expected a source. {what}")


def _quoted(names: Sequence[str]) -> str:
    rest = f" and {len(names) - _MAX_LISTED} more" if len(names) > _MAX_LISTED else ""
    return ", ".join(map(repr, names[:_MAX_LISTED])) + rest
