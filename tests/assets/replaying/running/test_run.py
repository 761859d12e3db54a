"""Tests of assets/replaying/running: at_load, replayers, run, run_warm_start."""

from __future__ import annotations

import json
from dataclasses import dataclass
from dataclasses import replace as changed
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl
import pytest

from assets.common.trace import Trace, load_trace
from assets.replaying.configuring.outages import Outage
from assets.replaying.plots import gantt_of
from assets.replaying.running import replayers
from assets.replaying.running.on_nodes import NodeReplayer
from assets.replaying.running.replayers import WAYS, Way, check_settings, choose_policy, way_of
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import REFUSABLE, NodeSettings, RunSettings
from assets.replaying.running.tables import run_jobs, run_series, series_of
from models.allocation.looking_ahead import LookingAheadReplayer
from models.runtime.live import LiveReplayer
from papers.rlscheduler.rules import RLSchedulerReplayer
from simulator.engine.replay import OrderReplayer
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Schedule
from simulator.jobs.words import TOGETHER
from simulator.partitions import PartitionReplayer
from simulator.published import paper_part
from simulator.replayer import Outcome, Replayer
from simulator.topology.switches import SwitchReplayer
from tests.tiny import busy_log, swf_line, warehouse_of
from tracehouse.replaying import starts_table, summary

# replayers: Which way a replay takes, what each refuses.


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("placing"), busy_log(150)), "mine")


def run_of(trace: Trace, **settings: object) -> ReplayRun:
    checked = check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    return replay_run(trace, checked, choose_policy(checked, None, "mine"))


ON_NODES = NodeSettings(topology="4x2x8")


@pytest.mark.parametrize(
    ("settings", "nodes", "replayer"),
    [
        ({}, None, OrderReplayer),
        ({"backfill": "pick:by=shortest", "warm_start": True}, None, OrderReplayer),
        ({"estimates": "live"}, None, LiveReplayer),
        ({"partitions": {"7": 4}}, None, PartitionReplayer),
        ({"rules": "rlscheduler"}, None, RLSchedulerReplayer),
        ({"rules": "rlscheduler-corrected", "backfill": "none"}, None, RLSchedulerReplayer),
        ({"estimates": "live"}, {}, NodeReplayer),
        ({"cancelled": True}, {"switches": "1@1h"}, SwitchReplayer),
        ({}, {"place": TOGETHER, "period": 60}, LookingAheadReplayer),
    ],
)
def test_the_way_of_settings(settings: dict, nodes: dict | None, replayer: type[Replayer]) -> None:
    placed = None if nodes is None else ON_NODES.model_copy(update=nodes)
    assert way_of(check_settings(RunSettings(**settings), placed), placed).replayer is replayer


def test_every_way_has_words_for_what_it_does_not_honour() -> None:
    parts = {name.replace("_", "-") for name in REFUSABLE} | {"estimates live", "agent", "nodes"}
    for way in (paper_part(way).WAY if isinstance(way, str) else way for _, way in WAYS):
        assert way.replayer.honours <= parts
        for part in sorted(parts - way.replayer.honours):
            with pytest.raises(ValueError, match=r"leave|use actual|go with"):
                way.check(RunSettings(backfill="a.json"), [part])


@dataclass(frozen=True)
class OneByOne:
    """A scheduler that nobody has: jobs run one after the other."""

    honours: ClassVar = frozenset({"policy"})

    def replay(self, jobs: Jobs, cluster: Cluster) -> Outcome:
        start = np.maximum.accumulate(jobs.submit + jobs.runtime.cumsum())
        return Outcome(Schedule(start, np.zeros(len(jobs), dtype=np.bool_)), counts={"alone": len(jobs)})


def test_a_further_scheduler_is_one_entry(trace: Trace, monkeypatch: pytest.MonkeyPatch) -> None:
    """It refuses what it does not name."""
    own = Way(OneByOne, lambda asked: OneByOne(), {"": "one by one has no --{part}"})
    monkeypatch.setattr(replayers, "WAYS", ((lambda settings, nodes: True, own),))
    run = run_of(trace, policy="SJF")
    assert run.counts["alone"] == 150 and (np.diff(run.schedule.start) > 0).all()
    checked = check_settings(RunSettings())
    with pytest.raises(ValueError, match="one by one has no --outages"):
        run_of(trace, outages=[Outage(start=5, end=50, procs=1)])
    with pytest.raises(ValueError, match="one by one has no --nodes"):
        replay_run(trace, checked, choose_policy(checked, None, "mine"), ON_NODES)


