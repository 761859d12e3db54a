"""Starts workers by Ray Train instead of torchrun: on a cluster that Ray runs, or on this machine."""

from __future__ import annotations

import importlib.util
import math
import os
import secrets
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from models.scheduling.options import WorkerOptions

SETTINGS = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_worker_niceness": "0",
}
"""Ray reports to nobody and collects nothing, leaves the working folder as it is, and runs workers as other processes: its own niceness
of 15 starves them on a busy machine."""


def check_ray() -> None:
    """Raises ValueError where Ray is not installed."""
    if importlib.util.find_spec("ray") is None:
        raise ValueError("the launcher ray needs Ray, which is not installed: pip install 'tracehouse[cluster]'")


def run_on_ray(folder: Path, options: WorkerOptions, work: Callable[[Path], None]) -> None:
    """Runs `work(folder)` in workers of Ray Train, one CPU each, and waits for them.

    It connects to the cluster in the environment variable RAY_ADDRESS, which must see the folder. Without that it starts a cluster on
    this machine, with a token of its own, and shuts it down again. Call it from a process that does nothing else: Ray changes how it
    answers signals. Raises ValueError where there is no such cluster, and ray.train.TrainingFailedError where workers are lost more often
    than they may start again.
    """
    os.environ.update({name: value for name, value in SETTINGS.items() if name not in os.environ})
    address = os.environ.get("RAY_ADDRESS", "local")
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as session:
        if address == "local":
            os.environ.update(RAY_AUTH_MODE="token", RAY_AUTH_TOKEN=secrets.token_hex(32))
            of_cluster: dict[str, Any] = {"num_cpus": options.workers, "include_dashboard": False, "_temp_dir": session}
        else:
            of_cluster = {}
        import ray  # it reads the environment once

        try:
            ray.init(address, log_to_driver=True, **of_cluster)
        except Exception as error:  # which of its own depends on what does not fit
            raise ValueError(
                f"RAY_ADDRESS {address}: no Ray cluster lets this program in. It must run Ray {ray.__version__}, and where it asks "
                f"for a token, RAY_AUTH_MODE=token and RAY_AUTH_TOKEN must be set. Ray says: {' '.join(str(error).split())}"
            ) from error
        try:
            _trainer(folder.resolve(), options, work).fit()
        finally:
            ray.shutdown()


def _trainer(folder: Path, options: WorkerOptions, work: Callable[[Path], None]) -> Any:
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    restarts: Any = {"max_failures": options.restarts, "controller_failure_limit": options.restarts}
    return TorchTrainer(
        lambda: work(folder),
        torch_config=TorchConfig(backend="gloo", timeout_s=math.ceil(options.timeout_s)),
        scaling_config=ScalingConfig(num_workers=options.workers, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(name="ray", storage_path=str(folder), failure_config=FailureConfig(**restarts)),
    )
