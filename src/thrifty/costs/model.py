"""Cost of acquiring a set of features.

A feature requires one or more units. A row pays for a unit once: when it first acquires a feature that requires it. The
cost of a set S of features is

    cost(S) = sum of the costs of the units that the features of S require

This function is monotone and submodular. There are three kinds of units:

    own price    required by one feature
    bundle       shared by several features
    evaluation   required by a feature that is computed from others, such as a tree, in addition to the units of all
                 features that it reads (Xu, Kusner, Weinberger, Chen and Chapelle, JMLR 15, 2014)

Modules of this package:

    declaration.py   checked arguments in a normal form      units.py    units as arrays, cost of masks
    derivation.py    declarations made from others           money.py    exact sums
    files.py         files: documents.py, spreadsheets.py    ledger.py   running account of one row
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from scipy.sparse import csr_array

from thrifty.costs import derivation
from thrifty.costs.amounts import amount
from thrifty.costs.declaration import Declaration
from thrifty.costs.errors import prefix_errors
from thrifty.costs.notebook import described, table
from thrifty.costs.units import Units
from thrifty.exceptions import CostError
from thrifty.stored import Array, Lengths, OrNone, Text, Texts, stored

_MAX_DENSE_CELLS = 2**28


@stored(
    prices=Array("float64", "n_features", low=0),  # NaN: the feature has no price of its own
    names=OrNone(Texts("n_features")),
    bundle_prices=Array("float64", "n_bundles", low=0, finite=True),
    bundle_names=Texts("n_bundles"),
    members=Array("int64", "n_listed", low=0, below="n_features"),
    n_members=Lengths("n_bundles", total="n_listed"),
    requires=Array("int64", "n_required", low=0, below="n_features"),
    n_requires=Lengths("n_features", total="n_required"),
    unit=Text(),
)
class CostModel:
    """Cost of acquiring a set of features.

    A cost model is immutable. It can be compared, hashed, copied and pickled. Sums of prices are exact in any order:
    0.1 and 0.2 add up to 0.3.

    Parameters
    ----------
    costs : array-like of float, dict or pandas Series
        One price per column, or ``{name: price}`` in column order. A price of None means that the feature does not
        have a price of its own: it costs what its bundles and the features that it requires cost.
    bundles : dict or None, default=None
        ``{name: (members, price)}``: a price that a row pays once, with the first member that it acquires. Members are
        names or column indices. A feature may be in several bundles.
    requires : dict or None, default=None
        ``{feature: features}``: the feature also requires all units of these features, and of the features that they
        require in turn. For example, a ratio of two lab values without a price of its own is free once both values
        are bought.
    unit : str, default=""
        Unit of the prices, such as ``"CAD"``.

    Attributes
    ----------
    names : tuple of str, or None
        Names of the features; None if they have no names.
    n_features : int
        Number of features.
    costs : dict or tuple
        Own prices of the features: ``{name: price}``, or a tuple if the features have no names.
    bundles : dict
        ``{name: (members, price)}``.
    requires : dict
        ``{feature: features}``, for features that require others.
    unit : str
        Unit of the prices.
    total : float
        Cost of all features.
    unit_names : tuple of str
        Names of the units: first the features with a price of their own, then the bundles.
    unit_costs : ndarray of shape (n_units,)
        Cost of each unit; read-only.
    requirement : ndarray of bool, shape (n_features, n_units)
        Units that each feature requires; read-only. It is built on each access, for small models.
    sparse_requirement : scipy.sparse.csr_array of bool, shape (n_features, n_units)
        The same as a sparse matrix, for models of any size.

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

    # The declared values: CostModel(m.costs, bundles=m.bundles, requires=m.requires, unit=m.unit) == m

    @property
    def names(self) -> tuple[str, ...] | None:
        """Names of the features; None if they have no names."""
        return self._declared.names

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self._declared.prices)

    @property
    def unit(self) -> str:
        """Unit of the prices."""
        return self._declared.unit

    @property
    def costs(self) -> Any:
        """Own prices of the features: ``{name: price}``, or a tuple if the features have no names."""
        prices = self._declared.prices
        return prices if self.names is None else dict(zip(self.names, prices, strict=True))

    @property
    def bundles(self) -> dict[str, tuple[tuple[Any, ...], float]]:
        """Bundles: ``{name: (members, price)}``."""
        declared = self._declared
        return {name: (declared.names_or_indices(members), price) for name, members, price in declared.bundles}

    @property
    def requires(self) -> dict[Any, tuple[Any, ...]]:
        """Features that a feature requires: ``{feature: features}``."""
        declared = self._declared
        features = declared.names_or_indices(range(self.n_features))
        items = zip(features, declared.requires, strict=True)
        return {feature: declared.names_or_indices(required) for feature, required in items if required}

    # Units and costs

    @property
    def total(self) -> float:
        """Cost of all features."""
        return float(self._units.ticks.sum()) / self._units.scale

    @property
    def unit_names(self) -> tuple[str, ...]:
        """Names of the units: first the features with a price of their own, then the bundles."""
        return self._units.names

    @property
    def unit_costs(self) -> np.ndarray:
        """Cost of each unit: read-only, shape (n_units,)."""
        return self._units.costs

    @property
    def requirement(self) -> np.ndarray:
        """Units that each feature requires: boolean, read-only, shape (n_features, n_units)."""
        n_cells = self.n_features * len(self.unit_names)
        if n_cells > _MAX_DENSE_CELLS:
            raise CostError(f"requirement would have {n_cells} cells. Read sparse_requirement instead.")
        dense = self._units.requirement.toarray()
        dense.setflags(write=False)
        return dense

    @property
    def sparse_requirement(self) -> csr_array:
        """Units that each feature requires, as a sparse matrix: boolean, shape (n_features, n_units)."""
        return self._units.requirement.copy()

    def of(self, mask: Any) -> Any:
        """Return the cost of acquiring the features where a boolean mask is True.

        Parameters
        ----------
        mask : array-like of bool, shape (n_features,) or (n, n_features)
            Features that one row, or each of n rows, acquires.

        Returns
        -------
        float or ndarray of shape (n,)
            The cost of one row, or of each row.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> CostModel([0.1, 0.2, 5.0]).of([True, True, False])
        0.3
        """
        spent = self._priced(self._units.ticks_spent, mask)
        return float(spent) if spent.ndim == 0 else spent

    def marginal(self, mask: Any) -> np.ndarray:
        """Return what each feature would cost, given the features that are already acquired.

        Parameters
        ----------
        mask : array-like of bool, shape (n_features,) or (n, n_features)
            Features that one row, or each of n rows, has acquired.

        Returns
        -------
        ndarray of the same shape as mask
            The cost of the unpaid units of each feature. It is 0 if all units of a feature are paid, even if the
            feature itself is not acquired.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> CostModel([1.0, 2.0, 3.0], bundles={"visit": ([1, 2], 10.0)}).marginal([False, True, False])
        array([1., 0., 3.])
        """
        return self._priced(self._units.marginal_ticks, mask)

    def _priced(self, count_ticks: Callable[[np.ndarray], np.ndarray], mask: Any) -> np.ndarray:
        """Check a mask, count ticks on it as a matrix, and convert them to costs."""
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
        """Return the cost model of derived features, which are computed from the features of this model.

        A derived feature requires a unit for its evaluation and all units of the features that it reads. For example,
        a tree costs its evaluation plus the unpaid units of the features that it splits on.

        Parameters
        ----------
        requires : ndarray or sparse array of bool, shape (t, n_features), or sequence of t sequences
            Features that each derived feature reads: one row of the matrix, or one sequence of names or column
            indices, per derived feature.
        evaluation_costs : float or array-like of shape (t,)
            Cost of evaluating each derived feature.
        names : iterable of str or None, default=None
            Names of the derived features.

        Returns
        -------
        CostModel
            A cost model of t features.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> trees = CostModel([5.0, 20.0]).derive([[0], [0, 1]], 1.0)
        >>> trees.of([[True, False], [True, True]])
        array([ 6., 27.])
        """
        return CostModel._from(derivation.derive(self._declared, self._units, requires, evaluation_costs, names))

    def select(self, features: Iterable[Any]) -> CostModel:
        """Return the cost model of some features.

        A selected feature may require features that are not selected. Their prices become bundles of the result, so
        that every set of selected features costs the same as before.

        Parameters
        ----------
        features : iterable of str or int
            Names or column indices, in the order of the result.

        Returns
        -------
        CostModel

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
        """Return the cost model of the columns of X from the `costs` parameter of an estimator.

        Parameters
        ----------
        costs : array-like of float, dict, CostModel or None
            Prices. None means a price of 1 for each feature. Features are matched by name if both `costs` and X have
            names, else by position.
        n_features : int
            Number of columns of X.
        feature_names : sequence of str or None, default=None
            Names of the columns of X. The result has the same names.
        owner : str, default="CostModel"
            Name of the caller; error messages start with it.

        Returns
        -------
        CostModel
            A cost model of n_features features.

        Examples
        --------
        >>> from thrifty import CostModel
        >>> CostModel.resolve({"b": 2.0, "a": 1.0}, 2, feature_names=["a", "b"]).costs
        {'a': 1.0, 'b': 2.0}
        """
        with prefix_errors(owner):
            prices = np.ones(n_features) if costs is None else costs
            model = prices if isinstance(prices, CostModel) else cls(prices)
            aligned = derivation.align(model._declared, n_features, feature_names)
            return model if aligned is model._declared else cls._from(aligned)

    # Files

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> CostModel:
        """Read a cost model from a .csv, .toml or .yaml file.

        Parameters
        ----------
        path : str or path-like
            The file. The documentation of the module `thrifty.costs.files` describes the formats.

        Returns
        -------
        CostModel

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
        """Write the cost model to a .csv, .toml or .yaml file.

        After an error there is no incomplete file, and an existing file is unchanged.

        Parameters
        ----------
        path : str or path-like
            The file. Features without names get the names x0, x1, ... in the file.

        Returns
        -------
        pathlib.Path
            The path of the file.

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

    # Immutable value: comparison, copies, pickles and model files

    _stored_once = True

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"CostModel is frozen: {name!r} cannot be set. Create a new CostModel.")

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

    def _repr_html_(self) -> str:
        names = [str(name) for name in self.names or (f"x{j}" for j in range(self.n_features))]
        alone = self.marginal(np.zeros(self.n_features, dtype=bool)).tolist()
        shares: dict[str, list[str]] = {name: [] for name in names}
        for bundle, (members, _) in self.bundles.items():
            for member in members:
                shares[str(member) if self.names else f"x{member}"].append(bundle)
        rows = [
            [name, amount(price, self.unit), ", ".join(shares[name])] for name, price in zip(names, alone, strict=True)
        ]
        bundles = [[name, amount(price, self.unit)] for name, (_, price) in self.bundles.items()]
        paid_once = table(["bundle", "paid once"], bundles) if bundles else ""
        total = f"{amount(self.total, self.unit)} for everything."
        return described("CostModel", total, table(["feature", "bought alone", "shares"], rows), paid_once)
