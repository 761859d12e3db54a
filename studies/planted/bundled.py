"""Do the bundled clusters look like real ones, and how near does the product come to their truth? `python -m studies bundled`.

The first table has each statistic of the two generated logs beside those of real logs, where they are to be had. The others have what a
change would do on the cluster with its hidden rule, which only the generator knows, and what a replay says: under the configuration alone,
and with the rule that was found, where `tracehouse run` has looked for it.
"""

from __future__ import annotations

import os
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

import tracehouse
from assets.ingest.site_logs import mean_wait_s, ruled_cluster
from models.judging.fidelity import WITHIN, change_error, times_off
from papers.archive import SHARED
from papers.markdown import markdown
from traces.catalogue.catalogue import read_catalogue
from traces.catalogue.clusters import bundled_cluster, load_found
from traces.catalogue.places import PROJECT
from traces.cluster.description import ClusterDescription, Setting
from traces.synthetic.campaigns import site_submissions
from traces.synthetic.sites import BundledSite, SiteOptions

CATALOGUE = PROJECT / "sources.toml"
HOUR_S, DAY_S = 3600.0, 86_400.0
ROUND_REQUESTS = 5
"""So many most frequent requests are the modal ones."""
REAL_LOGS: tuple[tuple[str, str, int | None, str], ...] = (
    ("KTH-SP2", "swf/KTH-SP2-1996-2.1-cln.swf.gz", 100, "Europe/Stockholm"),
    ("CTC-SP2", "swf/CTC-SP2-1996-3.1-cln.swf.gz", 338, "America/New_York"),
    ("IU Mason", "clusters/iu-mason/mason-2017-10-11.tar.gz", 576, "America/Indiana/Indianapolis"),
    ("Graham", "waits/graham_on_submit_days.parquet", None, "UTC"),
)
"""Name, file, processors, and time zone."""
EXPLAINED = {
    "jobs": "small enough for a first run",
    "jobs on one processor": "the smallest jobs of a log decide its median wait, and few cores always fit: so there are fewer of them",
    "median wait, min": "minutes are what was asked for",
    "mean wait, h": "one to four hours is what was asked for; the real clusters were fuller",
    "users": "six weeks of a small centre",
    "mean run, h": "jobs of 100 processors and more of a small cluster are short, or one would fill it for days",
    "95 % wait within, h": "within two days is what was asked for; Graham has the jobs alone that waited at a noon",
}
"""Why a statistic may lie outside the range of the real logs."""


def bundled_options() -> Iterator[SiteOptions]:
    """The options of the bundled sources."""
    for source in read_catalogue(CATALOGUE).sources.values():
        if "site" in source.generator:
            yield SiteOptions(**source.generator)


