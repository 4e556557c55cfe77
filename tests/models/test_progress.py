"""Lines of progress where standard error is no terminal."""

import time

from thrifty.models.progress import measured_progress

EVERY = 0.02


def lines_until(capsys, n):
    """Return what was printed when there are `n` lines, or after ten seconds."""
    printed, end = "", time.monotonic() + 10
    while printed.count("\n") < n and time.monotonic() < end:
        time.sleep(EVERY)
        printed += capsys.readouterr().err
    return printed.splitlines()


def test_lines_go_on_while_one_step_takes_long(capsys):
    with measured_progress("Searching", every=EVERY) as show:
        show("l1", 1_000.0)
        printed = lines_until(capsys, 3)
    assert len(printed) >= 3
    assert all(line.startswith("Searching: l1; about ") for line in printed)
    capsys.readouterr()
    time.sleep(5 * EVERY)
    assert capsys.readouterr().err == ""  # no line comes after the end


def test_nothing_is_printed_without_a_title_or_before_anything_is_shown(capsys):
    with measured_progress(None, every=EVERY) as show:
        show("l1", 1.0)
        time.sleep(5 * EVERY)
    with measured_progress("Searching", every=EVERY):
        time.sleep(5 * EVERY)
    assert capsys.readouterr().err == ""
