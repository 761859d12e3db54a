"""One way to replay: a `Replayer` takes jobs and a cluster and returns an `Outcome`.

Orders with backfilling (simulator/engine/replay.py), partitions, live estimates, waits for switches, choosing jobs and nodes together, the
rules of a published code, and an agent that decides all starts are replayers. What belongs to one replay, such as the policy or the
nodes, is given to the replayer when it is made. `honours` says which settings it has a rule for, as options without their dashes
(`RunSettings.parts` lists them): what it does not name is refused before anything is replayed.

A further scheduler takes one file with its replayer, and one entry in `WAYS` of assets/replaying/running/replayers.py, which says when the
settings ask for it, how it is made, and the words by which it refuses. A setting that is new is refused by all that do not name it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule

BY_ORDER = frozenset({"policy", "backfill", "estimates", "reserve-by", "admit-by", "correction"})
"""What every replayer honours that follows an order and a backfilling rule."""


@dataclass(frozen=True)
class Outcome:
    """schedule: of all jobs. placement: their nodes, where the replayer gives them any. counts: what else happened, by name, such as the
    fate of underestimated jobs. others: further runs of a scheduler that is not deterministic."""

    schedule: Schedule
    placement: Placement | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    others: tuple[Schedule, ...] = ()


class Replayer(Protocol):
    """What decides all starts of a replay. honours: the settings that it has a rule for."""

    honours: ClassVar[frozenset[str]]

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        """Replays all jobs. Raises ValueError for what cannot be replayed, with the remedy."""
