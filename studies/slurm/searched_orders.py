"""Searched policies on the nodes of real clusters: `python -m studies searched_orders`.

Each order takes the place of the priority of our Slurm, or of that of our PBS. Nodes, partitions, limits and passes stay as they are
configured. The clusters are a week of UB-HPC, UB's micro cluster and the recorded runs. Everything is compared with the scheduler's own
priority, on the same jobs and in the same phases.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from assets.replaying.own.pbs.way import PbsRuns
from models.judging.chance import RandomOrder
from models.judging.panel import Replayed
from models.judging.verdict import MOST_AS_GOOD, MOST_OF_A_GUARD, Ratios, ratios_of
from papers.markdown import markdown
from simulator.cluster.arrays import cluster_arrays
from simulator.cluster.requests import Request, request_arrays
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.pbs.replaying import PbsReplayer
from simulator.policies.registry import SEARCHED, Policy, parse_policy
from simulator.slurm.replaying import Phases, SlurmReplayer
from studies.pbs.recorded_runs import read_recorded_run, recorded_folders
from studies.pbs.timing import logged_run_times
from studies.slurm.decisions import SHARED, golden_folders
from studies.slurm.golden_runs import read_golden_run
from studies.slurm.hpc_week import hpc_week
from studies.slurm.micro_cluster import micro_cluster, micro_requests
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]

RUNS = 5
ORDERS = 40
ORDERS_CAP_S = 24 * 3600
"""About the caps of the searched policies."""
RIVALS = ("FCFS", "bounded-key:factor=1", "SJF", "SAF")
SLURM_RUNS = ("S1-backfill", "S2", "S3", "S5", "S6", "S7", "S8", "S10", "S11")
"""Of those that differ in a parameter of backfilling, one is enough."""
PBS_RUNS = ("P1", "P1f", "P2", "P3", "P4", "P5")
"""Without those whose reservations have times of their own."""
SECONDS_OF_PBS = 60
"""A second of the recorded runs of PBS stands for so many."""
RUNNING_WHEN_SCORED_S = 86400
"""The first day of the week is not scored, since it begins idle."""
UNKNOWN_RUN_S = 60


@dataclass(frozen=True)
class Site:
    """One workload on its cluster. start: starts under a policy, None for the scheduler's own priority, in one of several phases.
    parts: names of groups of jobs, such as their QOS, ("", ...) for none."""

    name: str
    jobs: Jobs
    cluster: Cluster
    start: Callable[[Policy | None, int], Schedule]
    scored: NDArray[np.bool_]
    parts: Sequence[str] = ()

    def replayed(self, policy: Policy | None, number: int) -> Replayed:
        """One replay, with the scored jobs."""
        return Replayed(self.jobs, self.cluster, self.start(policy, number), self.scored)


def slurm_site(
    name: str, cluster: ClusterDescription, asked: Sequence[Request], runtime: IntArray, scored_from_s: int = 0
) -> Site:
    """Jobs on Slurm's nodes. asked: in the order of submission. scored_from_s: seconds after the first submission."""
    arrays = cluster_arrays(cluster, {one.features for one in asked})
    requests = request_arrays(asked, cluster, arrays)
    limit = np.maximum(np.maximum(requests.limit, 1), runtime)
    cpus = np.maximum(np.maximum(requests.tasks, requests.min_nodes) * requests.cpus_per_task, 1)
    user = requests.user
    jobs = Jobs(requests.submit, runtime, cpus, np.maximum(requests.limit, 1), limit, user=user - user.min())
    size = Cluster(cluster.num_cpus)

    def start(policy: Policy | None, number: int) -> Schedule:
        replayer = SlurmReplayer(cluster, arrays, requests, Phases.drawn(number), policy)
        return replayer.replay(jobs, size).schedule

    scored = requests.submit >= requests.submit.min() + scored_from_s
    return Site(name, jobs, size, start, scored, [one.qos for one in asked])


def recorded_slurm(name: str) -> Site:
    """A recorded run of Slurm. Jobs that never ended run for their limit. What waits for another job is left out."""
    run = read_golden_run(next(folder for folder in golden_folders() if folder.parent.name == name))
    kept = sorted((job for job in run.jobs if not job.request.dependencies), key=lambda job: job.request.submit_s)
    ran = [
        job.request.limit_s or 60 if job.start_s is None or job.end_s is None else job.end_s - job.start_s
        for job in kept
    ]
    return slurm_site(name, run.cluster, [job.request for job in kept], np.maximum(np.array(ran, dtype=np.int64), 1))


