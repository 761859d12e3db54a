"""The table of trained policies that were confirmed is counted from the stored tables."""

from __future__ import annotations

from studies.publishing.confirmed import confirmed_table, counted_trainings
from studies.publishing.results import PublishedTable, stored

HEADING = ["| policy | wait |", "| --- | --- |"]


def test_a_training_with_the_row_of_its_rule_was_not_confirmed() -> None:
    agents = [
        "| `FCFS, pick`, requested | 5 |",
        "| `ppo, FCFS, pick`, requested, seed 1 and 3 | 5 |",
        "| `ppo, FCFS, pick`, requested, seed 2 | 4 |",
        "| `ppo, FCFS, other`, requested, seed 2 | 1 |",
    ]
    assert counted_trainings(PublishedTable("", "", {}, HEADING + agents), "pick") == (1, 3)
    networks = ["| SAF, predicted | 5 |", "| evolution, predicted | 5 |", "| imitation, predicted, seed 2 | 6 |"]
    assert counted_trainings(PublishedTable("", "", {}, HEADING + networks), "") == (1, 4)


def test_the_stored_table_is_that_of_the_stored_tables() -> None:
    tables = stored()
    table = confirmed_table(tables)
    assert "\n".join(tables["confirmed"].lines) == table
    assert "| all | 0/54 | 2/36 | 0/36 | 2/36 | 3/36 | 0/36 |" in table
