"""What runs every night: a source whose log, entry or code has changed is read, learned from and judged again. Of the others the log
is looked at, and that is all.

The upkeep of a lake, every night. A warehouse that is a file needs none.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import dagster as dg
from dagster._utils.schedules import cron_string_iterator  # not exported

from assets.common.code.declared import note_declared
from assets.common.storage import artefacts_folder, data_folder, file_time, open_warehouse
from pipelines.jobs import everything, vasp
from traces.catalogue.catalogue import VaspSource, load_catalogue
from traces.catalogue.clusters import cluster_path
from traces.catalogue.places import inbox
from traces.catalogue.sources import Source
from traces.vasp.folders import find_runs
from warehouse import lake_of_environment
from warehouse.upkeep import tidy_tables

LATE, TICKS = timedelta(hours=2), 100
"""How long a nightly run may take, and how many ticks of a schedule show its longest pause."""
STATE = "tracehouse/state"
"""Tag of a night's run: what it was made from."""
ROOTS = {"sources": dg.AssetKey(["raw", "log"]), "vasp": dg.AssetKey(["raw", "vasp_runs"])}
"""By kind of partition: the asset that reads the files. It is materialized every night, and it alone can be late."""


def nightly_schedule(code: str = "") -> dg.ScheduleDefinition:
    """`nightly_retraining`, one run per source. code: as `code_of` has it."""
    description = (
        "Looks at every source's logs each night, and retrains and re-evaluates where they or the code have changed"
    )
    return _nightly(
        everything, "nightly_retraining", description, "sources", lambda source: _hash(code, state_of_source(source))
    )


def nightly_vasp_schedule(code: str = "") -> dg.ScheduleDefinition:
    """`nightly_vasp`, one run per folder of VASP runs. code: as `code_of` has it."""
    description = "Looks at the folders of VASP runs each night, and trains on remaining times again where they or the code have changed"
    return _nightly(vasp, "nightly_vasp", description, "vasp", lambda source: _hash(code, state_of_vasp_runs(source)))


def _nightly(
    job: Any, name: str, description: str, partitions: str, state_of: Callable[[Any], str]
) -> dg.ScheduleDefinition:
    """A run per partition, "sources" or "vasp", at the time and in the time zone of the catalogue."""
    catalogue = load_catalogue()

    @dg.schedule(
        job=job,
        name=name,
        cron_schedule=catalogue.nightly_cron,
        execution_timezone=catalogue.time_zone,
        description=description,
    )
    def nightly(context: dg.ScheduleEvaluationContext):
        registered = set(context.instance.get_dynamic_partitions(partitions))
        sources = {
            name: source
            for name, source in getattr(load_catalogue(), partitions).items()
            if name in registered or source.path is None or source.path.parent != inbox()
        }
        register_sources(context.instance, list(sources), partitions)
        due = context.scheduled_execution_time.isoformat()
        requests = []
        for key, source in sources.items():
            try:
                state = state_of(source)
            except (
                OSError
            ):  # a file went away during the look: the run says what is wrong, and other sources have theirs
                state = f"unknown {due}"
            quiet = _is_made_from(context.instance, key, state)
            requests.append(
                dg.RunRequest(
                    run_key=f"{key}-{due}",
                    partition_key=key,
                    asset_selection=[ROOTS[partitions]] if quiet else None,
                    tags={STATE: state},
                )
            )
        return requests

    return nightly


def _is_made_from(instance: dg.DagsterInstance, partition: str, state: str) -> bool:
    """Whether the newest run of a partition was a night's with this state, and ended well. A run of anybody else, such as one that
    saves a replay, may have changed what a night judges, and so the next night is a whole one."""
    runs = instance.get_runs(dg.RunsFilter(tags={"dagster/partition": partition}), limit=1)
    return bool(runs) and runs[0].status == dg.DagsterRunStatus.SUCCESS and runs[0].tags.get(STATE) == state