def recorded_pbs(name: str) -> Site:
    """A recorded run of PBS, with its seconds as minutes."""
    run = read_recorded_run(next(folder for folder in recorded_folders() if folder.parent.name == name))
    asked = [
        replace(
            one.job,
            submit_s=one.job.submit_s * SECONDS_OF_PBS,
            begin_s=one.job.begin_s * SECONDS_OF_PBS,
            walltime_s=None if one.job.walltime_s is None else one.job.walltime_s * SECONDS_OF_PBS,
        )
        for one in run.jobs
    ]
    order = np.argsort([one.submit_s for one in asked], kind="stable")
    place = {int(k): number for number, k in enumerate(order)}
    asked = [asked[k] for k in order]
    asked = [replace(one, dependencies=tuple((kind, place[k]) for kind, k in one.dependencies)) for one in asked]
    runtime = np.maximum(logged_run_times(run, UNKNOWN_RUN_S)[order] * SECONDS_OF_PBS, 1)
    submit = np.array([one.submit_s for one in asked], dtype=np.int64)
    walltime = np.array([one.time_s for one in asked], dtype=np.int64)
    procs = np.array([sum(p.count * p.amounts.get("ncpus", 1) for p in one.pieces) for one in asked], dtype=np.int64)
    jobs = Jobs(submit, runtime, np.maximum(procs, 1), walltime, np.maximum(walltime, runtime))
    size = Cluster(run.cluster.num_cpus)
    replayer = PbsReplayer(run.cluster, asked)

    def start(policy: Policy | None, number: int) -> Schedule:
        return PbsRuns(RUNS, {}, replayer, policy).run(jobs, size, number).schedule

    return Site(name, jobs, size, start, np.ones(len(submit), dtype=np.bool_), [one.queue for one in asked])


def week_site() -> Site:
    """The week of UB-HPC under the settings as they were."""
    cluster, asked, runtime = hpc_week(SHARED / "traces" / "clusters" / "ub-hpc-week", "")
    return slurm_site("UB-HPC", cluster, asked, runtime, RUNNING_WHEN_SCORED_S)


def micro_site() -> Site:
    """UB's micro cluster."""
    folder = SHARED / "traces" / "clusters" / "ub-micro"
    asked, ran = micro_requests(folder)
    order = sorted(range(len(asked)), key=lambda k: asked[k].submit_s)
    runtime = np.array([ran[k][1] - ran[k][0] for k in order], dtype=np.int64)
    return slurm_site("UB micro cluster", micro_cluster(folder), [asked[k] for k in order], runtime)


def ratios_beside_own(site: Site, policy: Policy, own: Sequence[Replayed]) -> list[Ratios]:
    """The panel of a policy over that of the own priority, in each phase."""
    return [ratios_of(site.replayed(policy, number).panel(), each.panel()) for number, each in enumerate(own)]


def geometric_mean(values: Sequence[float]) -> float:
    """1 for zero over zero; the mean of the logarithms elsewhere."""
    return math.exp(sum(math.log(max(each, 1e-9)) for each in values) / len(values))


def worst_guard(ratios: Sequence[Ratios]) -> tuple[float, str]:
    """The guard that grows most in the mean over phases, and its name."""
    means = {name: geometric_mean([each.guards[name] for each in ratios]) for name in ratios[0].guards}
    name = max(means, key=means.__getitem__)
    return means[name], name.removesuffix("_wait")


def worst_part(site: Site, policy: Replayed, own: Replayed) -> str:
    """The group of at least 30 jobs whose mean wait grows most, and by which factor, a minute added to both."""
    names, worst = np.array(site.parts), (0.0, "")
    for name in sorted(set(site.parts) - {""}):
        mine = (names == name) & site.scored & policy.schedule.started & own.schedule.started
        if mine.sum() >= 30:
            ours, theirs = (float((each.schedule.start - site.jobs.submit)[mine].mean()) + 60 for each in (policy, own))
            worst = max(worst, (ours / theirs, name))
    return f"{worst[0]:.2f} ({worst[1]})" if worst[1] else ""


@dataclass(frozen=True)
class Beside:
    """A policy on one site. Ratios over the own priority are geometric means over phases. as_good: the share of random orders."""

    policy: str
    slowdown: float
    wait: float
    guard: float
    of_guard: str
    part: str
    as_good: float

    @property
    def dominates(self) -> bool:
        """Whether both averages fall, no guard is above its limit, and random orders are hardly ever as good."""
        return max(self.slowdown, self.wait) < 1 and self.guard <= MOST_OF_A_GUARD and self.as_good <= MOST_AS_GOOD


