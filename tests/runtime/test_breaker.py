"""The circuit breaker."""

from thrifty.runtime.breaker import Breaker


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def opened():
    clock = Clock()
    breaker = Breaker(failures=3, pause=10, clock=clock)
    for _ in range(3):
        assert breaker.allows()
        breaker.failed()
    return breaker, clock


def test_it_opens_after_failures_in_a_row():
    breaker = Breaker(failures=3)
    for _ in range(5):
        breaker.failed()
        breaker.failed()
        breaker.succeeded()
    assert breaker.state == "closed"
    assert opened()[0].state == "open"
    assert not opened()[0].allows()


def test_it_lets_one_call_through_after_the_pause():
    breaker, clock = opened()
    clock.now = 10.0
    assert breaker.state == "half-open"
    assert breaker.allows()
    assert not breaker.allows()


def test_a_trial_that_succeeds_closes_it():
    breaker, clock = opened()
    clock.now = 11.0
    assert breaker.allows()
    breaker.succeeded()
    assert (breaker.state, breaker.allows(), breaker.allows()) == ("closed", True, True)


def test_a_trial_that_fails_opens_it_again():
    breaker, clock = opened()
    clock.now = 11.0
    assert breaker.allows()
    breaker.failed()
    assert (breaker.state, breaker.allows()) == ("open", False)
    clock.now = 21.0
    assert breaker.allows()


def test_a_cancelled_trial_leaves_room_for_another():
    breaker, clock = opened()
    clock.now = 11.0
    assert breaker.allows()
    breaker.released()
    assert breaker.allows()
