"""A step along a line that lowers a function enough, and at which its slope is much smaller (Moré and Thuente, 1994).

Conditions, for the function f(step) with slope f'(step):

    f(step) <= f(0) + ENOUGH * step * f'(0)        and        |f'(step)| <= FLAT * |f'(0)|

J. J. Moré, D. J. Thuente. Line search algorithms with guaranteed sufficient decrease. ACM Transactions on Mathematical
Software 20, 1994. Constants and safeguards are those of L-BFGS-B, so that steps on a device equal those of SciPy.
"""

from collections.abc import Callable
from typing import NamedTuple

ENOUGH, FLAT, NARROW = 1e-3, 0.9, 0.1
LONGEST_STEP = 1e10
MOST_EVALUATIONS = 20
GROWTH_LEAST, GROWTH_MOST = 1.1, 4.0
LARGEST_SHARE = 0.66

Along = Callable[[float], tuple[float, float]]  # value and slope at a step


class Trial(NamedTuple):
    """A step, and value and slope of the function there."""

    step: float
    value: float
    slope: float


def step_length(at: Along, value: float, slope: float, step: float) -> float | None:
    """Return a step that meets the conditions, or None if none is found.

    Parameters
    ----------
    at : callable
        Returns value and slope at a step. The step returned is the last one at which it was called.
    value, slope : float
        Those at step 0; the slope is negative.
    step : float
        The first step to try.

    Returns
    -------
    float or None
    """
    test_slope = ENOUGH * slope
    best = other = Trial(0.0, value, slope)
    bracketed, first_stage = False, True
    width, width_before = LONGEST_STEP, 2.0 * LONGEST_STEP
    lowest, highest = 0.0, step + GROWTH_MOST * step
    for _ in range(MOST_EVALUATIONS):
        here = Trial(step, *at(step))
        limit = value + step * test_slope
        first_stage = first_stage and not (here.value <= limit and here.slope >= 0)
        if here.value <= limit and abs(here.slope) <= FLAT * -slope:
            return step
        at_end = bracketed and (step <= lowest or step >= highest or highest - lowest <= NARROW * highest)
        if at_end or (step == LONGEST_STEP and here.value <= limit and here.slope <= test_slope):
            return step  # no other step is better, up to rounding
        if first_stage and limit < here.value <= best.value:  # the function minus the line of sufficient decrease
            best, other, here = (
                Trial(t.step, t.value - t.step * test_slope, t.slope - test_slope) for t in (best, other, here)
            )
            best, other, step, bracketed = _next(best, other, here, bracketed, lowest, highest)
            best, other = (Trial(t.step, t.value + t.step * test_slope, t.slope + test_slope) for t in (best, other))
        else:
            best, other, step, bracketed = _next(best, other, here, bracketed, lowest, highest)
        if bracketed:
            if abs(other.step - best.step) >= LARGEST_SHARE * width_before:
                step = best.step + 0.5 * (other.step - best.step)
            width_before, width = width, abs(other.step - best.step)
            lowest, highest = min(best.step, other.step), max(best.step, other.step)
        else:
            lowest = step + GROWTH_LEAST * (step - best.step)
            highest = step + GROWTH_MOST * (step - best.step)
        step = min(max(step, 0.0), LONGEST_STEP)
        if bracketed and (step <= lowest or step >= highest or highest - lowest <= NARROW * highest):
            step = best.step
    return None


def _next(
    best: Trial, other: Trial, here: Trial, bracketed: bool, lowest: float, highest: float
) -> tuple[Trial, Trial, float, bool]:
    """Return the ends of the interval that holds a minimum, the next step to try, and whether there is an interval."""
    opposite = (here.slope < 0 < best.slope) or (best.slope < 0 < here.slope)
    theta = 3.0 * (best.value - here.value) / (here.step - best.step) + best.slope + here.slope
    size = max(abs(theta), abs(best.slope), abs(here.slope))
    if here.value > best.value:  # a higher value: the minimum is between both
        root = size * max(0.0, (theta / size) ** 2 - (best.slope / size) * (here.slope / size)) ** 0.5
        root = -root if here.step < best.step else root
        share = ((root - best.slope) + theta) / (((root - best.slope) + root) + here.slope)
        cubic = best.step + share * (here.step - best.step)
        rise = (best.value - here.value) / (here.step - best.step) + best.slope
        quadratic = best.step + (best.slope / rise) / 2.0 * (here.step - best.step)
        near = abs(cubic - best.step) <= abs(quadratic - best.step)
        step, bracketed = (cubic if near else cubic + (quadratic - cubic) / 2.0), True
    elif opposite:  # a lower value and a slope of the other sign: the minimum is between both
        root = size * max(0.0, (theta / size) ** 2 - (best.slope / size) * (here.slope / size)) ** 0.5
        root = -root if here.step > best.step else root
        share = ((root - here.slope) + theta) / (((root - here.slope) + root) + best.slope)
        cubic = here.step + share * (best.step - here.step)
        secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)
        step, bracketed = (cubic if abs(cubic - here.step) > abs(secant - here.step) else secant), True
    elif abs(here.slope) < abs(best.slope):  # a lower value and a smaller slope of the same sign
        root = size * max(0.0, (theta / size) ** 2 - (best.slope / size) * (here.slope / size)) ** 0.5
        root = -root if here.step > best.step else root
        share = ((root - here.slope) + theta) / ((root + (best.slope - here.slope)) + root)
        far = highest if here.step > best.step else lowest
        cubic = here.step + share * (best.step - here.step) if share < 0 and root != 0 else far
        secant = here.step + here.slope / (here.slope - best.slope) * (best.step - here.step)
        if bracketed:
            step = cubic if abs(cubic - here.step) < abs(secant - here.step) else secant
            inside = here.step + LARGEST_SHARE * (other.step - here.step)
            step = min(inside, step) if here.step > best.step else max(inside, step)
        else:
            step = cubic if abs(cubic - here.step) > abs(secant - here.step) else secant
            step = max(min(highest, step), lowest)
    elif bracketed:  # a lower value and a slope that is as steep: the minimum is further on
        theta = 3.0 * (here.value - other.value) / (other.step - here.step) + other.slope + here.slope
        size = max(abs(theta), abs(other.slope), abs(here.slope))
        root = size * max(0.0, (theta / size) ** 2 - (other.slope / size) * (here.slope / size)) ** 0.5
        root = -root if here.step > other.step else root
        share = ((root - here.slope) + theta) / (((root - here.slope) + root) + other.slope)
        step = here.step + share * (other.step - here.step)
    else:
        step = highest if here.step > best.step else lowest
    if here.value > best.value:
        return best, here, step, bracketed
    return here, (best if opposite else other), step, bracketed
