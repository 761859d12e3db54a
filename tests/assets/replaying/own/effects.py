"""Tiny workloads, written in words, that are replayed under configurations written as their files: for tests that a key has an effect."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import polars as pl

from assets.common.trace import Trace
from assets.replaying.limits.holds import missing_processors
from assets.replaying.limits.way import replayer_under
from assets.replaying.own.clusters import in_clock
from assets.replaying.own.pbs.way import pbs_runs
from assets.replaying.own.slurm.way import slurm_runs
from assets.replaying.running.settings import LIMIT_LABELS, REQUEST_LABELS
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.replayer import Outcome
from traces.cluster.description import ClusterDescription

ZERO_S = int(datetime(2024, 1, 1, tzinfo=UTC).timestamp())
"""UTC second of the second 0 of all these logs, a Monday at midnight."""
_NAMES = {
    "run": "runtime_s",
    "limit": "requested_walltime_s",
    "cpus": "procs",
    "user": "user_name",
    "group": "group_name",
    "mem": "requested_memory_kb",
    "alone": "is_exclusive",
    "select": "selected_chunks",
    "eligible": "eligible_s",
}
"""Words of a job -> columns, where they differ."""
_TEXTS = frozenset(
    {
        "user_name",
        "group_name",
        "account",
        "queue",
        "qos",
        "reservation",
        "features",
        "requested_gpu_types",
        "memory_per",
    }
    | {"selected_chunks", "place", "project", "job_id"}
)


def rows_of(text: str) -> pl.DataFrame:
    """Jobs of a text such as `0 600 4; 10 300 8 nodes=2 qos=high`: submission, run time and CPUs, then other columns of core.jobs.

    The requested time is the run time, the user ann, and the memory in MiB, where a job does not say."""
    names = [*REQUEST_LABELS, *LIMIT_LABELS, *_NAMES.values(), "submit_s", "job_id", "requested_procs"]
    rows = []
    for number, job in enumerate(text.split(";"), 1):
        first, more = job.split()[:3], dict(word.split("=", 1) for word in job.split()[3:])
        row = dict.fromkeys(names) | {"job_id": str(number), "user_name": "ann", "nodes": 1}
        row |= dict(zip(("submit_s", "runtime_s", "procs"), map(int, first), strict=True))
        row |= {
            _NAMES.get(key, key): value if _NAMES.get(key, key) in _TEXTS else int(value) for key, value in more.items()
        }
        if row["requested_walltime_s"] is None:
            row["requested_walltime_s"] = row["runtime_s"]
        row["requested_procs"], row["requested_nodes"] = row["procs"], row["nodes"]
        row["requested_memory_kb"] = None if row["requested_memory_kb"] is None else 1024 * row["requested_memory_kb"]
        row["is_exclusive"] = bool(row["is_exclusive"])
        row["submit_time"] = _moment(row["submit_s"])
        row["eligible_time"] = None if row["eligible_s"] is None else _moment(row["eligible_s"])
        rows.append(row)
    texts = dict.fromkeys(_TEXTS, pl.Utf8)
    return pl.DataFrame(rows, schema_overrides=texts | {"gpus": pl.Int64, "requested_memory_kb": pl.Int64})


def _moment(second: int) -> datetime:
    return datetime.fromtimestamp(ZERO_S + second, UTC).replace(tzinfo=None)


def jobs_of(rows: pl.DataFrame) -> Jobs:
    """The simulator's jobs for these rows."""
    columns = (rows[name].to_numpy() for name in ("submit_s", "runtime_s", "procs", "requested_walltime_s"))
    return jobs_from_log(*columns)


def trace_of(rows: pl.DataFrame, procs: int) -> Trace:
    """The rows as the trace of a source without a warehouse."""
    return Trace("made", rows, procs, "made", 0, 0, None, _moment(0), True, "UTC", 1.0, {})


def replayed(cluster: ClusterDescription, text: str) -> tuple[object, ...]:
    """What a replay of these jobs under the cluster's own scheduler gives: starts, suspensions and counts."""
    rows, here = rows_of(text), in_clock(cluster, ZERO_S)
    if cluster.scheduler.name == "pbs":
        runs = pbs_runs(here, rows, ZERO_S, None)
    else:
        runs = slurm_runs(here, trace_of(rows, here.num_cpus), rows, None)
    return said(runs.run(jobs_of(rows), Cluster(here.num_cpus), 0))


def replayed_in_order(cluster: ClusterDescription, text: str) -> tuple[object, ...]:
    """The same of a replay in the order of submissions, under the limits and reservations of a cluster whose scheduler does not replay."""
    rows, procs = rows_of(text), cluster.num_cpus
    jobs, trace = jobs_of(rows), trace_of(rows, procs)
    span = int(jobs.submit[0]), int(jobs.submit[-1]) + 7 * 86_400
    missing = missing_processors(cluster, procs, int(jobs.limit.max()), ZERO_S, span)
    return said(replayer_under(cluster, trace, rows, OrderReplayer()).replay(jobs, Cluster(procs, outages=missing)))


def said(outcome: Outcome) -> tuple[object, ...]:
    """What of an outcome two replays are compared by."""
    suspended = outcome.schedule.suspended
    seconds = () if suspended is None else tuple(tuple(part.tolist()) for part in suspended)
    return tuple(outcome.schedule.start.tolist()), seconds, tuple(sorted(outcome.counts.items()))


def write_files(folder: Path, files: Mapping[str, str]) -> list[Path]:
    """Writes files in place of all that is in the folder. Returns their paths."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        path.unlink()
    for name, text in files.items():
        (folder / name).write_text(text)
    return sorted(folder.iterdir())


class Effect(NamedTuple):
    """Two values of a key, None for none, and jobs whose replays differ. more: what else the files say, by place.

    place, text: where the key stands, and how, with {} for the value. "" for the usual place of its table, and key=value."""

    one: str | None
    other: str | None
    jobs: str
    more: Mapping[str, str] = {}
    place: str = ""
    text: str = ""


class Table(NamedTuple):
    """Keys of one kind that are called modelled, and how that shows: an effect, or why no replay can show one.

    usual: place and text of a key, in which KEY stands for it."""

    keys: Collection[str]
    effects: Mapping[str, Effect]
    by_hand: Mapping[str, str]
    usual: tuple[str, str]


Places = dict[str, str]


def joined(between: Mapping[str, str], *parts: Mapping[str, str]) -> Places:
    """The texts of all parts by place. between: what stands between two texts of a place, by place, a blank for others."""
    whole: Places = {}
    for part in parts:
        for place, text in part.items():
            whole[place] = f"{whole[place]}{between.get(place, ' ')}{text}" if place in whole else text
    return whole


def places_of(table: Table, key: str, value: str | None, between: Mapping[str, str]) -> Places:
    """What the files say with this value of the key of a case."""
    effect = table.effects[key]
    place, text = effect.place or table.usual[0], effect.text or table.usual[1].replace("KEY", key.partition(" ")[0])
    return dict(effect.more) if value is None else joined(between, effect.more, {place: text.format(value)})


def check_table(table: Table) -> None:
    """Fails where a key that is called modelled has neither an effect nor a reason, or a key has both, or is not modelled."""
    cases = {key.partition(" ")[0] for key in table.effects}
    assert cases | table.by_hand.keys() == set(table.keys)
    assert not cases & table.by_hand.keys()
    assert all(len(why) > 10 for why in table.by_hand.values())
