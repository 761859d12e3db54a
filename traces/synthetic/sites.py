"""The two bundled clusters: what their jobs are like, and the rule of each that no configuration says.

Birch runs PBS, larch runs Slurm. Their configurations, as their administrators would collect them, are in `traces.synthetic.site_files`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from datetime import date

from traces.cluster.accounts import Limit
from traces.cluster.reservations import Gate
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
