"""A run of experiments/ddppo that is terminated in the UI while workers train: no process is left, and the next run goes on."""

import contextlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg
import numpy as np
import pytest
from dagster._core.test_utils import create_test_daemon_workspace_context
from dagster._core.workspace.context import WorkspaceRequestContext
from dagster._core.workspace.load_target import PythonFileTarget
from dagster_graphql.test.utils import execute_dagster_graphql

from assets.common.partitions import SOURCES
from assets.common.storage import read_model
from assets.policies.population import MembersConfig, PopulationPPOConfig
from assets.policies.workers import WorkersConfig
from models.scheduling.learning.evolution import flatten
from models.scheduling.policy_file import policy_from_bytes
from models.scheduling.workers.decentralised_ppo import Session, state_at_first
from models.scheduling.workers.groups import LoneWorker
from models.scheduling.workers.launching import read_progress
from models.scheduling.workers.population import train_population
from models.scheduling.workers.task_folder import CHECKPOINT, read_task
from papers.ddppo.ddppo import DDPPOConfig, ddppo
from tests.assets.policies.one_worker import one_worker_here
from tests.models.scheduling.workers.processes import processes_of, wait_until
from tests.papers.experiment_runs import rows
from tests.tiny import busy_log, warehouse_of
from warehouse import Warehouse

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")
LOCATION = """
from pathlib import Path
import dagster as dg
from papers.ddppo.ddppo import ddppo
from warehouse import Warehouse
defs = dg.Definitions(
    [ddppo],
    jobs=[dg.define_asset_job("ddppo", [ddppo])],
    resources={"warehouse": Warehouse(Path(__file__).with_name("w.duckdb"))},
    executor=dg.in_process_executor,
)
"""
"""A code location for Dagster's server of code. That of tracehouse has the same executor, and takes longer to load."""
CONFIG = DDPPOConfig(
    goals=["bsld"],
    variants=["population"],
    seeds=[3],
    window_jobs=32,
    workers=WorkersConfig(workers=2),
    population=MembersConfig(members=2, interval=1, replaced=1),
    ppo=PopulationPPOConfig(epochs=24, trajectories=48),
)
AT_ONCE = {"module": "dagster._core.run_coordinator", "class": "DefaultRunCoordinator"}
"""Else runs wait for Dagster's daemon."""
LAUNCH = """mutation($run: ExecutionParams!) { launchRun(executionParams: $run) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
TERMINATE = "mutation($id: String!) { terminateRun(runId: $id) { __typename ... on PythonError { message } } }"
"""What the buttons of the UI ask for."""


@contextlib.contextmanager
def ui(folder: Path, instance: dg.DagsterInstance) -> Iterator[WorkspaceRequestContext]:
    (folder / "location.py").write_text(LOCATION)
    target = PythonFileTarget(str(folder / "location.py"), None, str(folder), "here")
    with create_test_daemon_workspace_context(target, instance) as workspace:
        yield workspace.create_request_context()


def launched(workspace: WorkspaceRequestContext) -> str:
    """The run that the launchpad has begun."""
    selector = {"repositoryLocationName": "here", "repositoryName": "__repository__", "jobName": "ddppo"}
    config = dg.RunConfig({"experiments__ddppo": CONFIG}).to_config_dict()
    tags = {"tags": [{"key": "dagster/partition", "value": "mine"}]}
    run = {"selector": selector, "runConfigData": json.dumps(config), "executionMetadata": tags}
    answer: Any = execute_dagster_graphql(workspace, LAUNCH, {"run": run}).data["launchRun"]
    return str(answer["run"]["runId"])


def test_no_process_is_left_and_the_next_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path))
    warehouse = warehouse_of(tmp_path, busy_log(700, seed=3))
    folder = tmp_path / "warehouse" / "data" / "models" / "mine" / "ddppo-bsld-population-3.checkpoint.workers"
    with dg.instance_for_test({"run_coordinator": AT_ONCE}, temp_dir=str(tmp_path)) as instance:
        assert SOURCES.name is not None
        instance.add_dynamic_partitions(SOURCES.name, ["mine"])
        with ui(tmp_path, instance) as workspace:
            run = launched(workspace)
            wait_until(lambda: folder.exists() and bool(read_progress(folder)), 60)
            assert sorted(processes_of(folder).values(), key=str) == [0, 1, None]
            answer: Any = execute_dagster_graphql(workspace, TERMINATE, {"id": run}).data["terminateRun"]
            assert answer == {"__typename": "TerminateRunSuccess"}
            wait_until(lambda: instance.get_run_by_id(run).status == dg.DagsterRunStatus.CANCELED, 30)  # type: ignore[union-attr]
        assert processes_of(folder) == {}
        assert any("epoch 1: " in line.user_message for line in instance.all_logs(run))
        reached = len(read_progress(folder))
        assert 1 <= reached < CONFIG.ppo.epochs and (folder / CHECKPOINT).exists()
        task = read_task(folder)
        state = state_at_first(LoneWorker(), folder / CHECKPOINT, task.fingerprint())
        assert state is not None and len(state["rows"]) >= 2 * reached
        undisturbed = train_population(LoneWorker(), task)
        epochs = epochs_of_next_run(warehouse, instance, monkeypatch)
    assert epochs == 2 * CONFIG.ppo.epochs - len(state["rows"])
    (row,) = rows(warehouse, "policies").iter_rows(named=True)
    ours = policy_from_bytes(read_model(row["file"], row["sha256"]))[0]
    assert np.array_equal(flatten(ours), flatten(undisturbed.weights))
    assert not folder.exists()


def epochs_of_next_run(warehouse: Warehouse, instance: dg.DagsterInstance, patch: pytest.MonkeyPatch) -> int:
    """How many epochs of members are left to it. It has one worker, in this process, which learns what two learn."""
    run_epoch, epochs = Session.run_epoch, []

    def counted(*arguments: Any, **options: Any) -> Any:
        epochs.append(arguments)
        return run_epoch(*arguments, **options)

    one_worker_here(patch)
    patch.setattr(Session, "run_epoch", counted)
    assert dg.materialize(
        [ddppo],
        instance=instance,
        partition_key="mine",
        resources={"warehouse": warehouse},
        run_config=dg.RunConfig({"experiments__ddppo": CONFIG}),
    ).success
    return len(epochs)
