"""What a set of features costs, counted the plain way: collect what must be paid, then add up fractions."""

from fractions import Fraction


def required(feature, bundles, requires):
    """Return the set of things a feature needs paid: itself, its bundles, and those of what it requires."""
    features, ahead = set(), [feature]
    while ahead:
        step = ahead.pop()
        if step not in features:
            features.add(step)
            ahead.extend(requires.get(step, ()))
    return features | {name for name, (members, _) in bundles.items() if features & set(members)}


def cost(acquired, costs, bundles, requires):
    """Return the cost of a set of features as a Fraction; prices are Fractions, or None."""
    paid = set().union(*(required(feature, bundles, requires) for feature in acquired))
    prices = {**costs, **{name: price for name, (_, price) in bundles.items()}}
    return sum((prices[thing] for thing in paid if prices[thing] is not None), Fraction(0))
