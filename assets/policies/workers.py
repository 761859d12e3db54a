"""Workers that an asset starts: here, as a job of a Ray cluster, or in a pod of Kubernetes. They report to its run, and end with it."""

import importlib.util
import os
import secrets
import shlex
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Literal, get_args

import dagster as dg
from pydantic import Field

from assets.common.storage import artefacts_folder
from assets.policies.config import text_field
from models.scheduling.options import PopulationOptions, WorkerOptions
from models.scheduling.workers.launching import (
    ENVIRONMENT,
    LOG,
    OnWorkers,
    ReportNew,
    RunCommand,
    TrainingStopped,
    lost_workers,
    run_here,
)
from models.scheduling.workers.task_folder import HEARTBEAT

warnings.filterwarnings(
    "ignore", category=dg.PreviewWarning, message=".*expected_writer_count.*"
)  # at every use of Dagster Pipes

Place = Literal["here", "ray", "kubernetes"]
"""here: processes beside the run. ray: a job of a Ray cluster. kubernetes: one pod."""
PACKAGES: dict[str, tuple[str, ...]] = {"ray": ("ray", "dagster_ray"), "kubernetes": ("dagster_k8s",)}
DASHBOARD = "RAY_API_SERVER_ADDRESS"
"""Ray's own variable for where jobs are submitted."""
HEARTBEAT_S = 2.0
JOB_END_S = 15
"""How long a job of Ray may take to end. Ray kills it after 3 s."""


class WorkersConfig(dg.Config, WorkerOptions):
    launcher: str = text_field(WorkerOptions, "launcher")  # type: ignore[assignment]
    runs_on: str = Field(
        default="here",
        pattern=f"^({'|'.join(get_args(Place))})$",
        description="Where workers run. here is beside the run, ray is a job of a Ray cluster, and kubernetes is one pod",
    )
    ray_address: str = Field(
        default="",
        description=f"Ray cluster's dashboard, such as http://head:8265. Default: {DASHBOARD} of the environment",
    )
    pod: dict[str, Any] = Field(
        default={},
        description="PodSpec of Kubernetes, whose first container has an image with tracehouse and the shared folder",
    )
    namespace: str = Field(default="", description="Namespace of the pod. Default: that of the Kubernetes context")
    shared: str = Field(
        default="",
        description="Folder that workers read, which run and cluster have under the same path. Default: the warehouse's",
    )


def on_workers(
    context: dg.AssetExecutionContext, config: WorkersConfig, population: PopulationOptions | None = None
) -> OnWorkers:
    """PPO on workers where the configuration has them. Raises ValueError, with the remedy, for what is missing there."""
    for package in PACKAGES.get(config.runs_on, ()):
        if importlib.util.find_spec(package) is None:
            raise ValueError(
                f"runs_on: {config.runs_on} needs {package}, which is not installed: pip install 'tracehouse[cluster]'"
            )
    options = WorkerOptions(**config.model_dump())
    if config.runs_on == "ray":
        options = options.model_copy(update={"launcher": "ray"})
        return OnWorkers(options, population, run_command=on_ray(context, config.ray_address))
    if config.runs_on == "kubernetes":
        return OnWorkers(options, population, run_command=on_kubernetes(context, config.pod, config.namespace))
    return OnWorkers(options, population, run_command=through_pipes(context))


def checkpoint_file(config: WorkersConfig, source: str, name: str) -> Path:
    """Where a training is continued from, with the folder of its workers beside it. Raises ValueError where `shared` is no folder."""
    if config.shared and not (Path(config.shared).is_absolute() and Path(config.shared).is_dir()):
        raise ValueError(
            f"shared: {config.shared!r} is not the whole path of a folder of this machine: mount it, or make it"
        )
    return (Path(config.shared) if config.shared else artefacts_folder()) / "models" / source / f"{name}.checkpoint"


def through_pipes(context: dg.AssetExecutionContext) -> RunCommand:
    """Runs workers' commands beside the run. Dagster Pipes shows in it what worker 0 reports."""

    def run_command(command: Sequence[str], folder: Path, report_new: ReportNew) -> None:
        injector, reader = dg.PipesTempFileContextInjector(), dg.PipesTempFileMessageReader()
        with dg.open_pipes_session(context, injector, reader) as session:
            run_here(command, folder, report_new, session.get_bootstrap_env_vars())

    return run_command


