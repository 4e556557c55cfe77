"""Structures that copies and files make anew from what they were made of.

Kernels index without looking. So what a fitted structure computes for them is never stored: a pickle or a model file
holds the arguments of its constructor, and reading it runs the constructor, with all that it refuses.
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

    _made_of: ClassVar[tuple[str, ...]]  # attributes named like the constructor's arguments, in their order

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._made_of}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, *(state[name] for name in self._made_of))
