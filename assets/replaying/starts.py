"""When the jobs that wait at a moment start, in replays of the source's site from that moment on.

The site is the one that answers everything else of the source. Who runs holds its nodes, what accounts have used counts, and run times
are drawn."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import cached_property
from types import MappingProxyType

import numpy as np
import polars as pl
from numpy.typing import NDArray

from assets.common.trace import Trace
from assets.replaying.configuring.outages import outages_of
from assets.replaying.limits.holds import missing_processors
from assets.replaying.limits.way import clock_zero_s, named_cluster
from assets.replaying.own.way import OwnRuns, sized_cluster
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import Asked, check_settings, choose_policy, replayer_of
from assets.replaying.running.run import partition_shares
from assets.replaying.running.settings import OWN_SCHEDULERS, RunSettings, own_policy_of
from assets.replaying.site import Site, site_of, with_order
from models.runtime.predictor import FloatArray
from models.waits.history import State
from models.waits.replays import QueueStarts, RowStarts, draw_runtimes, starts_of_fitting
from simulator.jobs.cluster import Cluster, Outages, RunningJobs, joined_outages
from simulator.jobs.jobs import Jobs
from simulator.limits.rules import KNOWN_AFTER_S
from simulator.replayer import Replayer
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import clusters_of_source
from traces.cluster.description import ClusterDescription
from warehouse import Warehouse

IntArray = NDArray[np.int64]
NO_ORDER: Mapping[str, str] = MappingProxyType({})
DAY_S, WEEK_S = 86_400, 7 * 86_400
LATER_DRAWN, REPLAYS_EACH = 4, 5
"""How often jobs that come later are drawn, at most and once for so many replays: those of one draw differ in run times alone."""
LEAST_LATER, LATER_EACH, MOST_LATER, LONGEST_LATER_S = 50, 2, 4_000, 4 * WEEK_S
"""Jobs that come later: so many for each that waits, between the least and the most, within this time."""
PERIODS_BACK = 8
"""From how many past weeks or days they are drawn."""


@dataclass(frozen=True)
class OnSite:
    """settings, policy: of replays of the site, by its own order or by another one there."""

    site: Site
    settings: RunSettings
    policy: ChosenPolicy

    @property
    def procs(self) -> int | None:
        """Processors of the machine, None for those that the source has."""
        return self.settings.procs or self.site.procs

    @property
    def order_words(self) -> str:
        """Who decides, in words."""
        own = own_policy_of(self.settings.policy)
        if own is None:
            return f"{self.policy.text} with backfilling {self.settings.backfill}"
        words = f"{own[1]} in {OWN_SCHEDULERS[own[0]]}" if own[1] else OWN_SCHEDULERS[own[0]]
        return f"{words} without backfilling" if self.settings.edits else words

    @property
    def words(self) -> str:
        """Who decides, why that one, and how far replays by it can be trusted, without the figures of the grade."""
        return f"{self.order_words}; {self.site.scheduler.why}; {self.site.trust.partition(' (')[0]}"

    def starts(self, trace: Trace, place: IntArray) -> QueueStarts:
        """Replays of queues. trace, place: as SiteStarts has them."""
        settings, order = self.settings, self.policy.policy
        of_machine = settings.is_on_cluster or settings.cluster is not None or settings.partitions or settings.outages
        if order is not None and not of_machine:
            return RowStarts(order, settings.backfill)
        return SiteStarts(settings, self.policy, trace, place, self.procs or trace.cluster_procs)


def on_site(warehouse: Warehouse, source: str, order: Mapping[str, str] = NO_ORDER) -> OnSite:
    """The replays of a source's site. order: policy and backfill in place of its own, as in a scenario. Raises ValueError, with the remedy,
    for one that the site does not take."""
    site = site_of(source, warehouse)
    settings = site.settings
    if order:
        settings = check_settings(settings.model_copy(update=with_order(dict(order), settings)))
    return OnSite(site, settings, choose_policy(settings, warehouse, source))


@dataclass(frozen=True)
class SiteStarts:
    """settings, policy: of the site's replays, or of those under another order there. trace: rows of all jobs that a state may have, with
    the labels of the settings. place: the row of each number of a job in a state, int64 (numbers,). procs: of the machine."""

    settings: RunSettings
    policy: ChosenPolicy
    trace: Trace
    place: IntArray
    procs: int

    def __call__(self, state: State, samples: int, seed: int | Sequence[int]) -> FloatArray:
        """Seconds from now until each waiting job starts, in `samples` replays, float64 (samples, waiting jobs). Infinite for a job
        that never starts.

        The scheduler plans with requests, or with run times where there are none. The jobs run as long as is drawn. Raises ValueError
        where the site cannot have had such jobs."""
        rows = self.trace.rows[self.place[state.waiting.number]]
        return starts_of_fitting(state, self._fits(rows), samples, lambda part: self._starts(part, samples, seed))

    def _fits(self, rows: pl.DataFrame) -> NDArray[np.bool_]:
        """Whether each job is not wider than what its queue has."""
        return (rows["procs"] <= partition_shares(rows, self.settings.partitions, self.procs)).to_numpy()

    def _starts(self, state: State, samples: int, seed: int | Sequence[int]) -> FloatArray:
        running, waiting = state.running, state.waiting
        rng = np.random.default_rng(seed)
        elapsed = state.now - running.since
        held = draw_runtimes(running, elapsed, samples, rng)
        queued = draw_runtimes(waiting, np.zeros(len(waiting), dtype=np.int64), samples, rng)
        starts, own = np.empty((samples, len(waiting))), self._waiting_rows(state)
        ahead, outages, described = self._ahead(state), self._outages(state), self._described(state.now)
        for group in np.array_split(np.arange(samples), min(LATER_DRAWN, -(-samples // REPLAYS_EACH))):
            rows = pl.concat([own, self._later(state, rng)])
            cluster = self._cluster(state, elapsed + 1, outages)
            asked = Asked(self.trace, self.settings, self.policy, rows, cluster, None, (ahead, state.now), 1, described)
            jobs, replayer = self.trace.jobs_of(rows), replayer_of(asked)
            for k in group.tolist():
                runtime = np.concatenate([queued[k], jobs.runtime[len(waiting) :]])
                limit = np.maximum(runtime, rows["requested_walltime_s"].to_numpy())
                drawn = replace(jobs, runtime=runtime, limit=limit, estimate=limit, hold=limit, admit=limit)
                now = self._cluster(state, np.maximum(held[k], elapsed + 1), outages)
                start = _replayed(replayer, drawn, now, k)[: len(waiting)]
                starts[k] = np.where(start >= 0, start - state.now, np.inf)
        return starts

    def _waiting_rows(self, state: State) -> pl.DataFrame:
        """What waits, as it was submitted. Over processors alone it comes at the moment itself, so that an order looks at it then. Nobody
        knows yet when a job that is held is freed: it counts as free."""
        submit = np.minimum(state.waiting.since, state.now)
        if self._described(state.now) is None:
            submit[:] = state.now
        rows = self.trace.rows[self.place[state.waiting.number]]
        # whether a job waits for another, the eligible time says, which counts as now
        unknown = {"cancel_s": pl.lit(None, pl.Int64), "dependency": pl.lit(None, pl.Utf8)}
        rows = rows.with_columns(submit_s=pl.Series(submit), **unknown)
        if "eligible_time" not in rows.columns:
            return rows
        now = pl.lit(self.trace.clock_zero + timedelta(seconds=state.now)).cast(rows.schema["eligible_time"])
        return rows.with_columns(pl.min_horizontal("eligible_time", now).alias("eligible_time"))

    def _later(self, state: State, rng: np.random.Generator) -> pl.DataFrame:
        """Jobs that come from now on, as they came at the same hours of past weeks, or days, or at any time of a shorter log. What nobody
        knew by now, such as how long a job ran that still runs, is as predicted. Nobody comes where the log is older than that."""
        rows, now = self.trace.rows, state.now
        past = rows.filter(pl.col("submit_s") < now, pl.col("cancel_s").is_null(), pl.Series(self._fits(rows)))
        past = past.sort("submit_s", maintain_order=True)
        is_over = pl.col("start_s") + pl.col("runtime_s") <= now
        submit, over = past["submit_s"].to_numpy(), past.filter(is_over)["submit_s"]
        if over.is_empty():
            return past[:0]
        most = min(max(LEAST_LATER, LATER_EACH * len(state.waiting)), MOST_LATER)
        places, seconds = _drawn_later(submit, int(over[-1]), now, most, rng)
        asked = pl.when(pl.col("requested_walltime_s") >= 1).then("requested_walltime_s").otherwise(1)
        predicted = pl.coalesce(pl.col("runtime_p50_s"), asked.cast(pl.Float64)).cast(pl.Int64)
        return past[places].with_columns(
            runtime_s=pl.when(is_over).then("runtime_s").otherwise(predicted),
            submit_s=pl.Series(seconds, dtype=pl.Int64),
        )

    @cached_property
    def _descriptions(self) -> tuple[list[int], dict[int, ClusterDescription]]:
        """From which UTC seconds on the cluster has another description, and the descriptions that were asked for, by how many of these are
        past."""
        declared = load_catalogue(may_be_missing=True).sources.get(self.trace.source)
        clusters = () if declared is None else clusters_of_source(declared)
        return sorted(each.valid_from_s for each in clusters if each.valid_from_s is not None), {}

    def _described(self, now: int) -> ClusterDescription | None:
        """The cluster of the settings at a second of the log's clock. None where none is described."""
        if not self.settings.is_on_cluster and self.settings.cluster is None:
            return None
        begins, made = self._descriptions
        number = bisect_right(begins, now + clock_zero_s(self.trace))
        if number not in made:
            row = self.trace.rows[:1].with_columns(submit_s=pl.lit(now, pl.Int64))
            named = self.settings.cluster
            of_own = self.settings.is_on_cluster or named is None
            made[number] = (
                sized_cluster(self.trace, row, self.settings)
                if of_own
                else named_cluster(str(named), self.trace.source)
            )
        return made[number]

    def _ahead(self, state: State) -> pl.DataFrame:
        """Rows of what runs, and behind them of what has ended, whose use may count."""
        running, now = state.running, state.now
        since = pl.Series(np.minimum(running.since, now - 1))
        rows = self.trace.rows[self.place[running.number]]
        runs = rows.with_columns(start_s=since, runtime_s=now + 1 - since, cancel_s=pl.lit(None, pl.Int64))
        ended = self.trace.rows.filter(pl.col("cancel_s").is_null(), pl.col("start_s") + pl.col("runtime_s") <= now)
        return pl.concat([runs, ended])

    def _outages(self, state: State) -> Outages:
        """Processors that are missing: of the settings, and those of which limits are described."""
        outages, described = outages_of(self.settings.outages, self.procs), self._described(state.now)
        if described is None or self.settings.is_on_cluster:
            return outages
        longest_s = int(max(state.running.request.max(initial=0), state.waiting.request.max(initial=0)))
        span = (state.now, state.now + KNOWN_AFTER_S)
        return joined_outages(
            outages, missing_processors(described, self.procs, longest_s, clock_zero_s(self.trace), span)
        )

    def _cluster(self, state: State, runtime: IntArray, outages: Outages) -> Cluster:
        """The machine, on which the running jobs run for so many seconds in all."""
        running = state.running
        limit = np.maximum(runtime, running.request)
        runs = RunningJobs(running.since, runtime, running.procs, limit, limit, np.maximum(running.user, 0))
        procs = max(self.procs, state.busy_procs)  # a log may use more for a few seconds
        return Cluster(procs, runs, outages, waiting=len(state.waiting), begin=state.now)