def on_ray(context: dg.AssetExecutionContext, address: str = "") -> RunCommand:
    """Runs workers' commands as jobs of the Ray cluster with this dashboard. Raises ValueError where there is none."""
    address = address or os.environ.get(DASHBOARD, "")
    if not address:
        raise ValueError(
            f"runs_on: ray needs ray_address, the cluster's dashboard, such as http://head:8265, or {DASHBOARD} in the environment"
        )

    def run_command(command: Sequence[str], folder: Path, report_new: ReportNew) -> None:
        from dagster_ray import PipesRayJobClient

        client = PipesRayJobClient(address, message_reader=_messages_in(folder), forward_termination=False)
        try:
            jobs: Any = client.client
        except (ConnectionError, RuntimeError) as error:
            raise ValueError(f"{address}: no dashboard of a Ray cluster that takes jobs: {error}") from None
        name = f"tracehouse-{secrets.token_hex(8)}"
        with _heartbeat(folder, report_new) as token, _plainly(folder):
            job: Any = {"submission_id": name, "entrypoint": _line(command, folder, token)}
            job |= {"runtime_env": {"env_vars": dict(ENVIRONMENT)}}
            try:
                client.run(context=context, submit_job_params=job)
            except BaseException:
                _stop(jobs, name)
                raise

    return run_command


def on_kubernetes(context: dg.AssetExecutionContext, pod: dict[str, Any], namespace: str = "") -> RunCommand:
    """Runs workers' commands in the first container of a pod, which is removed afterwards. pod: PodSpec of Kubernetes. Raises
    ValueError for one without a container."""
    if not pod.get("containers"):
        raise ValueError(
            "runs_on: kubernetes needs pod, with a container that has an image and mounts the shared folder"
        )

    def run_command(command: Sequence[str], folder: Path, report_new: ReportNew) -> None:
        from dagster_k8s import PipesK8sClient
        from kubernetes.config import ConfigException

        client = PipesK8sClient(env=ENVIRONMENT, message_reader=_messages_in(folder))
        with _heartbeat(folder, report_new) as token, _plainly(folder):
            try:
                client.run(
                    context=context,
                    namespace=namespace or None,
                    base_pod_spec=_with_command(pod, ["sh", "-c", _line(command, folder, token)]),
                    pod_wait_timeout=0,
                )
            except ConfigException as error:
                raise ValueError(f"runs_on: kubernetes has no cluster here: {error}") from None

    return run_command


def _with_command(pod: dict[str, Any], command: list[str]) -> dict[str, Any]:
    first, *others = pod["containers"]
    return pod | {"containers": [{"name": "workers", **first, "command": command}, *others]}


def _line(command: Sequence[str], folder: Path, token: str) -> str:
    """What a shell of the cluster runs: its own Python, and all that it writes goes into the folder."""
    words = ["python" if word == sys.executable else word for word in command]
    return f"exec {shlex.join([*words, token])} >> {shlex.quote(str(folder / LOG))} 2>&1"


def _messages_in(folder: Path) -> dg.PipesFileMessageReader:
    return dg.PipesFileMessageReader(str(folder / "messages.jsonl"))


@contextmanager
def _heartbeat(folder: Path, report_new: ReportNew) -> Iterator[str]:
    """Writes into the folder that the run is alive, until it is not: workers of other machines end then. Gives what the run is named."""
    token, is_over, file = secrets.token_hex(8), threading.Event(), folder / HEARTBEAT
    file.write_text(f"{token} 0")
    (folder / LOG).write_bytes(b"")

    def beat() -> None:
        count = 0
        while not is_over.wait(HEARTBEAT_S):
            count += 1
            with suppress(OSError):  # of a network file system: the next beat may get through
                file.write_text(f"{token} {count}")
            report_new()

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield token
    finally:
        is_over.set()
        thread.join()
        file.unlink(missing_ok=True)


@contextmanager
def _plainly(folder: Path) -> Iterator[None]:
    """Says of a job that has failed what workers said last. Raises TrainingStopped."""
    try:
        yield
    except ValueError:
        raise
    except Exception as error:  # each cluster has its own
        if not (folder / LOG).read_bytes():
            raise TrainingStopped(
                f"the job on the cluster has failed before it wrote to {folder / LOG}. Give a folder as `shared` that the cluster has "
                f"under the same path. The cluster says: {' '.join(str(error).split())}"
            ) from None
        raise lost_workers(folder, str(error).strip().splitlines()[0]) from None


def _stop(jobs: Any, name: str) -> None:
    """Ends a job of Ray, if it runs, and waits for that. Where nobody answers, it ends without a heartbeat."""
    with suppress(RuntimeError, OSError):
        jobs.stop_job(name)
        waiting = threading.Event()
        for _ in range(10 * JOB_END_S):
            if jobs.get_job_status(name).is_terminal():
                return
            waiting.wait(0.1)
