"""Structures whose copies and files hold only the arguments of the constructor.

Kernels do not check indices. A fitted structure therefore stores nothing that it computes for the kernels: a pickle or
a model file holds the constructor's arguments, and reading it calls the constructor, which checks them.
"""

from typing import Any, ClassVar


class Rebuilt:
    """A structure whose state is what its constructor takes.

    Examples
    --------
    >>> from copy import deepcopy
    >>> class Square(Rebuilt):
    ...     _made_of = ("side",)
    ...
    ...     def __init__(self, side):
    ...         self.side, self.area = side, side**2
    >>> Square(3).__getstate__()
    {'side': 3}
    >>> deepcopy(Square(3)).area
    9
    """

    _made_of: ClassVar[tuple[str, ...]]  # the constructor's arguments in order, which are also attributes

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._made_of}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, *(state[name] for name in self._made_of))
