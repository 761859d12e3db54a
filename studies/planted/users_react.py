"""What an open replay misses where users react: `python -m studies users_react`.

First real logs: what a change does where jobs come at the log's times, and where those that follow another come their think time after it
has left. The truth is unknown there. Logs of the archive, and IU Mason's, are replayed by FCFS with EASY over a row of processors. Two
sites are replayed by their own Slurm, as `tracehouse what-if` does. The bundled larch has a generated log, so no real habits are known.
T1 is a recorded run of some hours. A log of less than a week does not say how many of its followers are there by chance.

Then clusters with planted users, whose own run under the change is the truth. Replays see their log alone. `users_react planted` has these
only, and `users_react logs` the others.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

import tracehouse
from assets.common.progress import progress
from assets.common.trace import Trace
from assets.replaying.pace import pace_of
from assets.replaying.running.replayers import choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import RunSettings
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.paced import LEAST_REACTING, turns_round
from assets.replaying.scenarios.pairing import PairedJobs, judge_pair, pair_jobs, paired_waits
from models.judging.fidelity import WITHIN
from models.judging.verdict import DEPENDS
from papers.archive import ARCHIVE_LOGS, trace_of_log
from papers.markdown import markdown
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.followers import NO_JOB, SHORTEST_LOG_S, followers_of, longest_think
from simulator.jobs.jobs import NEVER, Jobs
from simulator.jobs.patience import SeenWaits, luck_of, patience_of
from simulator.jobs.words import KEEP_PACE, KEEP_TIMES
from simulator.metrics.metrics import size_classes
from studies.judging.limited import RULED_LOGS, trace_of
from studies.planted.ranges import PROMISED, RANGE_TITLES, Predicted, percent, range_cells, share_of, widening_of
from studies.planted.reacting import (
    PROCS,
    THINK_LN_S,
    Happened,
    ReactingUsers,
    Rules,
    a_minute_later,
    log_of,
    reacting_users,
    run_by,
)
from studies.predicting.recorded_queues import Recording, read_bundled, read_run

IntArray = NDArray[np.int64]

LOGS_PART, PLANTED_PART = "logs", "planted"
LOG_CHANGES = {
    "10 % fewer processors": (0.9, "FCFS"),
    "5 % fewer": (0.95, "FCFS"),
    "10 % more": (1.1, "FCFS"),
    "SAF": (1.0, "SAF"),
    "SJF": (1.0, "SJF"),
}
"""Of FCFS with EASY on the processors of the log: their factor, and the order."""
SITE_CHANGES = {
    "10 % fewer processors": {"procs": "-10%"},
    "5 % fewer": {"procs": "-5%"},
    "10 % more": {"procs": "+10%"},
    "SAF": {"policy": "SAF"},
    "SJF": {"policy": "SJF"},
}
"""Of a site under its own scheduler."""
BASE = Rules()
PLANTED_CHANGES = {
    "20 % more processors": Rules(procs=round(1.2 * PROCS)),
    "10 % fewer processors": Rules(procs=round(0.9 * PROCS)),
    "SAF": Rules(order="SAF"),
    "no backfilling": Rules(easy=False),
    "SJF": Rules(order="SJF"),
}
SHARES, CLUSTERS = (0.0, 0.3, 0.5, 0.7, 0.9), 100
CALIBRATING = range(1000, 1100)
"""Clusters by which the range is widened, of which none is published."""
OTHER_THINK_S = {"think times of 2 min": 120, "think times of 20 min": 1200}
"""Median think times of clusters that differ from the calibrating ones, seconds."""
OTHER_CLUSTERS = range(2000, 2050)
DRAWS, ENDS = 2000, (5, 95)
"""Of the bootstrap over clusters: how many, and the percentiles between which a 90 % interval is."""


# --- archive logs


def settings_of(trace: Trace, factor: float, order: str, users: str) -> RunSettings:
    """Some order with EASY on a multiple of a log's processors. Jobs that are wider are left out."""
    procs = round(factor * trace.cluster_procs)
    return RunSettings(procs=procs, policy=order, users=users, drop_wider=True)


def replay_of(trace: Trace, settings: RunSettings, pace: UsersPace | None = None) -> ReplayRun:
    """A replay of a whole log."""
    return replay_run(trace, settings, choose_policy(settings, None, trace.source), pace=pace)


LOG_TITLES = ["log", "jobs", "follow", "change", "mean wait, open", "mean wait, closed", "verdict, open"]
LOG_TITLES += ["verdict, closed", "turns round"]


