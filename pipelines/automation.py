"""What runs by itself: nightly retraining, and a run for every new file in the inbox."""

import json
from pathlib import Path

import dagster as dg

from assets.partitions import SOURCES
from pipelines.jobs import everything
from pipelines.processes import close_dead_runs
from traces.catalogue import CatalogueError, inbox, load_catalogue

SETTLED_S = 10
"""A file is taken once nobody has written to it for this long, so that a copy under way is left alone."""


def nightly_schedule() -> dg.ScheduleDefinition:
    """`nightly_retraining`, at the time and in the time zone of the catalogue, one run per source."""
    catalogue = load_catalogue()

    @dg.schedule(
        job=everything,
        name="nightly_retraining",
        cron_schedule=catalogue.nightly_cron,
        execution_timezone=catalogue.time_zone,
        description="Reads every source's logs again, retrains and re-evaluates, every night",
    )
    def nightly_retraining(context: dg.ScheduleEvaluationContext):
        names = list(load_catalogue().sources)
        register_sources(context.instance, names)
        due = context.scheduled_execution_time.isoformat()
        return [dg.RunRequest(run_key=f"{name}-{due}", partition_key=name) for name in names]

    return nightly_retraining


@dg.sensor(
    job=everything,
    name="inbox_sensor",
    minimum_interval_seconds=15,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="A new or changed file (or folder of files) in inbox/ becomes a source, a partition and a run",
)
def inbox_sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
    """A new or changed file (or folder of files) in `inbox/` becomes a source, a partition and a run."""
    from time import time

    close_dead_runs(context.instance)  # the sensor ticks anyway, and a dead run would keep its place in the queue
    seen: dict[str, str] = json.loads(context.cursor) if context.cursor else {}
    try:
        known = load_catalogue()
    except CatalogueError as error:
        return dg.SkipReason(f"the catalogue has a fault: {error}")
    state, requests, additions = {}, [], []
    for name, source in known.sources.items():
        if source.path is None or source.path.parent != inbox() or not source.path.exists():
            continue
        stamp, newest = _stamp(source.path)
        if time() - newest < SETTLED_S:
            if name in seen:
                state[name] = seen[name]
            continue
        state[name] = stamp
        if seen.get(name) != stamp:
            additions.append(name)
            requests.append(dg.RunRequest(run_key=f"{name}-{stamp}", partition_key=name))
    # so that the catalogue's sources are there to be picked in the UI; new ones come with their runs below
    register_sources(context.instance, [name for name in known.sources if name not in additions])
    if not requests:
        return dg.SensorResult(skip_reason=f"nothing new in {inbox()}", cursor=json.dumps(state))
    return dg.SensorResult(
        run_requests=requests,
        dynamic_partitions_requests=[SOURCES.build_add_request(additions)],
        cursor=json.dumps(state),
    )


def register_sources(instance: dg.DagsterInstance, names: list[str]) -> None:
    """Makes every named source a partition of this Dagster instance."""
    known = set(instance.get_dynamic_partitions("sources"))
    missing = [name for name in names if name not in known]
    if missing:
        instance.add_dynamic_partitions("sources", missing)


def _stamp(path: Path) -> tuple[str, float]:
    """(a text that changes when the file or a file of the folder does, time of the newest change)."""
    files = sorted(p for p in path.iterdir() if p.is_file()) if path.is_dir() else [path]
    stats = [file.stat() for file in files]
    newest = max((stat.st_mtime for stat in stats), default=0.0)
    return f"{len(stats)}-{sum(stat.st_size for stat in stats)}-{newest:.6f}", newest
