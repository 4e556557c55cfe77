"""What acquiring a set of features costs.

A feature requires one or more units, and a unit is paid for once per row, the first time something that
requires it is acquired. So

    cost(S) = sum of the costs of the units required by S        (monotone, submodular, free on re-use)

A price of its own is a unit of its own; a bundle is a unit that its members share; a tree used as a feature
requires a unit for its evaluation and those of every feature it splits on, which is how Xu, Kusner,
Weinberger, Chen and Chapelle (JMLR 15, 2014) charge for it.

    declaration.py   what was declared, checked              units.py    what it comes to, compiled
    derivation.py    declarations made from others           money.py    why the sums are exact
    files.py         on disk: documents, spreadsheets        ledger.py   what one row has paid
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from thrifty.costs import derivation
from thrifty.costs.declaration import Declaration
from thrifty.costs.errors import located
from thrifty.costs.units import Units
from thrifty.exceptions import CostError


class CostModel:
    """What acquiring a set of features costs.

    Frozen: it can be compared, hashed, copied, pickled and shared. Costs are exact: prices are counted in
    whole ticks (cents, say), so that 0.1 and 0.2 add up to 0.3, in whatever order.

    Parameters
    ----------
    costs : array-like of float, dict or pandas Series
        One price per column, or ``{name: price}`` in column order. A price of None means that the feature has
        none of its own: it costs what its bundles and the features it requires cost.
    bundles : dict, optional
        ``{name: (members, price)}``: a price paid once, with the first member that is acquired. Members are
        names or column indices. A feature may be in several bundles.
    requires : dict, optional
        ``{feature: features}``: the feature also requires whatever those features require, and so on. A ratio
        of two lab values without a price of its own, say, is free once both are bought.
    unit : str
        What the prices are in, such as ``"CAD"``.

    Examples
    --------
    >>> from thrifty import CostModel
    >>> model = CostModel(
    ...     {"age": 1.0, "chol": 5.17, "fbs": 3.1}, bundles={"blood draw": (["chol", "fbs"], 2.1)}, unit="CAD"
    ... )
    >>> model
    CostModel(3 features, 1 bundle, total 11.37 CAD)
    >>> model.of([[True, True, False], [False, True, True]])
    array([ 8.27, 10.37])
    >>> model.marginal([False, True, False])
    array([1. , 0. , 3.1])
    """

    __slots__ = ("__weakref__", "_declared", "_units")
    _declared: Declaration
    _units: Units

    def __init__(
        self,
        costs: Any,
        *,
        bundles: Mapping[str, tuple[Iterable[Any], float]] | None = None,
        requires: Mapping[Any, Iterable[Any]] | None = None,
        unit: str = "",
    ):
        self._freeze(Declaration.parse(costs, bundles, requires, unit))

    @classmethod
    def _from(cls, declared: Declaration) -> CostModel:
        model = cls.__new__(cls)
        model._freeze(declared)
        return model

    def _freeze(self, declared: Declaration) -> None:
        object.__setattr__(self, "_declared", declared)
        object.__setattr__(self, "_units", Units(declared))

    # As declared: CostModel(m.costs, bundles=m.bundles, requires=m.requires, unit=m.unit) == m

    @property
    def names(self) -> tuple[str, ...] | None:
        """The names of the features, or None where they have none."""
        return self._declared.names

    @property
    def n_features(self) -> int:
        """How many features there are."""
        return len(self._declared.prices)

    @property
    def unit(self) -> str:
        """What the prices are in."""
        return self._declared.unit

    @property
    def costs(self) -> Any:
        """The features' own prices: ``{name: price}``, or a tuple where they have no names."""
        prices = self._declared.prices
        return prices if self.names is None else dict(zip(self.names, prices, strict=True))

    @property
    def bundles(self) -> dict[str, tuple[tuple[Any, ...], float]]:
        """The bundles: ``{name: (members, price)}``."""
        return {name: (self._declared.called(members), price) for name, members, price in self._declared.bundles}

    @property
    def requires(self) -> dict[Any, tuple[Any, ...]]:
        """The features that a feature requires: ``{feature: features}``."""
        called = self._declared.called
        features = called(range(self.n_features))
        return {f: called(others) for f, others in zip(features, self._declared.requires, strict=True) if others}

    # What it comes to

    @property
    def total(self) -> float:
        """What everything costs."""
        return float(self._units.ticks.sum()) / self._units.scale

    @property
    def unit_names(self) -> tuple[str, ...]:
        """The names of the units: of the features that have a price of their own, then of the bundles."""
        return self._units.names

    @property
    def unit_costs(self) -> np.ndarray:
        """What each unit costs, a read-only array of shape (n_units,)."""
        return self._units.costs

    @property
    def requirement(self) -> np.ndarray:
        """Which units each feature requires: dense, boolean and read-only, shape (n_features, n_units)."""
        return self._units.requirement

    def of(self, mask: Any) -> Any:
        """Return the cost of acquiring the features where a boolean mask is True.

        Parameters
        ----------
        mask : array-like of bool, shape (n_features,) or (n, n_features)
            What is acquired, by one row or by many.

        Returns
        -------
        float or array of shape (n,)

        Examples
        --------
        >>> from thrifty import CostModel
        >>> CostModel([0.1, 0.2, 5.0]).of([True, True, False])
        0.3
        """
        spent = self._priced(self._units.spent, mask)
        return float(spent) if spent.ndim == 0 else spent

    def marginal(self, mask: Any) -> np.ndarray:
        """Return what each further feature would cost, given what is acquired.

        Parameters
        ----------
        mask : array-like of bool, shape (n_features,) or (n, n_features)
            What is acquired, by one row or by many.

        Returns
        -------
        array of the shape of mask
            0 for every feature whose units are all paid, acquired or not.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> CostModel([1.0, 2.0, 3.0], bundles={"visit": ([1, 2], 10.0)}).marginal([False, True, False])
        array([1., 0., 3.])
        """
        return self._priced(self._units.unpaid, mask)

    def _priced(self, count_ticks: Callable[[np.ndarray], np.ndarray], mask: Any) -> np.ndarray:
        mask, d = np.asarray(mask), self.n_features
        if mask.dtype != bool:
            raise CostError(f"mask has dtype {mask.dtype}. Pass booleans: True where a feature is acquired.")
        if mask.ndim not in (1, 2) or mask.shape[-1] != d:
            raise CostError(f"mask has shape {mask.shape}. Expected ({d},) or (n, {d}): one entry per feature.")
        costs = count_ticks(np.atleast_2d(mask))
        costs /= self._units.scale
        return costs[0] if mask.ndim == 1 else costs

    # Cost models made from others

    def derive(self, requires: Any, evaluation_costs: Any, names: Iterable[str] | None = None) -> CostModel:
        """Return the cost model of new features that are computed from these ones.

        A new feature requires a unit for its evaluation and all units of the features it reads: a tree costs
        its evaluation, and whatever it splits on that no other tree has paid for.

        Parameters
        ----------
        requires : boolean array of shape (t, n_features), or a sequence of t sequences
            What each new feature reads: a row of the matrix, or names or column indices.
        evaluation_costs : float or array-like of shape (t,)
            What evaluating each new feature costs.
        names : iterable of str, optional
            The names of the new features.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> trees = CostModel([5.0, 20.0]).derive([[0], [0, 1]], 1.0)
        >>> trees.of([[True, False], [True, True]])
        array([ 6., 27.])
        """
        return CostModel._from(derivation.derive(self._declared, self._units, requires, evaluation_costs, names))

    def select(self, features: Iterable[Any]) -> CostModel:
        """Return the cost model of some features, given by name or index, in that order.

        What they require of the features left behind they go on requiring, as bundles.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> model = CostModel({"a": 1.0, "b": 2.0, "ratio": None}, requires={"ratio": ["a", "b"]})
        >>> model.select(["ratio", "a"]).bundles
        {'b': (('ratio',), 2.0)}
        """
        return CostModel._from(derivation.select(self._declared, features))

    @classmethod
    def resolve(
        cls, costs: Any, n_features: int, feature_names: Sequence[str] | None = None, owner: str = "CostModel"
    ) -> CostModel:
        """Return the cost model of the columns of X, from whatever was passed as `costs`.

        Parameters
        ----------
        costs : None, array-like, dict or CostModel
            None means 1 per feature. Features are matched by name where both sides have names, else by
            position.
        n_features : int
            How many columns X has.
        feature_names : sequence of str, optional
            Their names, which the result carries.
        owner : str
            Who asks; errors begin with it.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> CostModel.resolve({"b": 2.0, "a": 1.0}, 2, feature_names=["a", "b"]).costs
        {'a': 1.0, 'b': 2.0}
        """
        with located(owner):
            prices = np.ones(n_features) if costs is None else costs
            model = prices if isinstance(prices, CostModel) else cls(prices)
            aligned = derivation.align(model._declared, n_features, feature_names)
            return model if aligned is model._declared else cls._from(aligned)

    # Files

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> CostModel:
        """Read a cost model from a .csv, .toml or .yaml file; `thrifty.costs.files` describes the formats.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from thrifty import CostModel
        >>> with TemporaryDirectory() as folder:
        ...     path = Path(folder, "costs.csv")
        ...     _ = path.write_text("name,price (CAD),bundles\\nage,1,\\nchol,5.17,draw\\ndraw,2.1,\\n")
        ...     CostModel.from_file(path)
        CostModel(2 features, 1 bundle, total 8.27 CAD)
        """
        from thrifty.costs.files import read

        return read(Path(path))

    def to_file(self, path: str | os.PathLike[str]) -> Path:
        """Write the cost model to a .csv, .toml or .yaml file, all of it or nothing, and return the path.

        Features without names are called x0, x1, ... in the file.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> from thrifty import CostModel
        >>> with TemporaryDirectory() as folder:
        ...     path = CostModel({"age": 1.0, "chol": 5.17}, unit="CAD").to_file(Path(folder, "costs.toml"))
        ...     print(path.read_text(), end="")
        unit = "CAD"
        <BLANKLINE>
        [features]
        age = 1.0
        chol = 5.17
        """
        from thrifty.costs.files import write

        return write(self, Path(path))

    # A frozen value

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"CostModel is frozen: {name!r} cannot be set. Make a new CostModel.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"CostModel is frozen: {name!r} cannot be deleted.")

    def _key(self) -> tuple[Any, ...]:
        declared = self._declared
        return declared.names, declared.prices, frozenset(declared.bundles), declared.requires, declared.unit

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, CostModel) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __getstate__(self) -> dict[str, Any]:
        return self._declared.as_arrays()

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._freeze(Declaration.from_arrays(**state))

    def __sklearn_clone__(self) -> CostModel:
        return self

    def __repr__(self) -> str:
        counts = [(self.n_features, "feature"), (len(self._declared.bundles), "bundle")]
        parts = [f"{count} {noun}{'s' * (count != 1)}" for count, noun in counts if count]
        return f"CostModel({', '.join(parts)}, total {f'{self.total:.12g} {self.unit}'.strip()})"
