"""What groups of columns cost a row, and which ones each stage pays for."""

from thrifty.kernels.adaptive.structures import NOTHING, borrowing


@borrowing(inline="always")
def pay_stage(policy, state, group, cap):
    """Pay for a chosen group, further groups of the default order at late stages, and plan what is then free.

    Return how many groups `state.plan` holds. What a stage buys does not depend on the values that it reads.
    """
    pay(policy, state, group)
    state.plan[0] = group
    n_planned = 1
    for _ in range(policy.n_at_stage[int(state.counts[2])] - 1):
        group = next_in_order(policy, state, cap)
        if group == NOTHING:
            break
        pay(policy, state, group)
        state.plan[n_planned] = group
        n_planned += 1
    state.counts[2] += 1
    return pay_free(policy, state, n_planned) if policy.shares_units else n_planned


@borrowing(inline="always")
def pay(policy, state, group):
    """Pay the units of a group."""
    state.counts[0] += ticks_of(policy, state, group)
    state.counts[1] += 1
    state.bought[group] = 1
    for at in range(policy.unit_start[group], policy.unit_start[group + 1]):
        state.paid[policy.units[at]] = 1


@borrowing()
def pay_free(policy, state, n_planned):
    """Plan all groups that cost nothing now; return how many groups are planned."""
    bought, paid = state.bought, state.paid
    unit_start, units, unit_ticks = policy.unit_start, policy.units, policy.unit_ticks
    for group in range(bought.size):
        if not bought[group] and unpaid_ticks(unit_start, units, unit_ticks, paid, group) == 0:
            pay(policy, state, group)
            state.plan[n_planned] = group
            n_planned += 1
    return n_planned


@borrowing(inline="always")
def ticks_of(policy, state, group):
    """Return the ticks of the units of a group that a row has not paid."""
    return unpaid_ticks(policy.unit_start, policy.units, policy.unit_ticks, state.paid, group)


@borrowing(inline="always")
def unpaid_ticks(unit_start, units, unit_ticks, paid, group):
    """Return the ticks of the units of a group that are not paid. Loops call it with the arrays, which is faster."""
    ticks = 0.0
    for at in range(unit_start[group], unit_start[group + 1]):
        if not paid[units[at]]:
            ticks += unit_ticks[units[at]]
    return ticks


@borrowing(inline="always")
def next_in_order(policy, state, cap):
    """Return the first group of the default order that a row does not have and can pay for, or NOTHING."""
    order, bought, spent, scale = policy.order, state.bought, state.counts[0], policy.scale
    unit_start, units, unit_ticks, paid = policy.unit_start, policy.units, policy.unit_ticks, state.paid
    for at in range(order.size):
        group = order[at]
        if not bought[group] and (spent + unpaid_ticks(unit_start, units, unit_ticks, paid, group)) / scale <= cap:
            return group
    return NOTHING