# run: One what-if replay in memory: what is chosen, counted and refused.


@pytest.fixture(scope="module")
def trace_of_run(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(120)), "mine")


def run_of_of_run(trace: Trace, **settings):
    checked = check_settings(RunSettings(**settings))
    return replay_run(trace, checked, choose_policy(checked, None, "mine"))


def test_policies_are_named_in_their_usual_case(trace_of_run: Trace) -> None:
    assert run_of_of_run(trace_of_run, policy=" wfp3 ").policy.text == "WFP3"
    assert run_of_of_run(trace_of_run, policy="wfp3", rules="rlscheduler").policy.text == "WFP3"


def test_a_file_is_stored_without_its_folder(trace_of_run: Trace, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def widest(procs):\n    return -procs\n")
    chosen = run_of_of_run(trace_of_run, policy=f"{tmp_path / 'mine.py'}:widest").policy
    assert chosen.portable_text == "mine.py:widest" and chosen.text.startswith(str(tmp_path))
    assert chosen.sha256 is not None and len(chosen.sha256) == 64


def test_a_log_has_no_learned_policy(trace_of_run: Trace) -> None:
    with pytest.raises(ValueError, match="a log has no learned policy of its own"):
        run_of_of_run(trace_of_run, policy="learned")
    with pytest.raises(ValueError, match=r"or a policy file \(.json\)"):
        run_of_of_run(trace_of_run, policy="LIFO")


def test_counts_say_what_came_with_the_settings(trace_of_run: Trace) -> None:
    run = run_of_of_run(trace_of_run, outages=[Outage(start=0, end=10, procs=1)], window="10:50", estimates="actual")
    assert (run.counts["jobs"], run.counts["outages"], run.estimates, len(run.jobs)) == (50, 1, "actual", 50)
    assert run.trimmed_metrics() is None and run.rlscheduler_metrics() == {}
    assert sum(int(row["jobs"]) for row in run.by_class()) == 50
    assert run.hindsight()["hindsight_least_average_wait_s"] <= run.metrics()["average_wait_s"]


def test_live_estimates_are_used_under_every_rule_that_takes_them(trace_of_run: Trace) -> None:
    for backfill in ("none", "any", "easy", "easy-sjbf"):
        asked, live = (
            run_of_of_run(trace_of_run, policy="SJF", backfill=backfill, estimates=each)
            for each in ("requested", "live")
        )
        assert asked.schedule.start.tolist() != live.schedule.start.tolist(), backfill


def test_live_estimates_report_what_underestimates_did(trace_of_run: Trace) -> None:
    run = run_of_of_run(trace_of_run, estimates="live", reserve_by="requested")
    assert run.estimates == "live:mean"
    assert 0 <= run.counts["reservations_delayed"] <= run.counts["reservations"] <= run.counts["jobs"]
    assert "reservations" not in run_of_of_run(trace_of_run).counts


def test_rules_of_another_code_believe_what_the_log_says(trace_of_run: Trace) -> None:
    run = run_of_of_run(trace_of_run, rules="rlscheduler", policy="SJF")
    assert run.estimates == "as logged"
    assert json.dumps(run.rlscheduler_metrics())  # NaN would not be JSON


def test_jobs_wider_than_the_cluster(trace_of_run: Trace) -> None:
    with pytest.raises(ValueError, match=r"leave the .* such job"):
        run_of_of_run(trace_of_run, procs=8)
    run = run_of_of_run(trace_of_run, procs=8, drop_wider=True)
    assert run.counts["jobs"] + run.counts["jobs_wider_than_cluster"] == 120
    assert run.procs_from == "command line"


def test_a_load_moves_submissions_together_and_nothing_else(trace_of_run: Trace) -> None:
    usual, dense = run_of_of_run(trace_of_run), run_of_of_run(trace_of_run, load=2.0)
    since, twice = (run.jobs.submit - run.jobs.submit[0] for run in (usual, dense))
    assert (abs(twice - since / 2) <= 0.5).all()
    for name in ("runtime", "procs", "estimate", "user"):
        assert getattr(dense.jobs, name).tolist() == getattr(usual.jobs, name).tolist()
    assert dense.metrics()["average_wait_s"] > usual.metrics()["average_wait_s"]
    assert dense.trace_sha256 != usual.trace_sha256
    assert run_of_of_run(trace_of_run, load=1.0).trace_sha256 == usual.trace_sha256


def test_a_cancelled_job_is_as_patient_under_another_load(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + swf_line(1, 0, 0, 900, 4) + swf_line(2, 200, 130, 0, 4, 10, status=5)
    mine = load_trace(warehouse_of(tmp_path, log), "mine", cancelled=True)
    jobs = run_of_of_run(mine, load=2.0, cancelled=True).jobs
    assert (jobs.submit.tolist(), int(jobs.cancel[1])) == ([0, 100], 230)


# run_warm_start: A replay that begins with the jobs that the log says were running and waiting.

QUEUE_LOG = "; MaxProcs: 4\n" + "".join([
    swf_line(1, 0, 0, 100, 3, 100, user=1),
    swf_line(2, 10, 140, 50, 4, 50, user=2),
    swf_line(3, 20, 80, 30, 2, 30, user=3),
    swf_line(4, 60, 240, 20, 1, 20, user=4),
    swf_line(5, 70, 230, 40, 2, 40, user=5),
])  # fmt: skip
"""4 processors. When job 4 is submitted (60), job 1 runs until 100, and jobs 2 and 3 wait."""


@pytest.fixture(scope="module")
def queue(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("queue"), QUEUE_LOG), "mine")


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(400)), "mine")