def statistics(jobs: pl.DataFrame, procs: int | None, time_zone: str) -> dict[str, float]:
    """What the table has of one log. jobs: as in core.jobs. procs: of the cluster, None where jobs of it are missing. time_zone: in which
    hours are counted."""
    jobs = jobs.filter((pl.col("runtime_s") > 0) & (pl.col("wait_s") >= 0) & (pl.col("procs") > 0))
    local = jobs["submit_time"].dt.replace_time_zone("UTC").dt.convert_time_zone(time_zone)
    wait, run, width = (jobs[name].cast(pl.Float64).to_numpy() for name in ("wait_s", "runtime_s", "procs"))
    days = float((local[-1] - local[0]).total_seconds()) / DAY_S
    requests = jobs["requested_walltime_s"].drop_nulls()
    used = (jobs["runtime_s"] / jobs["requested_walltime_s"]).drop_nulls()
    busiest = int(jobs["user_name"].value_counts(sort=True)["count"].head(5).sum())
    made: dict[str, float] = {
        "jobs": float(jobs.height),
        "jobs a day": jobs.height / days,
        "load": float((run * width).sum()) / (procs * days * DAY_S) if procs else np.nan,
        "median wait, min": float(np.median(wait)) / 60,
        "mean wait, h": float(wait.mean()) / HOUR_S,
        "95 % wait within, h": float(np.quantile(wait, 0.95)) / HOUR_S,
        "median run, min": float(np.median(run)) / 60,
        "mean run, h": float(run.mean()) / HOUR_S,
        "jobs on one processor": float((width == 1).mean()),
        "mean part of the cluster": float(width.mean()) / procs if procs else np.nan,
        "users": float(jobs["user_name"].n_unique()),
        "jobs of the busiest 5 users": busiest / jobs.height,
        "from 8 to 18 h": float(local.dt.hour().is_between(8, 17).mean()),  # type: ignore[arg-type]
        "at weekends": float((local.dt.weekday() >= 6).mean()),  # type: ignore[arg-type]
        "ended otherwise than well": float((jobs["status"] != "completed").mean()),  # type: ignore[arg-type]
    }
    if len(requests):
        made["median share of the request used"] = float(used.median())  # type: ignore[arg-type]
        modal = int(requests.value_counts(sort=True)["count"].head(ROUND_REQUESTS).sum())
        made["jobs with one of 5 requests"] = modal / len(requests)
    return {name: value for name, value in made.items() if value == value}  # a number


def real_statistics() -> dict[str, dict[str, float]]:
    """The statistics of each real log that is to be had."""
    made = {}
    for name, file, procs, zone in REAL_LOGS:
        path = SHARED.parent / file
        if path.exists():
            jobs = _graham(path) if path.suffix == ".parquet" else _log_jobs(path, procs)
            made[name] = statistics(jobs, procs, zone)
    return made


def _log_jobs(path: Path, procs: int | None) -> pl.DataFrame:
    with TemporaryDirectory() as folder:
        if path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
            path = next(each for each in Path(folder).iterdir() if each.is_dir())
        return tracehouse.load_log(path, procs=procs, drop_wider=True).jobs


def _graham(path: Path) -> pl.DataFrame:
    """Graham's jobs with the names of core.jobs. Those that waited at a noon are there alone."""
    return (
        pl.read_parquet(path)
        .select(
            pl.col("submit_time").cast(pl.Datetime),
            wait_s="submit_wait_sec",
            runtime_s="run_time_sec",
            procs="req_cpus",
            requested_walltime_s="time_limit_sec",
            user_name="account_id",
            status=pl.col("state").str.to_lowercase(),
        )
        .sort("submit_time")
    )


def calibration_rows(
    bundled: Mapping[str, Mapping[str, float]], real: Mapping[str, Mapping[str, float]]
) -> list[list[str]]:
    """A row for each statistic: of the bundled logs, of the real ones, and whether each bundled one lies within the range of these."""
    rows = []
    for name in next(iter(bundled.values())):
        range_of = [each[name] for each in real.values() if name in each]
        mine = [each[name] for each in bundled.values()]
        within = not range_of or all(min(range_of) <= value <= max(range_of) for value in mine)
        said = "" if not range_of else "yes" if within else f"no: {EXPLAINED.get(name, 'not explained')}"
        rows.append([name, *(_text(each.get(name)) for each in (*bundled.values(), *real.values())), said])
    return rows


def _text(value: float | None) -> str:
    return (
        "" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 2 else f"{value:.3f}"
    )


@dataclass(frozen=True)
class TrueEffect:
    """A change of a bundled cluster. Waits in seconds, means over the later half of the jobs: logged, and after the change, on the cluster
    with its hidden rule; then the same of a replay under a description."""

    change: str
    logged_s: float
    true_s: float
    replayed_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """The factor by which the predicted change is off, 1 for not at all."""
        return change_error((self.logged_s, self.true_s), (self.replayed_s, self.predicted_s))


