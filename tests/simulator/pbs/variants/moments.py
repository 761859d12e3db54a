"""A replay under PBS that is cut at a moment, and goes on from what ran, waited and had ended then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simulator.jobs.cluster import FOREVER, Cluster, HeldNodes, RunningJobs
from simulator.jobs.jobs import Jobs
from simulator.pbs.replaying import PbsReplayer
from simulator.pbs.requests import PbsJob
from simulator.pbs.settings import PbsPhases, cycle_settings
from simulator.pbs.state import AFTER_ENDS
from simulator.pbs.variants.warm import PbsPast, PbsWarmStart
from simulator.replayer import Outcome
from traces.cluster.description import ClusterDescription

IntArray = NDArray[np.int64]


class CutReplay:
    """A whole replay. asked: in the order of submission. turns: as PbsReplayer has them."""

    def __init__(
        self,
        site: ClusterDescription,
        asked: Sequence[PbsJob],
        runtime: IntArray,
        phases: PbsPhases | None = None,
        turns: tuple[IntArray, IntArray] | None = None,
    ) -> None:
        number = np.arange(len(asked))
        self.site, self.asked, self.runtime, self.phases = site, list(asked), runtime, phases or PbsPhases()
        self.turns = turns or (AFTER_ENDS + number, number)
        self.submit = np.array([one.submit_s for one in asked], dtype=np.int64)
        replayer = PbsReplayer(site, asked, self.phases, self.turns)
        outcome = replayer.replay(self._jobs(number), Cluster(site.num_cpus))
        assert outcome.held is not None
        self.start, self.held = outcome.schedule.start, outcome.held
        over = [
            min([FOREVER, *(each.end_s for each in site.reservations if each.begin_s <= start < each.end_s)])
            if one.reservation
            else FOREVER
            for one, start in zip(asked, self.start.tolist(), strict=True)
        ]
        self.end = np.where(self.start >= 0, np.minimum(self.start + runtime, np.array(over)), -1)

    def moments(self, count: int) -> list[int]:
        """Seconds in which a job joins the queue and none ends, while most jobs wait, at most so many of them."""
        joins = np.array([not one.dependencies and one.begin_s <= one.submit_s for one in self.asked])
        quiet = np.setdiff1d(self.submit[joins], self.end)
        left = np.where(self.start >= 0, self.start, self.submit.max() + 1)
        waiting = [int(((self.submit < second) & (left >= second)).sum()) for second in quiet]
        busy = quiet[np.argsort(waiting, kind="stable")[len(quiet) // 3 :]]
        return sorted(busy[:: max(len(busy) // count, 1)].tolist())[:count]

    def rows_from(self, second: int) -> tuple[IntArray, IntArray, IntArray]:
        """Rows of jobs that have ended by a second, that run then, and that start then or later."""
        ran = (self.start >= 0) & (self.start < second)
        return tuple(np.flatnonzero(each) for each in (ran & (self.end <= second), ran & (self.end > second), ~ran))

    def from_moment(
        self,
        second: int,
        knows_nodes: bool = True,
        eligible_s: IntArray | None = None,
        follows: tuple[IntArray, IntArray] | None = None,
    ) -> Outcome:
        """What becomes of those that start then or later. follows: `after` and `think` of these jobs."""
        ended, running, later = self.rows_from(second)
        rows = np.concatenate([running, later])
        place = {int(row): k for k, row in enumerate(rows)}
        asked = [self._released(self.asked[row], place, set(ended.tolist())) for row in rows]
        first_decay = int(self.submit.min()) + (
            cycle_settings(self.site.scheduler).decay_time if self.phases.decay_s is None else self.phases.decay_s
        )
        ran = [self._released(self.asked[row], {}, set(ended.tolist())) for row in ended]
        warm = PbsWarmStart(
            asked[: len(running)],
            self._nodes_of(running if knows_nodes else running[:0], len(running)),
            PbsPast(ran, self.start[ended], self.end[ended]),
            eligible_s,
        )
        ones = np.ones(len(running), dtype=np.int64)
        limit = np.maximum(self._jobs(running).limit, self.runtime[running])
        replayer = PbsReplayer(
            self.site,
            asked[len(running) :],
            replace(self.phases, decay_s=first_decay - int(self.submit[rows].min())),
            (self.turns[0][rows], self.turns[1][rows]),
            warm=warm,
        )
        cluster = Cluster(
            self.site.num_cpus,
            RunningJobs(self.start[running], (self.end - self.start)[running], ones, limit, limit, 0 * ones),
            waiting=int((self.submit[later] < second).sum()),
            begin=second,
        )
        jobs = self._jobs(later)
        if follows is not None:
            jobs = replace(jobs, after=follows[0], think=follows[1])
        return replayer.replay(jobs, cluster)

    def _released(self, one: PbsJob, place: dict[int, int], ended: set[int]) -> PbsJob:
        """The job with its dependencies on jobs of the replay, from when the others let it go."""
        free = [other for kind, other in one.dependencies if other in ended and kind != "afternotok"]
        times = [int(self.start[other] if kind == "after" else self.end[other]) for kind, other in one.dependencies]
        return replace(
            one,
            begin_s=max([one.begin_s, *(times[k] for k, (_, other) in enumerate(one.dependencies) if other in free)]),
            held=one.held or any(kind == "afternotok" for kind, _ in one.dependencies),
            dependencies=tuple((kind, place[other]) for kind, other in one.dependencies if other in place),
        )

    def _nodes_of(self, rows: IntArray, count: int) -> HeldNodes:
        """The nodes of jobs with their processors, by what their chunks are."""
        first, nodes = [0], []
        for row in rows:
            one = self.asked[row]
            chunks = [piece.amounts.get("ncpus", 0) for piece in one.pieces for _ in range(piece.count)]
            held = self.held.node[self.held.first[row] : self.held.first[row + 1]]
            nodes += [(node, int(np.array(chunks)[held == node].sum())) for node in np.unique(held)]
            first.append(len(nodes))
        first += first[-1:] * (count - len(rows))
        node, cpus = np.array(nodes, dtype=np.int64).reshape(-1, 2).T.copy()
        return HeldNodes(np.array(first, dtype=np.int64), node, cpus)

    def _jobs(self, rows: IntArray) -> Jobs:
        limit = np.array([self.asked[row].time_s for row in rows], dtype=np.int64)
        runtime = self.runtime[rows]
        return Jobs(self.submit[rows], runtime, np.ones_like(runtime), limit, np.maximum(limit, runtime))
