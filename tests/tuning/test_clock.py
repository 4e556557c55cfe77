"""The clock: predictions from measured times, and what ends in time."""

from thrifty.tuning.clock import Clock


def test_times_are_in_proportion_to_rows_and_known_batches_are_preferred():
    clock = Clock(None, 1, 10_000)
    assert clock.predict("l1", "a", 500) == 0.0
    clock.record("l1", "a", 100, 1.0)
    clock.record("l1", "b", 100, 3.0)
    assert clock.predict("l1", "a", 200) == 2.0
    assert clock.predict("l1", "unknown", 200) == 6.0
    assert clock.refit("l1", "a") == 100.0


def test_guesses_are_longer_on_a_slow_machine_and_unknown_methods_take_as_long_as_others():
    clock = Clock(None, 1, 100)
    clock.expect("first", 2.0, 1_000)
    clock.expect("second", 3.0, 1_000)
    clock.record("first", "a", 1_000, 5.0)
    assert clock.predict("second", "a", 1_000) == 7.5
    clock.record("quick", "a", 1_000, 1.0)
    clock.record("medium", "a", 1_000, 2.0)
    assert clock.predict("unknown", "a", 500) == 1.0


def test_without_a_limit_everything_is_allowed():
    clock = Clock(None, 1, 10)
    clock.record("l1", "a", 1, 1e9)
    assert clock.allows("l1", "a", 10, n_fits=10)


def test_the_final_fit_is_kept_in_reserve():
    clock = Clock(1000.0, 2, 100)
    clock.record("l1", "a", 1, 1.0)
    assert clock.allows("l1", "a", 100, n_fits=16)  # 800 s on 2 workers, and 100 s for the final fit
    assert not clock.allows("l1", "a", 100, n_fits=19)
    assert not clock.allows("l1", "a", 100, n_fits=16, reserve=300.0)
    assert clock.allows("l1", "a", 100, n_fits=16, reserve=float("-inf"))


def test_a_guess_holds_until_a_fit_was_measured():
    clock = Clock(1000.0, 1, 100)
    clock.expect("slow", 300.0, 1_000)
    assert (clock.predict("slow", "a", 10), clock.predict("slow", "a", 3_000)) == (300.0, 900.0)
    assert not clock.allows("slow", "a", 1_000, n_fits=3)
    clock.record("slow", "a", 1_000, 1.0)
    assert clock.predict("slow", "a", 3_000) == 3.0
    assert clock.allows("slow", "a", 1_000, n_fits=3)