def _drawn_later(
    submit: IntArray, last: int, now: int, most: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Places of past jobs that come later, and when, seconds. submit: of these, ascending. last: of them whose log is whole. most: so many.

    A piece of the future is like one of the past that the log has, but for a tenth of it."""
    span = last - int(submit[0])
    period = next((length for length in (WEEK_S, DAY_S) if span >= 2 * length), span // 2)
    chosen, moved, count = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)], 0
    for piece in range(LONGEST_LATER_S // period if period else 0):
        begin = now + piece * period
        if period in (WEEK_S, DAY_S):
            least = max(piece + 1, -(-(begin + period * 9 // 10 - last) // period))
            furthest = min((begin - int(submit[0])) // period, least + PERIODS_BACK - 1)
            if furthest < least:
                break
            first = begin - period * int(rng.integers(least, furthest + 1))
        else:
            first = int(rng.integers(int(submit[0]), last - period + 1))
        places = np.arange(*np.searchsorted(submit, [first, first + period]))
        chosen.append(places)
        moved.append(submit[places] + begin - first)
        count += len(places)
        if count >= most:
            break
    return np.concatenate(chosen)[:most], np.concatenate(moved)[:most]


def _replayed(replayer: Replayer, jobs: Jobs, cluster: Cluster, number: int) -> IntArray:
    """Starts in a replay. number: of the run, by which those of a cluster's own scheduler differ."""
    outcome = replayer.run(jobs, cluster, number) if isinstance(replayer, OwnRuns) else replayer.replay(jobs, cluster)
    return outcome.schedule.start