def warm_run(trace: Trace, window: str = "3:2", **settings: Any) -> ReplayRun:
    return run_of_of_run(trace, window=window, warm_start=True, **settings)


def started_as(trace: Trace, whole: ReplayRun) -> Trace:
    """The trace, with the starts of a replay of all of it as those of the log."""
    starts = pl.Series(np.where(whole.schedule.started, whole.schedule.start, 0))
    return changed(trace, rows=trace.rows.with_columns(start_s=starts))


def test_a_queue_by_hand(queue: Trace) -> None:
    """Jobs 4 (1 processor, 20 s) and 5 (2 processors, 40 s) are asked for; job 1 holds 3 of 4 processors until 100.

    FCFS with EASY. At 60 the head is job 2, which needs all 4 processors: its shadow time is 100, without extra processors. Job 3 needs
    2 and does not fit. Job 4 fits, and ends at 80: it starts at 60 behind the head. Job 5 does not fit at 70. At 100 job 2 starts and
    runs until 150. Then job 3 (150 to 180) and job 5 (150 to 190) start. Waits: 0 and 80.

    SJF without backfilling. Job 4 has the shortest estimate, and starts at 60. At 100 job 3 (30 s) and job 5 (40 s) start before job 2
    (50 s). Job 5 ends at 140. Waits: 0 and 30. Job 2 runs from 140 to 190, after the last completion of an asked job.

    Without the queue, both jobs wait for nobody but job 1: job 5 starts at 100.
    """
    fcfs, sjf = warm_run(queue), warm_run(queue, policy="SJF", backfill="none")
    assert fcfs.schedule.start.tolist() == [60, 150] and fcfs.all_starts.start.tolist() == [100, 150, 60, 150]
    assert fcfs.schedule.backfilled.tolist() == [True, False]
    assert sjf.schedule.start.tolist() == [60, 100] and sjf.all_starts.start.tolist() == [140, 100, 60, 100]
    for run, waits in ((fcfs, [0, 80]), (sjf, [0, 30])):
        assert (run.counts["jobs"], run.counts["running_jobs"], run.counts["waiting_jobs"]) == (2, 1, 2)
        values = run.metrics()
        assert values["average_wait_s"] == np.mean(waits) and values["max_wait_s"] == max(waits)
        assert values["makespan_s"] == run.schedule.start[1] + 40 - 60
        assert sum(int(row["jobs"]) for row in run.by_class()) == 2
        assert run.hindsight()["hindsight_least_average_wait_s"] <= values["average_wait_s"]
        assert values["max_user_wait_s"] == max(waits)


