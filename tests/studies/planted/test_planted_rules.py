"""The tables of recovered rules, and what the product finds in a few planted logs."""

from studies.planted.keeping import result_of
from studies.planted.planted_rules import rows_of_kinds, rows_of_logs

FACTS = {
    "kind": "limit",
    "counts": "running jobs",
    "scope": "user",
    "number": 1,
    "engine": "orders",
    "planted": ["FCFS, easy", "a"],
    "identified": ["b"],
    "seconds": 1.5,
}
RIGHT = FACTS | {"has_kind": True, "has_value": True, "surplus": []}
WRONG = FACTS | {"has_kind": True, "has_value": False, "surplus": ["hours"]}
FALSE = FACTS | {"kind": "none", "counts": "", "scope": "", "has_kind": False, "has_value": False, "surplus": ["hours"]}


def test_rows() -> None:
    rows = rows_of_kinds([RIGHT, WRONG, FALSE])
    assert rows[0] == ["limit", "running jobs", "user", "2", "100 %", "50 %", "1 (50 %)"]
    assert [row[0] for row in rows] == ["limit", "all with a rule", "no rule"] and rows[2][3:] == [
        "1",
        "",
        "",
        "1 (100 %)",
    ]
    assert rows_of_logs([WRONG])[0] == ["1", "orders", "FCFS, easy; a", "b", "yes", "no", "hours", "1.5"]


def test_the_product_finds_a_planted_limit() -> None:
    facts = result_of(45, 0, 200).facts
    assert facts["has_kind"] and facts["has_value"] and facts["identified"]
