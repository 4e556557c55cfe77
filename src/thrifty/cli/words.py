"""Messages as the command line prints them: in its own words, one short line each, without control characters.

The library speaks of classes, of X and y, and of parameters. The command line has columns, a target, and options.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unicodedata import category

MAX_MESSAGE = 600  # characters
KEPT_AT_END = 150  # of a longer message: its end says what to do
ELLIPSIS = " ... "

TRANSLATIONS = [
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\b[A-Z]\w*(?:SearchCV|Model|Encoder|Classifier|Regressor|Ranker): ", ""),
        (r"\b[A-Z]\w*(?:Error|Exception|Warning): ", ""),
        (r"\b[A-Z]\w*(?:Classifier|Regressor|Ranker)\b", "the method"),
        (r"^(budget|cap|cv|confidence|task|scoring) is ", r"--\1 is "),
        (r"^time_limit is ", "--time-limit is "),
        (r"\bscoring=", "--scoring "),
        (r"\bPass error_costs\b", "Pass --error-costs"),
        (r"\bqid is None\. Pass one query per row\.", "there is no --qid. Pass the column with the queries."),
        (r", or None if it is unavailable|, or NaN if it is unavailable", ", or nothing if it is unavailable"),
        (r", or NaN for what is unavailable", ", or nothing for what is unavailable"),
        (r", or a splitter|, or None(?=\.)", ""),
        (r"\bNone or one of ", "one of "),
        (r" in y\b", " in the target"),
        (r"\by is\b", "the target is"),
        (r"\bX has\b", "the table has"),
        (r"\bof X\b", "of the table"),
        (r"\bfeature ('.*?') was observed as\b", r"\1 is"),
        (r"\bthrifty\.save\b", "thrifty"),
        (
            r"Save it with save\(\.\.\., key=key\), or load it without a key",
            "Fit it with --key-file, or leave out --key-file",
        ),
    )
]


def printable(text: str) -> str:
    r"""Return a text with escapes instead of characters that a terminal would act on, or that change the order of text.

    >>> print(printable("a\x1b[31mge\n"))
    a\x1b[31mge\n
    """
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() or category(each) == "Zs" else _escaped(each) for each in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape", "surrogatepass").decode()


def shortened(text: str, limit: int = MAX_MESSAGE, at_end: int = KEPT_AT_END) -> str:
    """Return a text of limited length: its beginning and its end.

    >>> shortened("a long sentence with an end", 16, 6)
    'a lon ... an end'
    """
    if len(text) <= limit:
        return text
    return text[: limit - at_end - len(ELLIPSIS)] + ELLIPSIS + text[-at_end:]


def one_line(message: str) -> str:
    """Return a message as one line of limited length, in the words of the command line."""
    line = " ".join(message.split())
    for pattern, replacement in TRANSLATIONS:
        line = pattern.sub(replacement, line)
    return shortened(printable(line))


@contextmanager
def rows_counted_by(number: Callable[[int], int], place: str) -> Iterator[None]:
    """Name the table in errors, and count their rows as people do: the library counts them from 0 in each chunk."""
    try:
        yield
    except ValueError as error:
        counted = re.sub(r"\brow (\d+)\b", lambda row: f"row {number(int(row[1]))}", str(error), count=1)
        raise ValueError(f"{place}: {counted}") from None


def plural(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> plural(1, "cell"), plural(1200, "cell")
    ('1 cell', '1,200 cells')
    """
    return f"{count:,} {noun}{'s' * (count != 1)}"