def code_of(assets: Sequence[dg.AssetsDefinition]) -> str:
    """The versions of the code of all assets, as one text."""
    return _hash(*sorted(f"{spec.key.to_user_string()} {spec.code_version}" for each in assets for spec in each.specs))


def state_of_source(source: Source) -> str:
    """Changes with the entry of a source, its files, the clusters that it names, and the policies and models that are kept of it, which
    commands also write."""
    files = [] if source.path is None or not source.path.exists() else _files(source.path)
    files += [path for path in map(cluster_path, source.cluster) if path.exists()]
    models = artefacts_folder() / "models" / source.name
    kept = sorted(file.name for file in models.iterdir()) if models.is_dir() else []
    stamps = [f"{file.name} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    return _hash(repr(replace(source, declared_at="")), *stamps, *kept)


def state_of_vasp_runs(source: VaspSource) -> str:
    """Changes with the entry of a folder of VASP runs and with the runs in it."""
    return _hash(repr(replace(source, declared_at="")), vasp_stamp(source) or "")


def vasp_stamp(source: VaspSource) -> str | None:
    """Changes where a run folder is new or has grown. None where there is no folder; synthetic runs never change."""
    if source.path is None or not source.path.is_dir():
        return None
    # a run whose files are no longer written changes its state once: it no longer counts as running
    quiet = file_time(source.path) - source.quiet_s
    return _hash(
        *(
            f"{folder.name} {folder.stamp} {folder.faults} {folder.changed_s < quiet}"
            for folder in find_runs(source.path)
        )
    )


def _files(path: Path) -> list[Path]:
    return sorted(file for file in path.iterdir() if file.is_file()) if path.is_dir() else [path]


def _hash(*texts: str) -> str:
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]


def freshness(cron: str, time_zone: str) -> dg.FreshnessPolicy:
    """When what a schedule looks at is due, and when it is late. It is late two hours after the schedule's longest pause, and has failed
    after twice that pause."""
    ticks = list(islice(cron_string_iterator(0.0, cron, time_zone), TICKS))
    pause = max(later - earlier for earlier, later in pairwise(ticks))
    return dg.FreshnessPolicy.time_window(fail_window=2 * pause + LATE, warn_window=pause + LATE)


def register_sources(instance: dg.DagsterInstance, names: list[str], partitions: str = "sources") -> None:
    """Makes every named source a partition of this Dagster instance, and notes what the catalogue says of it now. partitions: "sources",
    or "vasp"."""
    registered = set(instance.get_dynamic_partitions(partitions))
    missing = [name for name in names if name not in registered]
    if missing:
        instance.add_dynamic_partitions(partitions, missing)
    if partitions == "sources":
        catalogue = load_catalogue(may_be_missing=True)
        if catalogue is not None:
            note_declared(instance, catalogue, names)


# --- upkeep


AT_NIGHT = "15 4 * * *"
"""Cron of the upkeep, in the time zone of the catalogue."""


@dg.op
def tidy_lake(context: dg.OpExecutionContext) -> None:
    """Merges small files of the lake, and removes old snapshots and what killed runs have left."""
    context.log.info(str(tidy_tables(open_warehouse())))


@dg.job
def lake_upkeep() -> None:
    """Tidies the lake while nobody writes."""
    tidy_lake()


def upkeep_schedules() -> list[dg.ScheduleDefinition]:
    """The schedule of `lake_upkeep`, which is on where the warehouse is a lake. None where it is a file."""
    if lake_of_environment(data_folder()) is None:
        return []
    return [
        dg.ScheduleDefinition(
            name="lake_upkeep",
            job=lake_upkeep,
            cron_schedule=AT_NIGHT,
            execution_timezone=load_catalogue().time_zone,
            default_status=dg.DefaultScheduleStatus.RUNNING,
            description="Merges small files of the lake and removes old snapshots, every night",
        )
    ]
