"""Commands of workers run beside the run that asks for them, one thread each, or where the configuration has them.

A job of a real Ray cluster is in tests/models/scheduling/workers/test_ray_launcher_cluster.py.
"""

import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dagster as dg
import pytest

from assets.policies import workers as module
from assets.policies.workers import WorkersConfig, checkpoint_file, on_workers, through_pipes
from models.scheduling.options import WorkerOptions
from models.scheduling.workers.launching import LOG, command_of
from models.scheduling.workers.task_folder import HEARTBEAT

POD = {
    "containers": [{"image": "tracehouse:1", "volumeMounts": [{"name": "shared", "mountPath": "/shared"}]}],
    "volumes": [{"name": "shared", "persistentVolumeClaim": {"claimName": "shared"}}],
}

REPORT = """
import os, sys
from dagster_pipes import open_dagster_pipes
with open_dagster_pipes() as pipes:
    pipes.log.info("threads " + os.environ["OMP_NUM_THREADS"])
    open(sys.argv[1], "w").write(pipes.run_id)
"""


def test_a_command_reports_to_its_run_and_a_failing_one_fails_it(tmp_path: Path) -> None:
    @dg.op
    def ask(context: dg.OpExecutionContext) -> None:
        run_command = through_pipes(context)  # type: ignore[arg-type]
        run_command([sys.executable, "-c", REPORT, str(tmp_path / "run")], tmp_path, lambda: None)
        run_command([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, lambda: None)

    @dg.job
    def asking() -> None:
        ask()

    with dg.instance_for_test() as instance, pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        result = asking.execute_in_process(instance=instance, raise_on_error=False)
        failure = result.failure_data_for_node("ask")
        assert not result.success and failure is not None and "ended with 3" in str(failure.error)
        assert (tmp_path / "run").read_text() == result.run_id


def run_op(work: Callable[[Any], None]) -> dg.ExecuteInProcessResult:
    """A run whose only step does this."""

    @dg.op
    def step(context: dg.OpExecutionContext) -> None:
        work(context)

    @dg.job
    def steps() -> None:
        step()

    with dg.instance_for_test() as instance:
        return steps.execute_in_process(instance=instance, raise_on_error=False)


class Cluster:
    """Kubernetes' interface: what it is asked for, and a pod that ends as it is made to."""

    def __init__(self, patch: pytest.MonkeyPatch, end: Callable[[], None]) -> None:
        self.created: list[Any] = []
        self.deleted: list[tuple[str, str]] = []
        self.core_api, self.wait_for_pod = self, lambda *_, **__: end()
        self.create_namespaced_pod = lambda namespace, pod: self.created.append((namespace, pod))
        self.delete_namespaced_pod = lambda name, namespace: self.deleted.append((name, namespace))
        patch.setattr("dagster_k8s.PipesK8sClient._load_k8s_config", lambda client: None)
        patch.setattr("dagster_k8s.pipes.DagsterKubernetesClient.production_client", lambda: self)


def on_pod(
    folder: Path, end: Callable[[], None], patch: pytest.MonkeyPatch
) -> tuple[Cluster, dg.ExecuteInProcessResult]:
    cluster = Cluster(patch, end)
    config = WorkersConfig(workers=8, runs_on="kubernetes", pod=POD, namespace="learning")

    def work(context: Any) -> None:
        run_command = on_workers(context, config).run_command
        assert run_command is not None
        run_command(command_of(folder, WorkerOptions(workers=8)), folder, lambda: None)

    return cluster, run_op(work)


@pytest.mark.skipif(importlib.util.find_spec("dagster_k8s") is None, reason="needs the extra cluster")
def test_a_pod_has_command_mounts_and_environment_and_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster, result = on_pod(tmp_path, lambda: None, monkeypatch)
    ((namespace, pod),) = cluster.created
    assert result.success and namespace == "learning" and cluster.deleted == [(pod.metadata.name, "learning")]
    (container,) = pod.spec.containers
    shell, option, line = container.command
    assert (shell, option) == ("sh", "-c") and str(sys.executable) not in line
    assert line.startswith("exec python -m torch.distributed.run --standalone")
    assert "--nproc-per-node=8" in line and f" -m pipelines.worker {tmp_path} " in line
    assert line.endswith(f" >> {tmp_path / LOG} 2>&1")
    environment = {each.name: each.value for each in container.env}
    assert environment["OMP_NUM_THREADS"] == "1" and {"DAGSTER_PIPES_CONTEXT", "DAGSTER_PIPES_MESSAGES"} < set(
        environment
    )
    assert (container.image, container.volume_mounts[0].mount_path) == ("tracehouse:1", "/shared")
    assert pod.spec.volumes[0].persistent_volume_claim.claim_name == "shared"
    assert pod.spec.restart_policy == "Never"
    assert not (tmp_path / HEARTBEAT).exists()  # of a run that has ended
    assert "command" not in POD["containers"][0]


@pytest.mark.skipif(importlib.util.find_spec("dagster_k8s") is None, reason="needs the extra cluster")
def test_a_pod_that_fails_or_whose_run_is_terminated_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(says: str, wrote: str = "") -> Callable[[], None]:
        def end() -> None:
            assert (tmp_path / HEARTBEAT).exists()
            (tmp_path / LOG).write_text(wrote)
            raise RuntimeError(says)

        return end

    def terminate() -> None:
        raise KeyboardInterrupt

    for end, said in (
        (fail("Failed to pull image"), "Give a folder as `shared` .* Failed to pull image"),
        (fail("exit code 1", "worker 3: no answer; x"), r"workers were lost \(worker 3: no answer\)"),
        (terminate, "KeyboardInterrupt"),
    ):
        cluster, result = on_pod(tmp_path, end, monkeypatch)
        failure = result.failure_data_for_node("step")
        assert not result.success and failure is not None and len(cluster.deleted) == 1
        assert pytest.raises(AssertionError, match=said).matches(AssertionError(" ".join(str(failure.error).split())))


def test_what_a_place_needs_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(module.DASHBOARD, raising=False)
    context: Any = None
    with monkeypatch.context() as patch:
        patch.setattr(importlib.util, "find_spec", lambda name: None if name.startswith("dagster_") else 1)
        for place, package in (("ray", "dagster_ray"), ("kubernetes", "dagster_k8s")):
            with pytest.raises(ValueError, match=rf"needs {package}.*pip install 'tracehouse\[cluster\]'"):
                on_workers(context, WorkersConfig(runs_on=place))
        assert on_workers(context, WorkersConfig()).workers == WorkerOptions()
        patch.setattr(importlib.util, "find_spec", lambda name: 1)
        with pytest.raises(ValueError, match=r"needs ray_address.*or RAY_API_SERVER_ADDRESS"):
            on_workers(context, WorkersConfig(runs_on="ray"))
        with pytest.raises(ValueError, match="needs pod, with a container"):
            on_workers(context, WorkersConfig(runs_on="kubernetes"))
        patch.setenv(module.DASHBOARD, "http://head:8265")
        assert on_workers(context, WorkersConfig(runs_on="ray")).workers.launcher == "ray"
    with pytest.raises(ValueError, match="should match pattern"):
        WorkersConfig(runs_on="slurm")


def test_a_shared_folder_is_where_workers_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    own = tmp_path / "home" / "warehouse" / "data" / "models" / "mine" / "p.checkpoint"
    assert checkpoint_file(WorkersConfig(), "mine", "p") == own
    shared = checkpoint_file(WorkersConfig(shared=str(tmp_path)), "mine", "p")
    assert shared == tmp_path / "models" / "mine" / "p.checkpoint"
    for wrong in ("models", str(tmp_path / "none")):
        with pytest.raises(ValueError, match="not the whole path of a folder"):
            checkpoint_file(WorkersConfig(shared=wrong), "mine", "p")


@pytest.mark.skipif(importlib.util.find_spec("dagster_ray") is None, reason="needs the extra cluster")
def test_a_job_of_ray_ends_with_its_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[Any] = []
    ended = SimpleNamespace(is_terminal=lambda: len(calls) > 3)
    jobs = SimpleNamespace(stop_job=calls.append, get_job_status=lambda name: calls.append(name) or ended)
    monkeypatch.setattr("dagster_ray.PipesRayJobClient.client", jobs)

    def interrupted(self: Any, context: Any, submit_job_params: Any) -> None:
        calls.append(submit_job_params)
        raise KeyboardInterrupt

    def lost(name: str) -> None:
        raise ConnectionError

    monkeypatch.setattr("dagster_ray.PipesRayJobClient.run", interrupted)
    config = WorkersConfig(workers=2, runs_on="ray", ray_address="http://head:8265")
    for each in (jobs, SimpleNamespace(stop_job=lost)):
        calls.clear()
        monkeypatch.setattr("dagster_ray.PipesRayJobClient.client", each)
        run_command: Any = on_workers(None, config).run_command  # type: ignore[arg-type]
        with pytest.raises(KeyboardInterrupt):
            run_command(command_of(tmp_path, WorkerOptions(launcher="ray")), tmp_path, lambda: None)
        asked, *names = calls
        assert asked["entrypoint"].startswith(f"exec python -m pipelines.worker {tmp_path} ")
        assert json.dumps(asked["runtime_env"]).count("OMP_NUM_THREADS") == 1
        assert set(names) <= {asked["submission_id"]} and len(names) == (3 if each is jobs else 0)
        assert not (tmp_path / HEARTBEAT).exists()
