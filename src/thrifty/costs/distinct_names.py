"""Names that are made distinct by apostrophes."""

from collections.abc import Iterable


class DistinctNames:
    """Names that are used, and for each of them one to try next.

    The next name is remembered, so that many names with many apostrophes take few steps.

    Parameters
    ----------
    used : iterable of str, default=()
        Names that are used already.

    Examples
    --------
    >>> from thrifty.costs.distinct_names import DistinctNames
    >>> names = DistinctNames(["visit"])
    >>> [names.add(name) for name in ("visit", "age", "visit")]
    ["visit'", 'age', "visit''"]
    """

    def __init__(self, used: Iterable[str] = ()):
        self._next = {name: f"{name}'" for name in used}

    def add(self, name: str) -> str:
        """Append apostrophes until the name is unused; return it, and use it.

        Parameters
        ----------
        name : str

        Returns
        -------
        str
        """
        tried = []
        while name in self._next:
            tried.append(name)
            name = self._next[name]
        self._next |= dict.fromkeys([*tried, name], f"{name}'")
        return name
