"""What a described cluster decides by and a replay does not, in words for the first lines of an answer."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from assets.replaying.limits.unhonoured import honoured_rules, unhonoured_rules
from assets.replaying.own.pbs.unmodelled import places_of_held_jobs, unmodelled_by_pbs, unread_by_pbs
from assets.replaying.own.slurm.unmodelled import jobs_beyond_partitions, unmodelled_by_slurm
from assets.replaying.running.settings import RunSettings
from simulator.pbs.settings import cycle_settings
from simulator.slurm.preemption import preemption_of
from simulator.slurm.priority import has_classic_shares, priority_rules
from simulator.slurm.settings import slurm_settings
from traces.cluster.description import ClusterDescription

_READ_AS_TEXT = (
    *("priorityweightassoc", "priorityweighttres", "priorityflags"),
    *("job_sort_formula", "job_sort_key", "fairshare_usage_res", "unknown_shares"),
    *(
        "preempt_prio",
        "prime_time",
        "prime_time_zone",
        "holidays",
        "backfill_prime",
        "backfill_prime.non_prime",
        "prime_spill",
    ),
    *("prime_spill.non_prime", "prime_exempt_anytime_queues", "primetime_prefix", "nonprimetime_prefix"),
)
"""Settings that a replay reads as they are written, of Slurm and of PBS."""
_RULES = {"slurm": unmodelled_by_slurm, "pbs": unmodelled_by_pbs}


def unmodelled_rules(cluster: ClusterDescription) -> list[str]:
    """Rules of the cluster that are not in a replay under its own scheduler."""
    return _RULES[cluster.scheduler.name](cluster)


def rules_left_out(cluster: ClusterDescription, settings: RunSettings, rows: pl.DataFrame) -> list[str]:
    """Rules of a log's cluster that are not in its replay under these settings. rows: of the trace, with the settings' labels."""
    if settings.own_scheduler is not None:
        of_jobs = unread_by_pbs if settings.own_scheduler == "pbs" else jobs_beyond_partitions
        return of_jobs(cluster, rows) + unmodelled_rules(cluster)
    unhonoured = unhonoured_rules(cluster, settings.policy)
    if settings.cluster is not None:
        return unhonoured
    return [
        f"{rule}: --cluster {cluster.name} has them" for rule in honoured_rules(cluster, settings.policy)
    ] + unhonoured


def unread_settings(before: ClusterDescription, after: ClusterDescription) -> list[str]:
    """Settings of the scheduler that differ from one description to the other, and that no replay reads, each in a sentence."""
    values, new = dict(before.scheduler.values), dict(after.scheduler.values)
    unread = []
    for key in sorted(key for key in {**values, **new} if values.get(key) != new.get(key)):
        changed = {name: value for name, value in values.items() if name != key}
        changed |= {key: new[key]} if key in new else {}
        scheduler = replace(before.scheduler, values=changed)
        if _read(replace(before, scheduler=scheduler)) == _read(before):
            unread.append(
                f"{key}={new.get(key, '')}: the replay does not read this setting, or it says what holds already"
            )
    return unread


def _read(cluster: ClusterDescription) -> str:
    """All that a replay reads of the scheduler's settings, as a text to compare."""
    scheduler = cluster.scheduler
    words = [str(scheduler.values.get(key, "")) for key in _READ_AS_TEXT]
    if scheduler.name == "pbs":
        return repr((cycle_settings(scheduler), words))
    rules = priority_rules(scheduler)
    return repr((slurm_settings(scheduler), rules, has_classic_shares(scheduler), preemption_of(cluster, 0), words))


def own_remarks(cluster: ClusterDescription, settings: RunSettings) -> list[str]:
    """What to know of a replay under the cluster's own scheduler, in sentences."""
    return places_of_held_jobs(cluster) if settings.own_scheduler == "pbs" else []
