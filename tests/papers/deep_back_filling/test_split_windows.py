"""The tables of Deep Back-Filling's figures, on a trace small enough for a test."""

from __future__ import annotations

from papers.deep_back_filling.protocol import RIVALS, window_splits
from papers.deep_back_filling.split_trial import SplitTrial
from papers.deep_back_filling.split_windows import continuous_table, table_of
from papers.deep_back_filling.study import SHOWN_METRICS


def cells(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "---" not in line]


def test_every_window_has_its_rule_and_its_agents(trial: SplitTrial) -> None:
    header, *rows = cells(table_of(trial.rivals() | trial.agents()))
    assert header[1:] == list(SHOWN_METRICS)
    windows = [f"{front}-{back}" for slots in (4, 6) for front, back in window_splits(slots).values()]
    assert [row[0] for row in rows] == [*RIVALS, *(f"{w}, {who}" for w in windows for who in ("rule", "agent"))]
    assert " to " in rows[-1][header.index("wait arrived, s")]


def test_agents_are_judged_beside_their_rule_in_one_replay(trial: SplitTrial) -> None:
    header, *rows = cells(continuous_table(trial))
    assert len(rows) == 8 and {len(row) for row in rows} == {len(header)}
    counts = [sum(int(part.split()[0]) for part in row[-1].split(", ")) for row in rows]
    assert counts == [2] * 8