def changes_of(site: BundledSite) -> dict[str, dict[str, Setting]]:
    """The changes by name: settings of the scheduler, or, under "nodes", how many more there are."""
    if site.scheduler == "pbs":
        return {
            "4 nodes more": {"nodes": 4},
            "longest waiting first, whatever its queue": {"job_sort_formula": "eligible_time"},
            "one top job": {"backfill_depth": 1},
        }
    return {
        "4 nodes more": {"nodes": 4},
        "no fair share": {"priorityweightfairshare": 0},
        "no backfilling": {"schedulertype": "sched/builtin"},
    }


def changed_cluster(cluster: ClusterDescription, change: Mapping[str, Setting]) -> ClusterDescription:
    """The cluster after a change of `changes_of`. More nodes are like the first."""
    if "nodes" in change:
        first = cluster.nodes[0]
        more = tuple(replace(first, name=f"x{number:02}", host="") for number in range(int(str(change["nodes"]))))
        near = tuple(
            replace(
                part,
                nodes=part.nodes and (*part.nodes, *(node.name for node in more))
                if first.name in part.nodes
                else part.nodes,
            )
            for part in cluster.partitions
        )
        return replace(cluster, nodes=(*cluster.nodes, *more), partitions=near)
    scheduler = replace(cluster.scheduler, values={**cluster.scheduler.values, **change})
    return replace(cluster, scheduler=scheduler)


def true_effects(options: SiteOptions, described: ClusterDescription) -> list[TrueEffect]:
    """What each change really does, and what a replay of the same jobs says under a description."""
    site, jobs = options.bundled, site_submissions(options.bundled.work, options.seed)
    ruled = ruled_cluster(site)
    logged, replayed = (mean_wait_s(site, cluster, jobs) for cluster in (ruled, described))
    return [
        TrueEffect(
            name,
            logged,
            mean_wait_s(site, changed_cluster(ruled, change), jobs),
            replayed,
            mean_wait_s(site, changed_cluster(described, change), jobs),
        )
        for name, change in changes_of(site).items()
    ]


def effect_rows(effects: Sequence[TrueEffect]) -> Iterator[list[str]]:
    """A row for each change: mean waits in hours, and how far off the replay and the change are."""
    for each in effects:
        waits = (each.logged_s, each.true_s, each.replayed_s, each.predicted_s)
        letters = [letter for letter, within in WITHIN.items() if within is not None and each.error <= within]
        yield [each.change, *(f"{wait / HOUR_S:.2f}" for wait in waits), f"{times_off(each.logged_s, each.replayed_s):.2f}",
               f"{each.error:.2f}", letters[0] if letters else "none"]  # fmt: skip


def main() -> None:
    """Prints the tables."""
    os.environ["TRACEHOUSE_SOURCES"] = str(CATALOGUE)
    options = list(bundled_options())
    bundled = {
        each.site: statistics(tracehouse.load_log(each.site).jobs, each.bundled.work.cores, each.bundled.time_zone)
        for each in options
    }
    real = real_statistics()
    print("calibration\n")
    print(markdown(["statistic", *bundled, *real, "within their range"], calibration_rows(bundled, real)))
    heading = [
        "change",
        "logged, h",
        "truth, h",
        "replay, h",
        "predicted, h",
        "replay off",
        "change off",
        "keeps the promise of",
    ]
    for each in options:
        declared = bundled_cluster(each.site).description
        for title, cluster in (("its configuration", declared), *_with_found(each.site, declared)):
            print(f"\nchanges {each.site} under {title}\n")
            print(markdown(heading, list(effect_rows(true_effects(each, cluster)))))


def _with_found(name: str, declared: ClusterDescription) -> Iterator[tuple[str, ClusterDescription]]:
    """The description with the rules that were found in the log, where anybody has looked."""
    seen = load_found(name)
    if seen is not None:
        yield (
            "that and the rules that were found",
            replace(declared, limits=(*declared.limits, *seen.limits), gates=(*declared.gates, *seen.gates)),
        )


if __name__ == "__main__":
    main()
