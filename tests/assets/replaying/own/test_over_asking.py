"""What was asked for in vain, and what it costs the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from assets.common.progress import progress
from assets.common.storage import open_warehouse, pseudonym_key
from assets.replaying.own.over_asking import WASTED, better_requests, over_asking
from assets.replaying.running.run import ReplayRun, replay_run
from tests.assets.replaying.own.homes import CLUSTER, COLUMNS, SUBMITTED, own_home
from tests.pipelines.command_line import succeed
from tests.tiny import busy_log, warehouse_of
from tracehouse.cli.commands.who import waste_text
from traces.common.pseudonyms import pseudonym_of

H = 3600
# on one node of four CPUs: ben asks for ten hours and needs one, so he does not fit before cat's wide job, and dan waits behind him
PLANTED = [
    ("ann", 0, 0, 3 * H, 2, "03:00:00", "1000K", "06:00:00"),
    ("cat", 60, 3 * H, 4 * H, 4, "01:00:00", "", ""),
    ("ben", 120, 4 * H, 5 * H, 2, "10:00:00", "500K", "00:30:00"),
    ("dan", 180, 5 * H, 6 * H, 4, "01:00:00", "", ""),
]


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["|".join((*COLUMNS, "MaxRSS", "TotalCPU"))]
    for number, (user, submit, start, end, cpus, limit, memory, cpu) in enumerate(PLANTED, 1):
        times = "|".join(str(SUBMITTED + second) for second in (submit, start, end))
        held = f"cpu={cpus},mem=100M,node=1"
        lines.append(
            f"{number}|{user}|{'physics' if user < 'c' else 'maths'}|main|{times}|{limit}|COMPLETED|1|{cpus}|{cpus}|100M|{held}|{held}|n1"
            f"||{cpu}"
        )
        if memory:
            lines.append(f"{number}.batch||||{times}||COMPLETED|1|{cpus}||||{held}|n1|{memory}|{cpu}")
    home = tmp_path / "home"
    with monkeypatch.context() as patch:
        patch.setattr("tests.assets.replaying.own.homes.log_of", lambda jobs: "\n".join(lines) + "\n")
        own_home(home, [], monkeypatch, CLUSTER.replace("n[1-2]", "n1"))
    monkeypatch.setenv("TRACEHOUSE_HOME", str(home))
    monkeypatch.setenv("TRACEHOUSE_SOURCES", "")


def test_planted_waste_is_found_and_what_it_costs_the_others(planted: None) -> None:
    result = over_asking(open_warehouse(), "mine", copies=2)
    whole = result.unused["all"].row(0, named=True)
    name_of = {
        pseudonym_of(pseudonym_key(open_warehouse()), "user", name): name for name in ("ann", "ben", "cat", "dan")
    }
    users = {name_of[row["value"]]: row for row in result.unused["user"].iter_rows(named=True)}
    assert users["ben"]["time_core_hours"] == 2 * 9 and next(iter(users)) == "ben"
    assert users["ben"]["idle_core_hours"] == 1.5 and users["ann"]["idle_core_hours"] == 0
    assert users["cat"]["memory_gib_hours"] is None and whole["jobs_without_memory"] == whole["jobs_without_cpu"] == 2
    assert users["ann"]["memory_gib_hours"] == pytest.approx(3 * (100 * 1024 - 1000) / 1048576)
    for kind in ("user", "account"):
        table = result.unused[kind]
        for name in (*WASTED, *(f"of_{name}" for name in WASTED)):
            assert table[name].sum() == pytest.approx(whole[name] or 0)
        assert table["jobs"].sum() == whole["jobs"] == 4
    waits = {name_of[row["value"]]: row for row in result.waits["user"].iter_rows(named=True)}
    (everybody,) = result.waits["all"].to_dicts()
    assert (
        result.saved[0] <= everybody["asked"] - everybody["right"] + 1e-9
        and everybody["asked"] - everybody["right"] <= result.saved[1] + 1e-9
    )
    assert result.saved[0] > 0
    assert waits["ben"]["asked"] > 3.8 and waits["ben"]["right"] < 0.1 and waits["ben"]["better"] > 3.8
    of_users = result.culprits.filter(kind="user")
    costs = {name_of[row["value"]]: row for row in of_users.iter_rows(named=True)}
    assert costs["ben"]["others_hours"] == pytest.approx(1, abs=0.1)
    assert costs["ben"]["low"] <= costs["ben"]["others_hours"] <= costs["ben"]["high"]
    assert costs["cat"]["others_hours"] == 0
    assert "Slurm" in result.basis


def test_the_command_prints_the_tables(planted: None) -> None:
    text = succeed("who", "mine", "--waste", "--top", "2")
    for words in (
        "4 jobs ran",
        "2 jobs count as unknown",
        "not used by account",
        "and 2 more",
        "20 % better, h",
        "requests of one user",
    ):
        assert words in text, text


def test_the_time_left_is_not_estimated_by_a_replay_that_compiles(
    planted: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the first of 60 replays it said 27 minutes, and ended after half a one."""
    replayed, steps = [], []

    def watched(items: list[np.ndarray], label: str) -> Iterator[np.ndarray]:
        steps.append((len(replayed), len(items)))
        yield from progress(items, label)

    def counted(*given: Any, **named: Any) -> ReplayRun:
        replayed.append(given)
        return replay_run(*given, **named)

    monkeypatch.setattr("assets.replaying.own.over_asking.progress", watched)
    monkeypatch.setattr("assets.replaying.own.over_asking.replay_run", counted)
    over_asking(open_warehouse(), "mine", copies=2)
    assert steps == [(1, len(replayed) - 1)]


def test_better_requests_never_pass_what_was_asked_or_end_before_the_job() -> None:
    rows = pl.DataFrame({"requested_walltime_s": [600, 600, 100, -1, 90], "runtime_s": [100, 100, 300, 50, 80]})
    chosen = np.array([True, False, True, True, True])
    assert better_requests(rows, chosen, 1.0)["requested_walltime_s"].to_list() == [120, 600, 100, -1, 90]
    assert better_requests(rows, chosen, 0.2)["requested_walltime_s"].to_list() == [540, 600, 100, -1, 90]


def test_without_a_cluster_the_base_scheduler_replays(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(200))
    result = over_asking(warehouse, "mine", most=1, copies=1)
    assert "easy" in result.basis and result.waits["all"]["jobs"].to_list() == [200]
    assert result.unused["all"]["jobs_without_memory"].to_list() == [200]
    text = waste_text("mine", result, ("user", "account"), 2)
    assert "the log has no accounts" in text and "by account" not in text, "a table of one row, unknown"
    assert "mean waits in 1 replay each" in text and " -0 " not in text
