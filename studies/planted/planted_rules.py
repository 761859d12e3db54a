"""Are hidden rules found in a log? Blind recovery on 200 planted clusters: `python -m studies planted_rules`.

Each log comes from a generated workload under a rule that nobody tells the product. Kind and value of the rule that it identifies are
compared with the planted ones. Rules in logs without any are false. The search was mended on these logs, so 60 more of other seeds are
looked at once. `--kept` prints what a stopped study has so far.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from papers.markdown import markdown
from studies.planted.keeping import KEPT, planted_results
from studies.planted.planting import CLUSTERS, NONE

FRESH_SERIES, FRESH = 2, 60
HEADING = ["planted", "counts", "whose", "logs", "kind found", "value right", "with surplus rules"]


def rows_of_kinds(facts: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row for each kind of rule, and one for all."""
    names = list(dict.fromkeys((each["kind"], each["counts"], each["scope"]) for each in facts))
    rows = [
        [*name, *_counts([each for each in facts if (each["kind"], each["counts"], each["scope"]) == name])]
        for name in names
        if name[0] != NONE
    ]
    for title, some in (
        ("all with a rule", [each for each in facts if each["kind"] != NONE]),
        ("no rule", [each for each in facts if each["kind"] == NONE]),
    ):
        if some:
            rows.append([title, "", "", *_counts(some)])
    return rows


def _counts(facts: Sequence[dict[str, Any]]) -> list[str]:
    is_ruled = facts[0]["kind"] != NONE
    shares = [sum(each[name] for each in facts) / len(facts) for name in ("has_kind", "has_value")]
    surplus = sum(bool(each["surplus"]) for each in facts)
    right = [f"{share:.0%}".replace("%", " %") if is_ruled else "" for share in shares]
    return [str(len(facts)), *right, f"{surplus} ({surplus / len(facts):.0%})".replace("%", " %")]


def rows_of_logs(facts: Sequence[dict[str, Any]]) -> list[list[str]]:
    """A row for each log: what was planted, and what was identified."""
    return [
        [
            str(each["number"]),
            each["engine"],
            "; ".join(each["planted"]),
            "; ".join(each["identified"]),
            "yes" if each["has_kind"] else "no",
            "yes" if each["has_value"] else "no",
            ", ".join(each["surplus"]),
            f"{each['seconds']:.1f}",
        ]
        for each in facts
    ]


def main() -> None:
    """Prints two tables of each series: by kind, and by log."""
    kept_alone = KEPT in sys.argv[1:]
    heading = ["log", "engine", "planted", "identified", "kind", "value", "surplus", "CPU-s"]
    for title, series, count in (("", 0, CLUSTERS), ("fresh ", FRESH_SERIES, FRESH)):
        facts = [result.facts for result in planted_results(series, range(count), count, kept_alone)]
        print(f"\n{title}by kind\n\n" + markdown(HEADING, rows_of_kinds(facts)))
        print(f"\n{title}by log\n\n" + markdown(heading, rows_of_logs(facts)))


if __name__ == "__main__":
    main()