def test_the_machine_is_measured_with_everything_on_it(queue: Trace) -> None:
    """FCFS with EASY, as worked out above: the time is from 60 to 190, the last completion of job 5.

    Held: job 1 3 * 40, job 4 1 * 20, job 2 4 * 50, job 3 2 * 30, job 5 2 * 40, together 480 of 4 * 130 = 520.
    Waiting: job 2 40 s, job 3 90 s, job 5 80 s: 210 / 130 jobs on average. Lost: one processor from 80 to 100, which is free
    while jobs wait: 20. In the time four jobs end that the replay has started: 4 * 3600 / 130 an hour.

    SJF ends at 140. Job 2 waits from 60 to 140, and nothing of its run is counted: 3 * 40 + 20 + 2 * 30 + 2 * 40 = 280 of 320.
    """
    fcfs, sjf = warm_run(queue).metrics(), warm_run(queue, policy="SJF", backfill="none").metrics()
    assert fcfs["utilisation"] == 480 / 520 and sjf["utilisation"] == 280 / 320
    assert fcfs["loss_of_capacity"] == 20 / 520
    assert fcfs["average_queue_length"] == 210 / 130
    assert fcfs["throughput_jobs_per_hour"] == pytest.approx(4 * 3600 / 130)
    assert sjf["average_queue_length"] == (80 + 40 + 30) / 80


def test_tables_have_the_asked_jobs_and_series_have_everything(queue: Trace) -> None:
    run = warm_run(queue)
    assert run_jobs("a", run)["wait_s"].to_list() == [0, 80]
    assert starts_table(run)["job_id"].to_list() == ["4", "5"]
    series = series_of(run)  # from 60 to 240: the last completion is at 190
    assert (series["time_s"].to_list(), run_series("a", run).height) == ([60, 120, 180], 3)
    assert series["procs_in_use"].to_list() == [(3 * 40 + 20 + 4 * 20) / 60, (4 * 30 + 4 * 30) / 60, 2 * 10 / 60]
    assert series["jobs_waiting"].to_list() == [(40 + 60 + 50) / 60, (30 + 30) / 60, 0]
    assert series["procs_waiting"].to_list() == [(4 * 40 + 2 * 60 + 2 * 50) / 60, (2 * 30 + 2 * 30) / 60, 0]
    assert len(gantt_of(run, "mine").axes[0].patches) or gantt_of(run, "mine").axes[0].collections


def test_the_summary_says_how_many_ran_and_waited(queue: Trace) -> None:
    values = summary(warm_run(queue), "mine")
    assert (values["jobs"], values["running_jobs"], values["waiting_jobs"]) == (2, 1, 2)
    assert summary(run_of_of_run(queue, window="3:2"), "mine")["waiting_jobs"] == 0


def test_a_warm_start_of_the_whole_log_begins_with_nobody(busy: Trace) -> None:
    warm, cold = run_of_of_run(busy, warm_start=True), run_of_of_run(busy)
    assert (warm.counts["running_jobs"], warm.counts["waiting_jobs"]) == (0, 0)
    assert warm.schedule.start.tolist() == cold.schedule.start.tolist() and warm.metrics() == cold.metrics()


