"""``thrifty demo``."""


def demo() -> None:
    """x"""
