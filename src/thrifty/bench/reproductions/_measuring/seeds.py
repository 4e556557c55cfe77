"""The seeds of results, in words."""

from collections.abc import Iterable


def seeds_in_words(seeds: Iterable[int]) -> str:
    """Return for example "seed 0", or "seeds 0, 1, 2".

    >>> seeds_in_words([1, 0, 1])
    'seeds 0, 1'
    """
    known = sorted(set(seeds))
    return f"seed{'s' * (len(known) > 1)} {', '.join(map(str, known))}"
