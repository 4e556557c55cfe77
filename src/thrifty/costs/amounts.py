"""Amounts of money or time as text."""

CURRENCY_SYMBOLS = ("$", "€", "£", "¥")


def amount(value: float, unit: str = "", *, fixed: bool = False) -> str:
    """Write an amount with two decimals and its unit; less than 0.01 with three significant digits.

    Decimals that are zero are left out: ".00" for a currency (a symbol, or a code such as CAD), every trailing zero for
    other units. With `fixed` there are always two decimals, as in a column of a table.

    >>> amount(4.0, "$"), amount(119.174, "CAD"), amount(2.5, "$"), amount(2.5, "ms"), amount(3.0)
    ('$4', '119.17 CAD', '$2.50', '2.5 ms', '3')
    >>> amount(0.0004, "$"), amount(4.0, "ms", fixed=True)
    ('$0.0004', '4.00 ms')
    """
    is_symbol = unit in CURRENCY_SYMBOLS
    is_currency = is_symbol or (len(unit) == 3 and unit.isalpha() and unit.isupper())
    number = f"{value:.3g}" if 0 < abs(value) < 0.01 else f"{value:.2f}"
    if number.endswith(".00") and not fixed:
        number = number.removesuffix(".00")
    elif abs(value) >= 0.01 and not (fixed or is_currency):
        number = number.rstrip("0")
    return f"{unit}{number}" if is_symbol else f"{number} {unit}".rstrip()
