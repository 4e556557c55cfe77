"""The decision guide: what follows from figures that are known, and from the committed ones."""

from thrifty.bench.curves import SHARES
from thrifty.bench.guide import KINDS, budget_table, by_kind, data_table, missed
from thrifty.bench.problems import CATALOG
from thrifty.bench.summary import committed


def figures(gain, **at):
    points = dict.fromkeys(map(str, SHARES), 0.0)
    return {"gain": gain, "points_at": points | {share.replace("_", "."): value for share, value in at.items()}}


SUMMARY = {
    "problems": {
        "heart": {"thrifty": figures(20.0), "l1": figures(24.0, **{"0.1": 9.0}), "cstc": figures(23.0)},
        "pima": {"thrifty": figures(11.0, **{"0.1": 2.0}), "l1": figures(10.0), "lightgbm-full": figures(30.0)},
        "spambase": {"thrifty": figures(32.0), "l1": figures(26.0)},
    }
}


def test_every_problem_of_the_catalog_is_of_one_kind():
    named = [name for names in KINDS.values() for name in names]
    assert sorted(named) == sorted(CATALOG)


def test_methods_are_compared_with_the_best_one_on_each_problem():
    small = by_kind(SUMMARY)["a few hundred rows"]
    assert missed(small, "all") == {"l1": 0.5, "thrifty": 2.0}  # cstc has no results on pima, and others do not count
    assert missed(small, "0.1") == {"l1": 1.0, "thrifty": 4.5}
    assert missed({}, "all") == {}


def test_the_tables_name_the_best_methods():
    assert data_table(SUMMARY).rows == [
        ("a few hundred rows", "heart, pima", "l1 (0.5), thrifty (2.0)"),
        ("thousands of rows, one price", "spambase", "thrifty (0.0), l1 (6.0)"),
    ]
    table = budget_table(SUMMARY)
    assert table.header == ("data", "budget 2%", "budget 5%", "budget 10%", "budget 25%", "budget 50%")
    assert table.rows[0][3] == "l1 (thrifty 4.5)"


def test_the_committed_summary_has_what_the_guide_reads():
    summary = committed()
    table = data_table(summary)
    shown = {name for row in table.rows for name in row[1].split(", ")}
    assert shown == set(summary["problems"])
    assert len(budget_table(summary).rows) == len(table.rows)
