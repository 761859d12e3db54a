"""Runs whose process has died: found and closed, since Dagster itself notices only the runs of some launchers."""

import hashlib
import os
import socket
from pathlib import Path

import dagster as dg

PROCESS_TAG = ".dagster/tracehouse-process"
HOST_TAG = ".dagster/tracehouse-host"
RUN_TAG = ".dagster/tracehouse-run"
"""Long, and of no use to a reader: the UI does not show tags that begin so. The last is the run that the others are about: a run that
repeats another begins with the tags of that one, whose process is dead."""
OLD_TAGS = {PROCESS_TAG: "tracehouse/process", HOST_TAG: "tracehouse/host"}
"""Names of these tags in earlier releases."""
UNFINISHED_STATUSES = [dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.NOT_STARTED]


def this_process(run_id: str | None = None) -> dict[str, str]:
    """Tags that let another process tell whether this one is still alive. run_id: of the run that it executes, where it is known."""
    tags = {PROCESS_TAG: f"{os.getpid()}-{_started_at(os.getpid())}", HOST_TAG: _host()}
    return tags if run_id is None else tags | {RUN_TAG: run_id}


def close_dead_runs(instance: dg.DagsterInstance) -> int:
    """Marks unfinished runs of this host whose process is gone (killed, for example) as failed. Returns how many.

    A run has its host and process in its tags. One from the UI or the daemon also has its process in its events. But only a run
    whose host is known can be found dead.
    """
    closed = 0
    for run in instance.get_runs(filters=dg.RunsFilter(statuses=UNFINISHED_STATUSES)):
        if run.parent_run_id is not None and run.tags.get(RUN_TAG) != run.run_id:
            continue  # it has not begun, and its tags tell of the run that it repeats
        process = _tag(run, PROCESS_TAG) or _process_in_events(instance, run.run_id)
        if process is None or not _has_died(process, _tag(run, HOST_TAG)):
            continue
        now = instance.get_run_by_id(run.run_id)
        if now is None or now.status not in UNFINISHED_STATUSES:
            continue  # it ended well after the runs were listed, and its process with it
        instance.report_run_failed(run, f"its process ({process}) ended without finishing the run")
        closed += 1
    return closed


def _tag(run: dg.DagsterRun, name: str) -> str | None:
    return run.tags.get(name) or run.tags.get(OLD_TAGS[name])


def _process_in_events(instance: dg.DagsterInstance, run_id: str) -> str | None:
    """The process in which a launched run says that it started, or None before it has."""
    for entry in instance.all_logs(run_id, of_type=dg.DagsterEventType.ENGINE_EVENT):
        data = entry.dagster_event.event_specific_data if entry.dagster_event else None
        pid = getattr(data, "metadata", {}).get("pid")
        if pid is not None:
            return str(pid.value)
    return None


def _has_died(process: str, host: str | None) -> bool:
    """Whether a process of this host is gone. Nothing is known of a process of another or an unknown host, so it counts as alive."""
    if host is None:  # the number may be that of a living process of another machine
        return False
    # an earlier release wrote no identity of the machine, but its boot is enough
    if host not in (_host(), f"{socket.gethostname()}/{_host().partition('/')[2]}"):
        return host.partition("/")[0] == _host().partition("/")[0]  # the same machine, before its last boot
    pid, _, started = process.partition("-")
    now = _started_at(int(pid))
    return now == "" or started not in ("", now)


def _started_at(pid: int) -> str:
    """When a process started, in clock ticks since boot, so that a reused number is noticed. Empty when the process is gone."""
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
    """Name of this machine and a hash of its identity / its boot. Process numbers repeat after a reboot."""
    machine = hashlib.sha256(_text_of("/etc/machine-id").encode()).hexdigest()[:12]
    return f"{socket.gethostname()}.{machine}/{_text_of('/proc/sys/kernel/random/boot_id')}"


def _text_of(path: str) -> str:
    """The content of a file of the system. Empty where there is none."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
