"""Steps of L-BFGS: those of SciPy in the memory of this process, the same ones in array functions on a device.

On a device, the point, the gradient and the memory of L-BFGS stay there. Each evaluation moves two numbers to the host:
the value and the slope along the line. Both take the same steps, up to rounding, because the line search is the same.

R. H. Byrd, P. Lu, J. Nocedal, C. Zhu. A limited memory algorithm for bound constrained optimization. SIAM Journal on
Scientific Computing 16, 1995.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import minimize

from thrifty.arrays import is_device_array, largest_size, number
from thrifty.models.expected_cost.line_search import step_length

SMALLEST_DECREASE = 1e-9  # relative to the value; a smaller decrease ends the search
SMALLEST_SLOPE = 1e-9  # the largest entry of the gradient at which the search ends
MEMORY = 10  # pairs of steps and changes of the gradient
EPSILON = float(np.finfo(float).eps)

Function = Callable[[Any], tuple[float, Any]]  # value and gradient at a point


def lowest_point(function: Function, start: Any, steps: int) -> Any:
    """Return the point that L-BFGS reaches in at most `steps` steps."""
    if is_device_array(start):
        return lowest_on_device(function, start, steps)
    options = {"maxiter": steps, "ftol": SMALLEST_DECREASE, "gtol": SMALLEST_SLOPE}
    return minimize(function, start, jac=True, method="L-BFGS-B", options=options).x


def lowest_on_device(function: Function, start: Any, steps: int) -> Any:
    """Return the point that L-BFGS reaches in at most `steps` steps, on a device.

    Parameters
    ----------
    function : callable
        Returns value (a float) and gradient at a point.
    start : array of shape (n_variables,)
    steps : int
        Largest number of steps.

    Returns
    -------
    array of shape (n_variables,)
    """
    point, (value, gradient) = start, function(start)
    memory: deque[tuple[Any, Any, Any]] = deque(maxlen=MEMORY)
    for step in range(steps):
        if not largest_size(gradient) > SMALLEST_SLOPE:
            break
        found = _along_line(function, point, value, gradient, memory, first=step == 0)
        if found is None and memory:
            memory.clear()
            found = _along_line(function, point, value, gradient, memory, first=step == 0)
        if found is None:
            break
        before, (point, value, gradient) = value, found
        if before - value <= SMALLEST_DECREASE * max(abs(before), abs(value), 1.0):
            break
    return point


def _along_line(
    function: Function, point: Any, value: float, gradient: Any, memory: deque[tuple[Any, Any, Any]], first: bool
) -> tuple[Any, float, Any] | None:
    """Search along the direction of L-BFGS and add the step to the memory; None if the value cannot be lowered."""
    direction = _direction(gradient, memory)
    slope = number(gradient @ direction)
    if slope >= 0:
        return None
    length = number(direction @ direction) ** -0.5 if first else 1.0
    reached: list[Any] = []

    def at(step: float) -> tuple[float, float]:
        there = point + step * direction
        reached[:] = [there, *function(there)]
        return reached[1], number(reached[2] @ direction)

    try:
        step = step_length(at, value, slope, length)
    except ZeroDivisionError:  # the function does not change along the line
        step = None
    if step is None:
        return None
    there, lower, new_gradient = reached
    change = new_gradient - gradient
    rise = (number(new_gradient @ direction) - slope) * step
    if rise > EPSILON * -slope * step:
        memory.append((step * direction, change, rise))
    return there, lower, new_gradient


def _direction(gradient: Any, memory: deque[tuple[Any, Any, Any]]) -> Any:
    """Return minus the gradient times the approximate inverse of the Hessian (two loops over the memory)."""
    direction, shares = -gradient, []
    for move, change, rise in reversed(memory):
        shares.append((move @ direction) / rise)
        direction = direction - shares[-1] * change
    if memory:
        _, change, rise = memory[-1]
        direction = direction * (rise / (change @ change))
    for (move, change, rise), share in zip(memory, reversed(shares), strict=True):
        direction = direction + (share - (change @ direction) / rise) * move
    return direction
