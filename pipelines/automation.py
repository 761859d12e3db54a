"""What runs without a user besides the nights: a run for every new file in the inbox or changed folder of VASP runs."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TypeGuard

import dagster as dg

from assets.common.asset import FROM_COMMAND_LINE
from assets.common.partitions import SOURCES
from assets.common.storage import file_time
from assets.sharing.readers_copy import refresh_readers
from pipelines.jobs import everything, vasp_watch
from pipelines.nights import register_sources, vasp_stamp
from pipelines.processes import close_dead_runs
from traces.catalogue.catalogue import Catalogue, load_catalogue
from traces.catalogue.places import inbox
from traces.catalogue.sources import CatalogueError
from warehouse import WarehouseError

SETTLED_S = 10
"""A file is taken once no process has written to it for this long, so that a copy under way is left alone. The time of the file shows
that, or two looks at it by our own clock: the clock of the writer's machine may be ahead of ours."""


@dg.sensor(
    job=vasp_watch,
    name="vasp_sensor",
    minimum_interval_seconds=60,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="VASP run folders that are new or have grown are read again, and remaining times are predicted again",
)
def vasp_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """Run folders that are new or have grown since the last tick become a run. Synthetic ones never change."""
    try:
        catalogue = load_catalogue()
    except CatalogueError as error:
        return dg.SkipReason(f"the catalogue has a fault: {error}")
    register_sources(context.instance, list(catalogue.vasp), "vasp")
    seen: dict[str, str] = json.loads(context.cursor) if context.cursor else {}
    state, requests = {}, []
    for name, source in catalogue.vasp.items():
        stamp = vasp_stamp(source)
        if stamp is None:
            continue
        state[name] = stamp
        if seen.get(name) != stamp:
            requests.append(dg.RunRequest(run_key=f"{name}-{stamp}", partition_key=name))
    if not requests:
        return dg.SensorResult(skip_reason="no run folder has changed", cursor=json.dumps(state))
    return dg.SensorResult(run_requests=requests, cursor=json.dumps(state))


@dg.sensor(
    job=everything,
    name="inbox_sensor",
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="A new or changed file (or folder of files) in inbox/ becomes a source, a partition and a run",
)
def inbox_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """A new or changed file (or folder of files) in `inbox/` becomes a source, a partition and a run."""
    close_dead_runs(context.instance)  # the sensor ticks anyway, and a dead run would keep its place in the queue
    before = _Looks.of_cursor(context.cursor)
    try:
        catalogue = load_catalogue()
    except CatalogueError as error:
        return dg.SkipReason(f"the catalogue has a fault: {error}")
    looks, requests, additions = _Looks(), [], []
    files_now = file_time(inbox())
    for name, source in catalogue.sources.items():
        if not _is_in_inbox(source.path) or not source.path.exists():
            continue
        try:
            stamp = looks.look(name, source.path, before, time.time(), files_now)
        except OSError:  # it is removed, or renamed, at this very moment
            looks.keep(name, before)
            continue
        if stamp and before.taken.get(name) != stamp:
            additions.append(name)
            requests.append(dg.RunRequest(run_key=f"{name}-{stamp}", partition_key=name))
    register_sources(context.instance, declared_sources(catalogue))
    if not requests:
        return dg.SensorResult(skip_reason=f"nothing new in {inbox()}", cursor=looks.cursor())
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[SOURCES.build_add_request(additions)],
        cursor=looks.cursor(),
    )


@dg.run_status_sensor(
    run_status=dg.DagsterRunStatus.SUCCESS,
    name="readers_sensor",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="After each run, the read-only copy and the file for Prometheus that the catalogue names are written",
)
def readers_sensor(context: dg.RunStatusSensorContext) -> dg.SkipReason:
    """After each run, writes the files that the catalogue wants for other tools. Runs of the command line have done so themselves."""
    if FROM_COMMAND_LINE in context.dagster_run.tags:
        return dg.SkipReason("the command line has done so")
    try:
        written = refresh_readers()
    except (ValueError, OSError, WarehouseError) as error:
        return dg.SkipReason(f"nothing new was written: {error}")
    return dg.SkipReason(f"wrote {', '.join(map(str, written))}" if written else "the catalogue names nothing to write")


def _is_in_inbox(path: Path | None) -> TypeGuard[Path]:
    return path is not None and path.parent == inbox()


@dataclass
class _Looks:
    """What the inbox sensor has seen: the stamp of every file that was taken, and stamp and first look of those that may still change."""

    taken: dict[str, str] = field(default_factory=dict)
    waiting: dict[str, tuple[str, float]] = field(default_factory=dict)

    @classmethod
    def of_cursor(cls, cursor: str | None) -> _Looks:
        """What the last tick has left. An older tracehouse left only the stamps."""
        content: dict[str, Any] = json.loads(cursor) if cursor else {}
        if not all(isinstance(value, dict) for value in content.values()):
            return cls(taken=content)
        waiting = {name: (stamp, since) for name, (stamp, since) in content.get("waiting", {}).items()}
        return cls(content.get("taken", {}), waiting)

    def cursor(self) -> str:
        """For the next tick."""
        return json.dumps(asdict(self))

    def look(self, name: str, path: Path, before: _Looks, now: float, files_now: float) -> str | None:
        """The stamp of a file that is complete. None while a process may write to it. before: what the last tick saw. now: by our clock,
        as the last tick has it. files_now: by the clock that stamps the file."""
        stamp, newest = _stamp(path)
        if before.taken.get(name) != stamp and files_now - newest < SETTLED_S:
            seen, since = before.waiting.get(name, ("", now))
            since = since if seen == stamp and since <= now else now  # a clock that was put back begins again
            if now - since < SETTLED_S:
                self.waiting[name] = (stamp, since)
                self.keep(name, before)
                return None
        self.taken[name] = stamp
        return stamp

    def keep(self, name: str, before: _Looks) -> None:
        """Files that were taken before stay so."""
        if name in before.taken:
            self.taken[name] = before.taken[name]


def declared_sources(catalogue: Catalogue) -> list[str]:
    """The sources that the UI offers at once. A file of the inbox comes with its run. One whose first run fails does not come
    back before the file changes."""
    return [name for name, source in catalogue.sources.items() if not _is_in_inbox(source.path)]


def _stamp(path: Path) -> tuple[str, float]:
    """(a text that changes when the file or a file of the folder does, time of the newest change)."""
    files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
    stats = [file.stat() for file in files]
    newest = max((stat.st_mtime for stat in stats), default=0.0)
    return f"{len(stats)}-{sum(stat.st_size for stat in stats)}-{newest:.6f}", newest
