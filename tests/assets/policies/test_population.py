"""A population is trained, and its lineage is in the warehouse."""

from __future__ import annotations

import json
from pathlib import Path

import dagster as dg
import polars as pl
import pytest

from assets.common.partitions import SOURCES
from assets.common.trace import load_trace
from assets.policies import population as module
from assets.policies.population import (
    MembersConfig,
    PopulationConfig,
    PopulationPPOConfig,
    lineage_rows,
    population,
    stop_rows,
)
from assets.policies.training import PolicyTask, TrainingSetup, arena_of_task
from models.scheduling.arena import Windows
from models.scheduling.learning.training import Lessons
from tests.assets.policies.one_worker import one_worker_here
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

TASK = PolicyTask(estimates="requested")
CONFIG = PopulationConfig(
    goal="bsld",
    estimates="requested",
    seed=4,
    cautious=False,
    population=MembersConfig(members=2, interval=1, replaced=1),
    ppo=PopulationPPOConfig(epochs=2, trajectories=32),
)


def happened(warehouse: Warehouse) -> str:
    """What a run of the asset says: only a real run has a place where workers can report to."""
    with dg.instance_for_test() as instance:
        assert SOURCES.name is not None
        instance.add_dynamic_partitions(SOURCES.name, ["mine"])
        result = dg.materialize(
            [population],
            instance=instance,
            partition_key="mine",
            resources={"warehouse": warehouse},
            run_config=dg.RunConfig({"policies__population": CONFIG}),
        )
        (event,) = result.asset_materializations_for_node("policies__population")
        return str(event.metadata["happened"].value)


def test_a_population_and_what_is_kept_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(700, seed=3))
    trace = load_trace(warehouse, "mine")
    windows = Windows.spread(0, 300, 48, 100)
    lessons = Lessons(windows, windows, Windows.blocks(300, 360), Windows.blocks(360, 420), after=48)
    setup = TrainingSetup(trace, TASK, arena_of_task(trace, TASK), lessons, Windows.blocks(360, 420), 420)
    monkeypatch.setattr(module, "filtered_setup", lambda *_: setup)
    one_worker_here(monkeypatch)
    assert happened(warehouse) == "the first policy of this source is champion"
    with warehouse.read() as connection:
        rows = connection.sql("FROM policies.population ORDER BY generation, member").pl()
        ancestors = connection.sql(
            "SELECT generation, member, ancestor_generation, ancestor FROM policies.ancestors ORDER BY ALL"
        ).pl()
        policy = connection.sql("FROM policies.learned_policies").pl().row(0, named=True)
    assert rows.select("generation", "member").rows() == [(1, 0), (1, 1), (2, 0), (2, 1)]
    assert rows["chosen"].sum() == 1 and rows.filter("chosen")["cost"].item() == rows["cost"].min()
    first = rows.filter(pl.col("generation") == 1)["cost"]
    best = int(first.arg_min())  # type: ignore[arg-type]
    assert rows["parent"].to_list() == [None, None, best, best]
    assert ancestors.filter(pl.col("generation") == 2).rows() == [
        *((2, 0, 1, best), (2, 0, 2, 0)),
        *((2, 1, 1, best), (2, 1, 2, 1)),
    ]
    assert (policy["seed"], policy["champion"]) == (4, True)
    assert json.loads(policy["parameters"])["lineage"] == rows.drop("source", "chosen").to_dicts()


def test_no_member_is_chosen_where_the_start_was_kept() -> None:
    parameters = {"lineage": [{"member": k, "parent": None, "cost": cost} for k, cost in enumerate([3.0, 1.0, 1.0])]}
    assert lineage_rows("mine", parameters, learned=True)["chosen"].to_list() == [False, True, False]
    assert lineage_rows("mine", parameters, learned=False)["chosen"].to_list() == [False, False, False]


def test_stops_of_workers_are_rows() -> None:
    rows = stop_rows("mine", {"2 0 7": [3, 4]})
    assert rows.rows() == [("mine", 2, 0, 7, 0, 3), ("mine", 2, 0, 7, 1, 4)]
    assert stop_rows("mine", {}).height == 0