def rows_of_log(name: str, trace: Trace) -> Iterator[list[str]]:
    """A row with LOG_TITLES for each change: of the mean wait of the later half of the jobs, with the verdict on it."""
    base = replay_of(trace, settings_of(trace, 1.0, "FCFS", KEEP_TIMES))
    pace = pace_of(base)
    index = trace.rows["job_index"].to_numpy()
    scored = index[len(index) // 2 :]
    for change, (factor, order) in progress(list(LOG_CHANGES.items()), name):
        changes, words = [], []
        for users in (KEEP_TIMES, KEEP_PACE):
            run = replay_of(trace, settings_of(trace, factor, order, users), pace)
            pairs = pair_jobs(base, run, scored)
            changes.append(f"{100 * mean_wait_change(base, run, pairs):+.0f} %")
            words.append(judge_pair(base, run, pairs).verdict.word)
        yield [
            *(name, f"{len(index):,}", follow_cell(trace, pace.share), change),
            *changes,
            *words,
            "yes" if turns_round(*words) else "",
        ]


def follow_cell(trace: Trace, share: float) -> str:
    """The share of a log's jobs that follow, and whether the log is too short to say how many of them do so by chance."""
    submit = trace.rows["submit_s"]
    return percent(share) + (", short log" if submit[-1] - submit[0] < SHORTEST_LOG_S else "")


def rows_of_site(name: str, source: str) -> Iterator[list[str]]:
    """The same of a source under its own scheduler, of all its jobs. A row without figures or a verdict says why. Raises ValueError where
    the source cannot be replayed."""
    results = tracehouse.what_if(SITE_CHANGES, source).results
    jobs = f"{results.plan.trace.rows.height:,}"
    follow = "" if results.following is None else follow_cell(results.plan.trace, results.following)
    rows = {row["scenario"]: row for row in results.rows.iter_rows(named=True)}
    for change in SITE_CHANGES:
        yield [name, jobs, follow, change, *_site_cells(rows[change])]


def _site_cells(row: dict[str, Any]) -> tuple[str, ...]:
    """Changes of the mean wait, verdicts, and whether these turn round."""
    if row["failed_because"] is not None:
        return ("", "", row["failed_because"], "", "")
    changes = [
        "" if row[share] is None else f"{100 * row[share]:+.0f} %" for share in ("change_share", "pace_change_share")
    ]
    at_times = row["times_verdict"] or row["verdict"] or f"none: {row['no_verdict_because']}"
    at_pace = row["pace_verdict"] or row["not_paced_because"] or f"none: under {percent(LEAST_REACTING)} follow"
    return (*changes, at_times, at_pace, "yes" if row["verdict"] == DEPENDS else "")


def logs_in_short(rows: list[list[str]]) -> Iterator[list[str]]:
    """A row for each log, with the change of the mean wait in a cell: open/closed."""
    for name in dict.fromkeys(row[0] for row in rows):
        of_log = [row for row in rows if row[0] == name]
        yield [*of_log[0][:3], *(f"{row[4].removesuffix(' %')}/{row[5]}" for row in of_log)]


def mean_wait_change(base: ReplayRun, run: ReplayRun, pairs: PairedJobs) -> float:
    """The change of the mean wait of the jobs of both, as a share of it before."""
    waits = paired_waits(base, run, pairs)
    before, after = (float(waits[name].to_numpy().mean()) for name in ("base_wait_s", "wait_s"))
    return after / before - 1


# --- planted users


@dataclass(frozen=True)
class PlantedLog:
    """What a cluster of reacting users shows, and replays of it. order: places of the log's jobs among the users'."""

    users: ReactingUsers
    happened: Happened
    order: IntArray
    jobs: Jobs

    @classmethod
    def of(cls, users: ReactingUsers) -> PlantedLog:
        """The log of these users under BASE."""
        happened = run_by(users, BASE)
        return cls(users, happened, *log_of(users, happened))

    @cached_property
    def base(self) -> Happened:
        """The open replay of the log under BASE. Raises ValueError where it is not the log, to the second."""
        replayed = replayed_by(self.jobs, BASE)
        if not np.array_equal(replayed.start, self.happened.start[self.order]):
            raise ValueError("the replay of the log is not the log: its two event loops have other rules")
        return replayed

    @cached_property
    def closed_jobs(self) -> Jobs:
        """The log's jobs, of which those follow another that `pace_of` would find by user, with the patience that it would draw."""
        return closed_jobs_of(self.jobs, self.base)

    @property
    def found(self) -> tuple[float, float]:
        """`Predicted.found` and `Predicted.right`."""
        place = np.empty_like(self.order)
        place[self.order] = np.arange(len(self.order))
        after, truly = self.closed_jobs.after, self.users.after[self.order]
        follows = after != NO_JOB
        right = follows & (truly != NO_JOB) & (after == place[truly])
        return float(follows.mean()), float(right.mean())

    def true_waits(self, rules: Rules, users: ReactingUsers | None = None) -> tuple[float, float]:
        """The mean wait under BASE, and under other rules on the cluster itself. users: of the latter, where they are others."""
        happened = run_by(users or self.users, rules)
        changed = Happened(happened.submit[self.order], happened.start[self.order])
        return mean_waits(self.base, changed)

    def replayed_waits(self, rules: Rules, is_closed: bool) -> tuple[float, float]:
        """The same by a replay of the log."""
        return mean_waits(self.base, replayed_by(self.closed_jobs if is_closed else self.jobs, rules))


def closed_jobs_of(jobs: Jobs, base: Happened) -> Jobs:
    """The jobs of a log as a closed replay takes them. base: their open replay."""
    has_started, waited = base.start >= 0, base.start - jobs.submit
    end = np.where(has_started, base.start + jobs.runtime, NO_JOB)
    after, think = followers_of(jobs.submit, end, jobs.user, longest_think(jobs.submit, end, jobs.user))
    size, wait = size_classes(jobs.procs, PROCS), np.where(has_started, waited, jobs.cancel - jobs.submit)
    seen = SeenWaits(jobs.user, size, wait, ~has_started)
    patience = patience_of(seen, jobs.user, size, wait, luck_of(np.arange(len(jobs))))
    cancel = np.where(has_started & (patience < NEVER), jobs.submit + patience, jobs.cancel)
    return replace(jobs, after=after, think=think, cancel=cancel)


def replayed_by(jobs: Jobs, rules: Rules) -> Happened:
    """A replay by the engine. A start is -1 for a job that was cancelled."""
    replayer = OrderReplayer(rules.order, "easy" if rules.easy else "none")
    outcome = replayer.replay(jobs, Cluster(rules.procs))
    started = outcome.schedule.started
    submit = jobs.submit if outcome.submit is None else outcome.submit
    return Happened(submit, np.where(started, outcome.schedule.start, -1))


def mean_waits(before: Happened, after: Happened) -> tuple[float, float]:
    """Mean waits of the jobs of the later half that start in both."""
    both = (before.start >= 0) & (after.start >= 0)
    both[: len(both) // 2] = False
    return tuple(float((each.start - each.submit)[both].mean()) for each in (before, after))  # type: ignore[return-value]


def predictions_of(seed: int, think_ln_s: float = THINK_LN_S) -> Iterator[Predicted]:
    """Every change on the cluster of a seed. Shares take turns, and users give up in a quarter of the clusters."""
    share, gives_up = SHARES[seed % len(SHARES)], seed // len(SHARES) % 4 == 3
    log = PlantedLog.of(reacting_users(seed, share, gives_up, think_ln_s=think_ln_s))
    later = a_minute_later(log.users, seed)
    for change, rules in PLANTED_CHANGES.items():
        replayed = log.replayed_waits(rules, is_closed=False), log.replayed_waits(rules, is_closed=True)
        waits = log.true_waits(rules), *replayed, log.true_waits(rules, later)
        yield Predicted(share, gives_up, change, *log.found, *waits, seed)


RIVALS = ("open", "closed", "no change")
ERROR_TITLES = ["cases", *(f"{what}, {rival}" for what in ("error", "A kept", "B kept") for rival in RIVALS)]
REASON_TITLES = ["cases", "taken for followers", "of them right", "followers missed", "error of a minute"]
REASON_TITLES += ["beyond closed where open is off"]


def error_cells(cases: list[Predicted]) -> list[str]:
    """What ERROR_TITLES say of some cases. Errors are medians of the logarithm of the factor, with their intervals."""
    errors = np.array([each.errors[: len(RIVALS)] for each in cases])
    medians = np.median(np.log(errors), axis=0)
    intervals = median_intervals(np.log(errors), np.array([each.cluster for each in cases]))
    return [
        f"{len(cases)}",
        *(
            f"{100 * mid:.1f} % [{low:.1f}, {high:.1f}]"
            for mid, (low, high) in zip(medians, 100 * intervals, strict=True)
        ),
        *(percent(share) for promised in (PROMISED, WITHIN["B"]) for share in (errors <= promised).mean(axis=0)),
    ]


def median_intervals(values: NDArray[np.float64], cluster: IntArray) -> NDArray[np.float64]:
    """The 90 % intervals of medians by the bootstrap over clusters, (columns, 2): cases of one cluster are drawn together.

    values: (cases, columns). cluster: of each case, (cases,). Raises ValueError where one has more cases than another."""
    cases = np.stack([np.flatnonzero(cluster == number) for number in np.unique(cluster)])
    drawn = np.random.default_rng(1).integers(0, len(cases), (DRAWS, len(cases)))
    medians = np.median(values[cases[drawn].reshape(DRAWS, -1)], axis=1)
    return np.percentile(medians, ENDS, axis=0).T


def reason_cells(cases: list[Predicted]) -> list[str]:
    """What REASON_TITLES say of some cases."""
    errors = np.array([each.errors for each in cases])
    share, found, right = (np.mean([getattr(each, name) for each in cases]) for name in ("share", "found", "right"))
    return [
        f"{len(cases)}",
        percent(found),
        percent(right / found) if found else "",
        percent(1 - right / share) if share else "",
        f"{100 * np.median(np.log(errors[:, -1])):.1f} %",
        share_of([each.is_beyond_closed for each in cases if each.is_off]),
    ]


def groups_of(cases: list[Predicted]) -> dict[str, list[Predicted]]:
    """The cases by the planted share of followers, and those whose users give up."""
    patient = [each for each in cases if not each.gives_up]
    shares = sorted({each.share for each in patient})
    groups = {percent(share): [each for each in patient if each.share == share] for share in shares}
    return groups | {"all shares, users give up": [each for each in cases if each.gives_up]}


def changes_of(cases: list[Predicted]) -> dict[str, list[Predicted]]:
    """The cases by change, where some follow and nobody gives up."""
    counted = those_that_follow(cases)
    return {change: [each for each in counted if each.change == change] for change in PLANTED_CHANGES}


def those_that_follow(cases: list[Predicted]) -> list[Predicted]:
    """The cases in which some follow and nobody gives up."""
    return [each for each in cases if each.share and not each.gives_up]


def tables_of(cases: list[Predicted]) -> Iterator[str]:
    """The tables of planted users, each below its title."""
    for title, titles, cells in (("", ERROR_TITLES, error_cells), (", reasons", REASON_TITLES, reason_cells)):
        for by, column, groups in (("", "follow", groups_of(cases)), (" by change", "change", changes_of(cases))):
            rows = [[name, *cells(of)] for name, of in groups.items() if of]
            yield f"planted users{title}{by}\n\n" + markdown([column, *titles], rows)


def table_of_ranges(cases: list[Predicted]) -> str:
    """The table of ranges, below its title: of the cases, and of clusters whose users think longer or less long."""
    widened = widening_of([each for each in cases_of(CALIBRATING) if not each.gives_up])
    groups = groups_of(cases) | {"30 to 90 %": those_that_follow(cases)}
    for name, seconds in OTHER_THINK_S.items():
        groups[f"30 to 90 %, {name}"] = those_that_follow(cases_of(OTHER_CLUSTERS, float(np.log(seconds))))
    rows = [[name, *range_cells(of, widened)] for name, of in groups.items() if of]
    return "planted users, ranges\n\n" + markdown(["follow", *RANGE_TITLES], rows)


def cases_of(seeds: range, think_ln_s: float = THINK_LN_S) -> list[Predicted]:
    """The cases of some clusters."""
    return [each for seed in progress(seeds, "clusters of reacting users") for each in predictions_of(seed, think_ln_s)]


def rows_of_other_logs() -> Iterator[list[str]]:
    """The rows of IU Mason, and of the two sites, whose home is a temporary one."""
    mason = next(log for log in RULED_LOGS if log.name == "IU Mason")
    with TemporaryDirectory() as folder:
        yield from rows_of_log(mason.name, trace_of(mason, Path(folder)))
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ.update(TRACEHOUSE_HOME=folder, TRACEHOUSE_SOURCES="")
        for name, log in (("larch, Slurm", read_bundled("larch")), ("T1, Slurm", read_run("T1"))):
            yield from rows_of_site(name, Recording(log).whole)


def tables_of_logs(rows: list[list[str]]) -> str:
    """The two tables of real logs, each below its title."""
    short = markdown(["log", "jobs", "follow", *LOG_CHANGES], list(logs_in_short(rows)))
    verdicts = markdown(["log", "change", *LOG_TITLES[-3:]], [[row[0], row[3], *row[-3:]] for row in rows])
    return f"real logs\n\n{short}\n\nreal logs, verdicts\n\n{verdicts}\n"


def main() -> None:
    """Prints the tables."""
    parts = sys.argv[1:] or [LOGS_PART, PLANTED_PART]
    if wrong := set(parts) - {LOGS_PART, PLANTED_PART}:
        sys.exit(f"no part {min(wrong)!r}: expected {LOGS_PART} or {PLANTED_PART}, or nothing for both")
    if LOGS_PART in parts:
        archive = [row for name in ARCHIVE_LOGS for row in rows_of_log(name, trace_of_log(name))]
        print(tables_of_logs([*archive, *rows_of_other_logs()]))
    if PLANTED_PART in parts:
        cases = cases_of(range(CLUSTERS))
        print("\n\n".join([*tables_of(cases), table_of_ranges(cases)]))


if __name__ == "__main__":
    main()
