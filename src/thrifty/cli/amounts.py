"""Amounts of the cost model's unit, as people write them."""

SYMBOLS = ("$", "€", "£", "¥")
CODE_LENGTH = 3  # of a currency: CAD, EUR, USD
SMALL = 0.01  # from here on downwards two decimals would say too little


def amount(value: float, unit: str = "", *, fixed: bool = False) -> str:
    """Write what something costs: to two decimals, or three digits if it is less than a hundredth.

    Zero decimals are left out, unless it is `fixed` that there are two, as in a column. Money has both or none.

    >>> amount(4.0, "$"), amount(119.174, "CAD"), amount(2.5, "$"), amount(2.5, "ms"), amount(3.0)
    ('$4', '119.17 CAD', '$2.50', '2.5 ms', '3')
    >>> amount(0.0004, "$"), amount(4.0, "ms", fixed=True)
    ('$0.0004', '4.00 ms')
    """
    if 0 < abs(value) < SMALL:
        number = f"{value:.3g}"
    elif fixed:
        number = f"{value:.2f}"
    else:
        number = f"{value:.2f}".removesuffix(".00")
        number = number if is_money(unit) or "." not in number else number.rstrip("0")
    return f"{unit}{number}" if unit in SYMBOLS else f"{number} {unit}".rstrip()


def is_money(unit: str) -> bool:
    """Tell whether a unit has cents: a currency's symbol or its code.

    >>> is_money("€"), is_money("CAD"), is_money("ms")
    (True, True, False)
    """
    return unit in SYMBOLS or (len(unit) == CODE_LENGTH and unit.isalpha() and unit.isupper())