@pytest.mark.parametrize("estimates", ["requested", "predicted"])
@pytest.mark.parametrize("backfill", ["none", "easy", "easy-sjbf", "conservative"])
@pytest.mark.parametrize("policy", ["FCFS", "SJF", "SAF"])
def test_a_replay_cut_by_its_own_times_goes_on_as_it_was(
    busy: Trace, policy: str, backfill: str, estimates: str
) -> None:
    """Conservative backfilling is the exception: what was promised before the cut is unknown to it. It is exact where all promises
    are made in the order of submission: FCFS with exact estimates."""
    rng = np.random.default_rng(1)
    predicted = busy.rows["runtime_s"] * rng.uniform(0.3, 3, busy.rows.height)
    trace = changed(busy, rows=busy.rows.with_columns(predicted_runtime_s=predicted))
    settings: dict[str, Any] = {"policy": policy, "backfill": backfill, "estimates": estimates}
    if estimates == "predicted" and backfill != "conservative":
        settings |= {"correction": "increments", "reserve_by": "requested"}
    if backfill == "conservative":
        settings["estimates"] = "actual"
    whole = run_of_of_run(trace, **settings)
    mine, waiting = started_as(trace, whole), 0
    for first in (40, 160, 239, 390):
        run = warm_run(mine, f"{first}:{400 - first}", **settings)
        if backfill != "conservative" or policy == "FCFS":
            assert run.schedule.start.tolist() == whole.schedule.start[first:].tolist()
        ahead = mine.rows[:first]
        ended = ahead.filter(pl.col("start_s") + pl.col("runtime_s") <= mine.rows["submit_s"][first]).height
        assert ended + run.counts["running_jobs"] + run.counts["waiting_jobs"] == first
        assert run.counts["jobs"] == run.rows.height == len(run.jobs) == len(run.schedule.start) == 400 - first
        assert len(run.all_jobs) == run.counts["waiting_jobs"] + 400 - first
        waiting += run.counts["waiting_jobs"]
    assert waiting > 3


def test_trimmed_metrics_leave_the_queue_out(queue: Trace, busy: Trace) -> None:
    run = warm_run(busy, "200:150", trim=0.1)
    trimmed = run.trimmed_metrics()
    assert run.counts["waiting_jobs"] > 0 and trimmed is not None
    span = run.jobs.submit[-1] - run.jobs.submit[0]
    middle = abs(run.jobs.submit - run.jobs.submit[0] - span / 2) <= 0.4 * span
    waits = run.schedule.start - run.jobs.submit
    assert trimmed["average_wait_s"] == pytest.approx(waits[middle].mean())
    assert run.metrics()["average_wait_s"] == pytest.approx(waits.mean())


def test_cancelled_jobs_wait_until_they_leave(tmp_path: Path) -> None:
    """Job 2 waits when job 4 is submitted (60), and leaves at 90, before job 1 ends (100). Job 3 had left at 50. So job 4 starts at
    100. Neither is among the cancelled jobs of the replay, which are asked jobs only."""
    log = "; MaxProcs: 4\n" + "".join([
        swf_line(1, 0, 0, 100, 4, 100),
        swf_line(2, 10, 80, 0, 4, 500, status=5),
        swf_line(3, 20, 30, 0, 4, 500, status=5),
        swf_line(4, 60, 90, 20, 2, 20),
    ])  # fmt: skip
    warehouse = warehouse_of(tmp_path, log)
    run = warm_run(load_trace(warehouse, "mine", cancelled=True), "3:1", cancelled=True)
    assert (run.counts["waiting_jobs"], run.counts["cancelled_jobs"], run.metrics()["jobs_cancelled"]) == (1, 0, 0)
    assert run.schedule.start.tolist() == [100]
    without = warm_run(load_trace(warehouse, "mine"), "1:1")
    assert (without.counts["waiting_jobs"], without.schedule.start.tolist()) == (0, [100])


def test_what_cannot_begin_so_is_refused(queue: Trace) -> None:
    with pytest.raises(ValueError, match="job 2 needs 4 processors, the cluster has 3"):
        warm_run(queue, procs=3)
    narrow = warm_run(queue, "2:2", procs=3, drop_wider=True)
    assert (narrow.counts["waiting_jobs"], narrow.counts["jobs_wider_than_cluster"]) == (1, 1)
    lasting = [Outage(start=0, procs=1)]
    with pytest.raises(ValueError, match=r"mine: job 2 .*can never start"):
        warm_run(queue, outages=lasting)
    for settings, says in (
        ({"estimates": "live"}, "live estimates have no --warm-start"),
        ({"rules": "rlscheduler"}, "have no --warm-start"),
        ({"load": 1.1}, "which --warm-start needs"),
        ({"estimates": "predicted"}, "no predicted run times yet"),
    ):
        with pytest.raises(ValueError, match=says):
            warm_run(queue, **settings)
