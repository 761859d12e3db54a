"""Pictures of decentralised PPO, from rows of the warehouse."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from papers.ddppo.plots import write_ddppo_pictures
from tests.tiny import busy_log, warehouse_of
from warehouse import replace_partition


def test_every_log_that_was_learned_from_or_judged_has_its_pictures(tmp_path: Path) -> None:
    warehouse = warehouse_of(tmp_path, busy_log(60))
    warehouse_of(tmp_path, busy_log(60, seed=1), "lemhi")  # nothing was learned from it
    curve = {
        "experiment": "ddppo, bsld",
        "variant": "ppo",
        "seed": 1,
        "phase": "all",
        "decisions": 9,
        "sampled_cost": 2.0,
    }
    cost = {
        "experiment": "ddppo", "rules": "standard", "backfill": "easy", "estimates": "requested", "trained_on": None, "seed": None,
        "window_jobs": 10, "cost": 2.0, "policy": "SAF",
    }  # fmt: skip
    rows = [
        cost | {"goal": goal, "window_number": k, "first_position": k} for goal in ("bsld", "wait") for k in range(4)
    ]
    with warehouse.write() as connection:
        curves = pl.DataFrame([curve | {"epoch": epoch, "validation_cost": 1.0} for epoch in (1, 2)])
        replace_partition(connection, "experiments.curves", "mine", curves)
        columns = {"trained_on": pl.Utf8, "seed": pl.Int64}
        replace_partition(connection, "experiments.window_costs", "other", pl.DataFrame(rows, schema_overrides=columns))
    paths = write_ddppo_pictures(warehouse, tmp_path / "images")
    assert [path.name for path in paths] == [
        "ddppo-submissions-lemhi.png",
        "ddppo-submissions-mine.png",
        "ddppo-rewards-mine.png",
        "ddppo-windows-other.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths)
