"""Kept networks judged in one continuous replay."""

from __future__ import annotations

import pytest

from models.judging.judge import Judgement
from papers import steady_state
from papers.archive import ARCHIVE_LOGS, LOGS
from studies.publishing.results import stored


def test_groups_are_the_trainings_that_were_kept() -> None:
    groups = steady_state.learned_groups()
    assert [group.trained_on for group in groups if group.paper == "RLScheduler"] == [
        "Lublin-1", "SDSC-SP2", "HPC2N", "Lublin-2",
    ]  # fmt: skip
    assert all(len(group.rules) == 4 for group in groups if group.paper == "RLScheduler")
    assert all(rule.weights is not None for group in groups for rule in group.rules)


def test_every_log_has_its_table_and_no_row_of_a_paper_dominates_where_nothing_can() -> None:
    tables = {
        name.removeprefix("steady_state, "): table
        for name, table in stored().items()
        if name.startswith("steady_state, ")
    }
    assert set(tables) <= set(LOGS) and set(ARCHIVE_LOGS) <= set(tables)
    for table in tables.values():
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.lines[2:]]
        assert rows[0][0].startswith("random orders") and rows[0][6].endswith("dominate")
        assert {row[0] for row in rows} >= {"SAF", "searched-key", "RLScheduler"}
        assert all(row[7].endswith("%") for row in rows[1:])


def test_several_trainings_share_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ratios:
        bounded_slowdown = wait = p99_wait = max_wait = 0.5

    class Verdict:
        def __init__(self, word: str, share: float) -> None:
            self.word, self.share_as_good, self.ratios = word, share, (Ratios(),)

        def __str__(self) -> str:
            return self.word

    class Judged:
        def __init__(self, word: str, share: float) -> None:
            self.verdict = Verdict(word, share)

    both: list[Judgement] = [Judged("harms", 0.5), Judged("harms", 0.25)]  # type: ignore[list-item]
    assert steady_state.cells_of(both) == ["0.50"] * 4 + ["2 harms", "25% to 50%"]
    assert steady_state.cells_of(both[:1])[4:] == ["harms", "50%"]
