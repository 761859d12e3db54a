"""Runs whose process has died: found and closed, since Dagster itself notices only the runs of some launchers."""

import os
import socket
from pathlib import Path

import dagster as dg

PROCESS_TAG = "tracehouse/process"
HOST_TAG = "tracehouse/host"
UNFINISHED_STATUSES = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.NOT_STARTED]


def this_process() -> dict[str, str]:
    """Tags that let another process tell whether this one is still alive."""
    return {PROCESS_TAG: f"{os.getpid()}-{_started_at(os.getpid())}", HOST_TAG: _host()}


def close_dead_runs(instance: dg.DagsterInstance) -> int:
    """Marks unfinished runs of this host whose process is gone (killed, say) as failed; returns how many.

    A run from the command line carries its process in its tags; one from the UI or the daemon has it in its events.
    """
    closed = 0
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=UNFINISHED_STATUSES)):
        process = run.tags.get(PROCESS_TAG) or _process_in_events(instance, run.run_id)
        if process is None or not _has_died(process, run.tags.get(HOST_TAG)):
            continue
        instance.report_run_failed(run, f"its process ({process}) ended without finishing the run")
        closed += 1
    return closed


def _process_in_events(instance: dg.DagsterInstance, run_id: str) -> str | None:
    """The process that a launched run says it started in, or None before it has."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        data = entry.dagster_event.event_specific_data if entry.dagster_event else None
        pid = getattr(data, "metadata", {}).get("pid")
        if pid is not None:
            return str(pid.value)
    return None


def _has_died(process: str, host: str | None) -> bool:
    """Whether a process of this host is gone; of another host nothing is known, so it counts as alive."""
    if host is not None and host != _host():
        return host.partition("/")[0] == _host().partition("/")[0]  # the same machine, before its last boot
    pid, _, started = process.partition("-")
    now = _started_at(int(pid))
    return now == "" or started not in ("", now)


def _started_at(pid: int) -> str:
    """When a process started, in clock ticks since boot, so that a reused number is noticed; empty when it is gone."""
    if Path("/proc/self/stat").exists():
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
        except OSError:
            return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "alive"


def _host() -> str:
    """Name of this machine / its boot: process numbers repeat after a reboot."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{socket.gethostname()}/{boot.read_text().strip() if boot.exists() else ''}"
