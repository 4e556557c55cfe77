"""Ranking problems in place of the Yahoo! Learning to Rank data, which are licensed.

Synthetic queries have the published prices of the Yahoo! features. The public tables have no prices; theirs are drawn
from the same price list. `NOTE` says so in the text of every claim.
"""

from thrifty.bench.reproductions._measuring.problems import Problem, ranking
from thrifty.datasets import load_mq2008, load_mslr, load_ohsumed, make_ltr

NOTE = (
    "On synthetic queries with the Yahoo! price list and on public tables with prices drawn from it, because the "
    "Yahoo! data are licensed."
)


def synthetic(seed: int, full: bool) -> Problem:
    """Return synthetic queries with grades 0 to 4."""
    data = make_ltr(1000, random_state=seed) if full else make_ltr(200, 16, 60, random_state=seed)
    return ranking(data, seed, "ndcg@5", full=full)


def mq2008(seed: int, full: bool) -> Problem:
    """Return one of the five official folds."""
    return ranking(load_mq2008(fold=1 + seed % 5), seed, "ndcg@5", None if full else 250, full)


def mslr(seed: int, full: bool) -> Problem:
    """Return the sample of MSLR-WEB10K."""
    return ranking(load_mslr(), seed, "ndcg@5", full=full)


def ohsumed(seed: int, full: bool) -> Problem:
    """Return OHSUMED."""
    return ranking(load_ohsumed(), seed, "ndcg@5", full=full)


GRADED = {"synthetic queries": synthetic, "MQ2008": mq2008}
MORE_GRADED = {"MSLR": mslr, "OHSUMED": ohsumed}  # in the full suite