def judged(site: Site, own: Sequence[Replayed], lottery: Sequence[Ratios]) -> Iterator[Beside]:
    """Every policy. own: replays under the own priority, one for each phase. lottery: of random orders over the first of them."""
    for name in (*SEARCHED, *RIVALS):
        policy = parse_policy(name)
        ratios = ratios_beside_own(site, policy, own)
        slowdown, wait = (geometric_mean([getattr(each, of) for each in ratios]) for of in ("bounded_slowdown", "wait"))
        as_good = 1 + sum(each.bounded_slowdown <= slowdown and each.wait <= wait for each in lottery)
        part = worst_part(site, site.replayed(policy, 0), own[0])
        yield Beside(name, slowdown, wait, *worst_guard(ratios), part, as_good / (1 + len(lottery)))


def lottery_of(site: Site, own: Replayed) -> list[Ratios]:
    """Random orders over the own priority, in its phase."""
    policies = (RandomOrder(ORDERS_CAP_S, seed).policy for seed in range(ORDERS))
    return [ratios_of(site.replayed(policy, 0).panel(), own.panel()) for policy in policies]


def table_of(site: Site, own: Sequence[Replayed], lottery: Sequence[Ratios], policies: Sequence[Beside]) -> str:
    """The own priority with the range of its waits over phases, each policy, and the random orders."""
    spread = [ratios_of(each.panel(), own[0].panel()).wait for each in own]
    hours = np.mean([each.panel().wait_s for each in own]) / 3600
    lines = [[f"its own, {hours:.2f} h", "1", f"{min(spread):.2f} to {max(spread):.2f}", "", "", ""]]
    for each in policies:
        guard = f"{each.guard:.2f} ({each.of_guard})"
        averages = f"{each.slowdown:.2f}", f"{each.wait:.2f}"
        lines.append([each.policy, *averages, guard, each.part, f"{each.as_good:.0%}"])
    values = np.array([(each.bounded_slowdown, each.wait) for each in lottery])
    cells = [
        f"{mean:.2f} (best {best:.2f})" for mean, best in zip(values.mean(axis=0), values.min(axis=0), strict=True)
    ]
    titles = ["policy", "bounded slowdown", "mean wait", "worst guard", "worst QOS or queue", "random orders as good"]
    return markdown(titles, [*lines, [f"{len(lottery)} random orders", *cells, "", "", ""]])


def summary(policies: Mapping[str, Sequence[Beside]]) -> str:
    """A row for each policy, with bounded slowdown, mean wait and largest guard of each kind of workload. policies: of the sites of each
    kind."""
    lines = []
    every = [one for each in policies.values() for one in each]
    for name in (*SEARCHED, *RIVALS):
        cells = []
        for each in policies.values():
            mine = [one for one in each if one.policy == name]
            averages = [geometric_mean([getattr(one, of) for one in mine]) for of in ("slowdown", "wait")]
            cells.append(", ".join(f"{value:.2f}" for value in (*averages, max(one.guard for one in mine))))
        mine = [one for one in every if one.policy == name]
        lines.append([name, *cells, f"{sum(one.dominates for one in mine)} of {len(mine)}"])
    return markdown(["policy", *policies, "dominates"], lines)


def sites() -> Iterator[tuple[str, Callable[[], Site]]]:
    """The kind of each site, and what makes it."""
    for name in SLURM_RUNS:
        yield "recorded Slurm", partial(recorded_slurm, name)
    for name in PBS_RUNS:
        yield "recorded PBS", partial(recorded_pbs, name)
    yield "UB micro cluster", micro_site
    yield "UB-HPC", week_site


def main() -> None:
    """Prints a table for each workload, and one over all."""
    if not (SHARED / "traces" / "clusters").exists():
        sys.exit(f"{SHARED}: the data are not there; name the folder above with TRACEHOUSE_SHARED")
    policies: dict[str, list[Beside]] = {}
    for kind, make in sites():
        site = make()
        own = [site.replayed(None, number) for number in range(RUNS)]
        lottery = lottery_of(site, own[0])
        mine = list(judged(site, own, lottery))
        policies.setdefault(kind, []).extend(mine)
        print(f"\non {site.name}\n\n{table_of(site, own, lottery, mine)}", flush=True)
    print(f"\nsummary\n\n{summary(policies)}")


if __name__ == "__main__":
    main()
