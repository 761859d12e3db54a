"""The two bundled clusters: what their jobs are like, and the rule of each that no configuration says.

Birch runs PBS, larch runs Slurm. Their configurations, as their administrators would collect them, are in `traces.synthetic.sites`.

The configuration of the bundled clusters, as their administrators would collect it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import date

from traces.cluster.accounts import Limit
from traces.cluster.description import Gate
from traces.synthetic.campaigns import CentreWork, JobKind

_HOUR_S = 3_600
SITE_GROUPS = ("astro", "bio", "chem", "eng", "geo", "phys")
USERS = 72


@dataclass(frozen=True)
class BundledSite:
    """scheduler: "pbs" or "slurm". limit, gate: the rule that no configuration has; one of them is None."""

    name: str
    scheduler: str
    time_zone: str
    work: CentreWork
    limit: Limit | None = None
    gate: Gate | None = None


def _hours(*hours: float) -> tuple[int, ...]:
    return tuple(int(hour * _HOUR_S) for hour in hours)


BIRCH = BundledSite(
    "birch",
    "pbs",
    "America/Denver",
    CentreWork(
        kinds=(
            JobKind("test", 0.12, "express", (1,), (4, 12, 24), (16,), 240.0, _hours(0.25, 0.5, 1)),
            JobKind("sweep", 0.16, "day", (1,), (1, 2, 4), (8, 16), 2_400.0, _hours(1, 2, 4, 8), arrays=0.3),
            JobKind("node", 0.36, "day", (1,), (12, 24, 24), (48, 64), 9_000.0, _hours(2, 4, 6, 8, 12)),
            JobKind("fat", 0.04, "day", (1,), (6, 12, 24), (200, 400), 6_000.0, _hours(4, 8, 12)),
            JobKind("mpi", 0.22, "day", (2, 2, 3, 4), (24,), (64,), 8_000.0, _hours(2, 4, 6, 8, 12), exclusive=True),
            JobKind("cfd", 0.10, "long", (1, 2, 2), (24,), (64,), 20_000.0, _hours(12, 24, 36, 48), exclusive=True),
        ),
        users=USERS,
        groups=SITE_GROUPS,
        first_day=date(2026, 3, 2),
        days=42,
        jobs=10_000,
        cores=40 * 24,
        load=0.76,
    ),
    gate=Gate((0, 1, 2, 3, 4), 8 * 60, 18 * 60, partition="long", timezone="America/Denver"),
)
LARCH = BundledSite(
    "larch",
    "slurm",
    "Europe/Stockholm",
    CentreWork(
        kinds=(
            JobKind("debug", 0.15, "short", (1,), (1, 2, 8), (4, 8), 240.0, _hours(0.25, 0.5, 1)),
            JobKind("sweep", 0.18, "batch", (1,), (1, 2, 4, 8), (8, 16), 2_400.0, _hours(1, 2, 4, 8, 24), arrays=0.3),
            JobKind("omp", 0.32, "batch", (1,), (16, 32, 32), (32, 64), 12_000.0, _hours(2, 4, 8, 12, 24)),
            JobKind("mpi", 0.18, "batch", (2, 2, 2, 3), (32,), (64,), 13_000.0, _hours(4, 8, 12, 24, 48)),
            JobKind("genome", 0.03, "highmem", (1,), (8, 16), (220, 440), 7_000.0, _hours(6, 12, 24, 48)),
            JobKind("train", 0.06, "gpu", (1,), (8,), (48,), 10_000.0, _hours(4, 8, 12, 24), gpus=(1, 1, 2, 4)),
        ),
        users=USERS,
        groups=SITE_GROUPS,
        first_day=date(2026, 2, 2),
        days=42,
        jobs=10_000,
        cores=40 * 32,
        load=0.75,
    ),
    limit=Limit("qos", "normal", "running", "user", "jobs", 16),
)
SITES = {site.name: site for site in (BIRCH, LARCH)}


@dataclass(frozen=True)
class SiteOptions:
    """What to generate. ValueError names the option, its value and what to do."""

    site: str  # birch or larch
    seed: int  # the same options and seed give the same log
    jobs: int = 10_000  # of fewer jobs there are fewer days

    def __post_init__(self) -> None:
        for option, kind, word in zip(
            fields(self), (str, int, int), ("a text", "a whole number", "a whole number"), strict=True
        ):
            value = getattr(self, option.name)
            if not isinstance(value, kind) or isinstance(value, bool):
                raise ValueError(f"{option.name} is {value!r}: use {word}")
        if self.site not in SITES:
            raise ValueError(f"site is {self.site!r}: choose one of {', '.join(SITES)}")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}: use a whole number from 0")
        if self.jobs < 1:
            raise ValueError(f"jobs is {self.jobs!r}: use a whole number from 1")

    @property
    def bundled(self) -> BundledSite:
        """The site, with so many jobs on so many days that it is as busy."""
        site = SITES[self.site]
        days = max(round(site.work.days * self.jobs / site.work.jobs), 1)
        return replace(site, work=replace(site.work, jobs=self.jobs, days=days))


# --- site files


_QMGR = """\
create queue express
set queue express queue_type = Execution
set queue express Priority = 150
set queue express resources_max.walltime = 01:00:00
set queue express max_run = [u:PBS_GENERIC=4]
set queue express enabled = True
set queue express started = True
create queue day
set queue day queue_type = Execution
set queue day Priority = 60
set queue day resources_max.walltime = 12:00:00
set queue day enabled = True
set queue day started = True
create queue long
set queue long queue_type = Execution
set queue long Priority = 40
set queue long resources_max.walltime = 72:00:00
set queue long max_run_res.ncpus = [o:PBS_ALL=576]
set queue long enabled = True
set queue long started = True
set server scheduling = True
set server default_queue = day
set server max_run_res.ncpus = [u:PBS_GENERIC=384]
set server backfill_depth = 10
set server resources_default.walltime = 01:00:00
set server job_sort_formula = "queue_priority + eligible_time / 600"
"""
_SCHED = """\
create sched default
set sched default scheduling = True
set sched default preempt_order = S
set sched default preempt_queue_prio = 150
set sched default preempt_prio = "express_queue, normal_jobs"
"""
_SCHED_CONFIG = """\
round_robin: False all
by_queue: False all
strict_ordering: True all
fair_share: False all
resources: "ncpus, mem, arch, host, vnode"
"""
_RESOURCE_GROUP = "".join(f"{group} {number} root 10\n" for number, group in enumerate(SITE_GROUPS, 60))
_PBS_NODE = """\
{name}
     Mom = {name}
     pbs_version = 23.06.06
     state = free
     resources_available.host = {name}
     resources_available.mem = {memory}gb
     resources_available.ncpus = 24
     sharing = default_shared
