"""Two clusters whose logs are large and not public: what is published of them, and the options of logs that resemble theirs.

Source: Sgambati, Vakanski and Anderson, "DD-PPO for HPC scheduling" (2025), section 4.4. It gives nodes, cores, period, number
of jobs, the longest job (7 days), and that jobs have from one core to all. Everything else of the model is guessed: see
`traces.synthetic.community`, `traces.synthetic.weeks` and docs/results/ddppo.md, which has both in a table.

The paper gives Lemhi 20,240 cores and 504 nodes, which is not a whole number of cores a node. The model takes nodes of 40 cores,
20,160 in all.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date

DAYS_A_WEEK = 7


@dataclass(frozen=True)
class Centre:
    """What is published of a cluster and its log.

    first_day, last_day: of the log, in local dates. The model's log ends with the midnight that begins last_day. jobs: in that
    time. max_walltime_s: no job runs longer, seconds. time_zone, users: guessed. whole_node_scale: of the run times of jobs on whole
    nodes, chosen so that the jobs make about the load.
    """

    nodes: int
    cores_per_node: int
    first_day: date
    last_day: date
    jobs: int
    max_walltime_s: int
    time_zone: str
    users: int
    whole_node_scale: float

    @property
    def procs(self) -> int:
        """Cores of the whole cluster."""
        return self.nodes * self.cores_per_node

    @property
    def days(self) -> int:
        """Days of the log."""
        return (self.last_day - self.first_day).days

    @property
    def weeks(self) -> int:
        """Weeks of the log. The last one may be shorter."""
        return -(-self.days // DAYS_A_WEEK)


CENTRES = {
    "falcon": Centre(
        nodes=972,
        cores_per_node=36,
        first_day=date(2014, 9, 24),
        last_day=date(2020, 8, 4),
        jobs=11_318_441,
        max_walltime_s=7 * 86_400,
        time_zone="America/Boise",
        users=600,
        whole_node_scale=1.0,
    ),
    "lemhi": Centre(
        nodes=504,
        cores_per_node=40,
        first_day=date(2019, 1, 23),
        last_day=date(2019, 12, 31),
        jobs=383_845,
        max_walltime_s=7 * 86_400,
        time_zone="America/Boise",
        users=250,
        whole_node_scale=3.0,
    ),
}


@dataclass(frozen=True)
class CentreOptions:
    """What to generate. Every field is checked. ValueError names the field, its value and what to do.

    The jobs of a log are the first ones of every longer log of the same model, seed and load. So fewer jobs mean a shorter time on
    the same cluster, not fewer jobs a day.
    """

    model: str  # falcon or lemhi, the names in CENTRES
    seed: int  # the same options and seed give the same log
    jobs: int = 0  # 0: all of the model
    offered_load: float = 0.7  # share of the cluster's core seconds that the jobs use, an assumption

    def __post_init__(self) -> None:
        words = {"str": (str, "a text"), "int": (int, "a whole number"), "float": ((int, float), "a number")}
        for option in fields(self):
            value, (kind, word) = getattr(self, option.name), words[str(option.type)]
            if not isinstance(value, kind) or isinstance(value, bool):  # type: ignore[arg-type]
                raise ValueError(f"{option.name} is {value!r}: use {word}")
        if self.model not in CENTRES:
            raise ValueError(f"model is {self.model!r}: choose one of {', '.join(CENTRES)}")
        if self.seed < 0:
            raise ValueError(f"seed is {self.seed!r}: use a whole number from 0")
        if not 0 <= self.jobs <= self.centre.jobs:
            raise ValueError(f"jobs is {self.jobs!r}: {self.model} has 1 to {self.centre.jobs} jobs, and 0 means all")
        if not 0.0 < self.offered_load <= 1.0:
            raise ValueError(
                f"offered_load is {self.offered_load!r}: use a number above 0 and up to 1, for example 0.7"
            )

    @property
    def centre(self) -> Centre:
        """The cluster."""
        return CENTRES[self.model]

    @property
    def num_jobs(self) -> int:
        """Jobs of the log."""
        return self.jobs or self.centre.jobs
