"""Both assets of DD-PPO on two small logs, made once for the tests of both."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from assets.common.partitions import SOURCES
from assets.policies.population import MembersConfig, PopulationPPOConfig
from assets.policies.workers import WorkersConfig
from papers.ddppo import ddppo as training
from papers.ddppo import ddppo_transfer as judging
from papers.ddppo.ddppo import DDPPOConfig
from tests.assets.policies.one_worker import one_worker_here
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

CONFIG = DDPPOConfig(
    goals=["bsld", "utilisation"],
    seeds=[3],
    jobs=600,
    window_jobs=32,
    workers=WorkersConfig(backlog_policy="FCFS"),
    population=MembersConfig(members=2, interval=1, replaced=1),
    ppo=PopulationPPOConfig(epochs=2, trajectories=8),
)


def made(folder: Path) -> Warehouse:
    """Both assets made, with one worker in this process: tests/models/scheduling/workers starts real ones."""
    warehouse = warehouse_of(folder, busy_log(700, seed=3))
    warehouse_of(folder, busy_log(300, seed=4), "other")

    with pytest.MonkeyPatch.context() as patch, dg.instance_for_test() as instance:
        patch.setenv("TRACEHOUSE_HOME", str(folder))
        one_worker_here(patch)
        patch.setattr(judging, "PUBLISHED_JOBS", 300)
        patch.setattr(judging, "PUBLISHED_WINDOWS", (0, 60, 120, 180, 240))
        patch.setattr(judging, "PUBLISHED_LENGTH", 50)
        assert SOURCES.name is not None
        instance.add_dynamic_partitions(SOURCES.name, ["mine", "other"])
        for asset, source, config in (
            (training.ddppo, "mine", CONFIG),
            (judging.ddppo_transfer, "other", judging.DDPPOTransferConfig(trained_on="mine")),
        ):
            assert dg.materialize(
                [asset],
                instance=instance,
                partition_key=source,
                resources={"warehouse": warehouse},
                run_config=dg.RunConfig({"__".join(asset.key.path): config}),
            ).success
    return warehouse