"""
_SLURM_CONF = """\
ClusterName=larch
SlurmctldHost=larch-head
SchedulerType=sched/backfill
SchedulerParameters=bf_continue,bf_window=2880,bf_resolution=600,bf_interval=120,bf_max_job_test=100,default_queue_depth=50
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
PriorityType=priority/multifactor
PriorityDecayHalfLife=7-0
PriorityCalcPeriod=00:05:00
PriorityMaxAge=3-0
PriorityWeightAge=4000
PriorityWeightFairshare=5000
PriorityWeightJobSize=500
PriorityWeightPartition=3000
PriorityWeightQOS=4000
AccountingStorageEnforce=associations,limits,qos
AccountingStorageTRES=gres/gpu
GresTypes=gpu
DefMemPerCPU=3500
NodeName=c[01-36] CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=128000 Weight=10
NodeName=m[01-02] CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=1024000 Weight=30
NodeName=g[01-02] CPUs=32 Sockets=2 CoresPerSocket=16 RealMemory=256000 Gres=gpu:a100:4 Weight=50
PartitionName=batch Nodes=c[01-36],m[01-02] Default=YES MaxTime=2-0 State=UP PriorityJobFactor=10
PartitionName=short Nodes=c[01-36],m[01-02],g[01-02] MaxTime=01:00:00 State=UP PriorityJobFactor=100
PartitionName=highmem Nodes=m[01-02] MaxTime=2-0 State=UP PriorityJobFactor=30
PartitionName=gpu Nodes=g[01-02] MaxTime=2-0 State=UP PriorityJobFactor=30
"""
_GRES_CONF = "AutoDetect=off\nNodeName=g[01-02] Name=gpu Type=a100 File=/dev/nvidia[0-3]\n"
_QOS = """\
Name|Priority|GraceTime|Preempt|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|MaxTRES|MaxWall|MaxTRESPU|MaxJobsPU|MinTRES
normal|0|00:00:00||cluster|||1.000000||||cpu=640,gres/gpu=6||
urgent|100|00:00:00||cluster|||2.000000||||cpu=128|4|
"""
SHARES = (30, 20, 20, 10, 10, 10)
"""Of the accounts."""


def site_files(name: str) -> dict[str, str]:
    """The text of each configuration file of a site by its name."""
    if SITES[name].scheduler == "pbs":
        nodes = "\n".join(_PBS_NODE.format(name=node, memory=memory) for node, memory in _birch_nodes())
        return {
            "qmgr.txt": _QMGR,
            "qmgr_sched.txt": _SCHED,
            "sched_config": _SCHED_CONFIG,
            "resource_group": _RESOURCE_GROUP,
            "pbsnodes.txt": nodes,
        }
    return {"slurm.conf": _SLURM_CONF, "gres.conf": _GRES_CONF, "sacctmgr.dump": _accounts(), "qos.txt": _QOS}


def _birch_nodes() -> Iterator[tuple[str, int]]:
    yield from ((f"b{number:03}", 96) for number in range(1, 37))
    yield from ((f"f{number:03}", 768) for number in range(1, 5))


def _accounts() -> str:
    lines = ["Cluster - 'larch':Fairshare=1:QOS='normal'", "Parent - 'root'"]
    for group, shares in zip(SITE_GROUPS, SHARES, strict=True):
        lines.append(f"Account - '{group}':Description='{group}':Organization='larch':Fairshare={shares}")
    for place, group in enumerate(SITE_GROUPS):
        lines.append(f"Parent - '{group}'")
        for user in range(place, USERS, len(SITE_GROUPS)):
            lines.append(
                f"User - 'u{user + 1:02}':DefaultAccount='{group}':Fairshare=1:QOS='normal,urgent':DefaultQOS='normal'"
            )
    return "\n".join(lines) + "\n"
