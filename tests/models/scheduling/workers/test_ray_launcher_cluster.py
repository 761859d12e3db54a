"""A running Ray cluster of this machine, with a token: workers as a job that Dagster submits, and by RAY_ADDRESS."""

import importlib.util
import os
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import pytest

from assets.policies.workers import WorkersConfig, on_workers
from models.scheduling.learning.training import TrainedPolicy
from models.scheduling.workers.decentralised_ppo import WorkerTask
from models.scheduling.workers.ray_launcher import SETTINGS
from tests.models.scheduling.workers.processes import processes_of, same, wait_until

pytestmark = pytest.mark.skipif(importlib.util.find_spec("dagster_ray") is None, reason="needs the extra cluster")
ROOT = Path(__file__).parents[4]


@dataclass(frozen=True)
class Cluster:
    address: str
    dashboard: str


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        free = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in free:
            each.bind(("localhost", 0))
        return [each.getsockname()[1] for each in free]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    port, dashboard = free_ports(2)
    address = Cluster(f"127.0.0.1:{port}", f"http://127.0.0.1:{dashboard}")
    with (
        tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        of_all = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0123456789abcdef" * 4, "HOME": f"{folder}/home"}
        for name, value in (SETTINGS | of_all | {"PYTHONPATH": str(ROOT)}).items():
            patch.setenv(name, value)
        patch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
        sizes = ["--num-cpus=2", "--object-store-memory=100000000", "--min-worker-port=0", "--max-worker-port=0"]
        places = [
            f"--port={port}",
            "--dashboard-host=127.0.0.1",
            f"--dashboard-port={dashboard}",
            f"--temp-dir={folder}",
        ]
        head = subprocess.Popen(
            ["ray", "start", "--head", "--block", "--disable-usage-stats", *sizes, *places],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            wait_until(lambda: answers(dashboard), 40)
            yield address
        finally:
            for process in [*descendants(head.pid), head.pid]:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
            head.wait()


def descendants(process: int) -> list[int]:
    """Those of a process, itself not. Ray's have names of their own, and sessions."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [each for child in map(int, children) for each in (child, *descendants(child))]


def answers(port: int) -> bool:
    with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
    return False


def test_a_job_of_the_cluster_learns_what_one_learns_and_reports_to_its_run(
    cluster: Cluster, task: WorkerTask, alone: TrainedPolicy, tmp_path: Path
) -> None:
    learned: list[TrainedPolicy] = []

    @dg.op
    def train(context: dg.OpExecutionContext) -> None:
        config = WorkersConfig(workers=2, runs_on="ray", ray_address=cluster.dashboard)
        by_ppo = on_workers(context, config)  # type: ignore[arg-type]
        checkpoint = tmp_path / "policy"
        learned.append(by_ppo(task.arena, task.lessons, task.options, task.seed, checkpoint=checkpoint))

    @dg.job
    def training() -> None:
        train()

    with dg.instance_for_test() as instance:
        result = training.execute_in_process(instance=instance)
        said = [entry.user_message for entry in instance.all_logs(result.run_id)]
    assert same(learned[0], alone)
    for report in alone.curve:
        assert any(f"epoch {report.epoch}: {report.decisions} decisions" in line for line in said)
    wait_until(lambda: processes_of(tmp_path) == {}, 10)
