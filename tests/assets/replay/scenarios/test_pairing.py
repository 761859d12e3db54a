"""Pairs of jobs: who is in both replays, intervals and verdicts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from assets.common.storage import open_warehouse
from assets.common.trace import Trace, load_trace
from assets.replay.replayers import check_settings, choose_policy
from assets.replay.run import ReplayRun, replay_run
from assets.replay.scenarios.pairing import judge_pair, pair_jobs, paired_waits, ranked_rows
from assets.replay.settings import RunSettings
from models.judging.judge import judge
from models.judging.panel import Replayed


@pytest.fixture
def trace(busy: Path) -> Trace:
    return load_trace(open_warehouse(), "mine", labels=["queue"])


def run_of(trace: Trace, **values: object) -> ReplayRun:
    settings = check_settings(RunSettings(drop_wider=True, **values))  # type: ignore[arg-type]
    return replay_run(trace, settings, choose_policy(settings, None, "mine"))


def everyone(trace: Trace) -> np.ndarray:
    return trace.rows["job_index"].to_numpy()


def test_all_jobs_are_paired_where_nothing_is_left_out(trace: Trace) -> None:
    base, other = run_of(trace), run_of(trace, policy="SJF")
    pairs = pair_jobs(base, other, everyone(trace))
    assert pairs.base.tolist() == pairs.other.tolist() == list(range(400))
    assert (pairs.base_only, pairs.other_only) == (0, 0)
    waits = paired_waits(base, other, pairs)
    assert waits["base_wait_s"].to_list() == (base.schedule.start - base.jobs.submit).tolist()
    assert waits["wait_s"].to_list() == (other.schedule.start - other.jobs.submit).tolist()


def test_jobs_that_are_in_one_replay_only_are_counted(trace: Trace) -> None:
    whole, without, small = run_of(trace), run_of(trace, without_queue=["7"]), run_of(trace, procs=12)
    wide = int((trace.rows["procs"] > 12).sum())
    pairs = pair_jobs(whole, without, everyone(trace))
    assert (len(pairs.base), pairs.base_only, pairs.other_only) == (360, 40, 0)
    waits = paired_waits(whole, without, pairs)
    assert waits["job_index"].to_list() == without.rows["job_index"].to_list()
    assert waits["wait_s"].to_list() == (without.schedule.start - without.jobs.submit).tolist()
    pairs = pair_jobs(small, whole, everyone(trace))
    assert (len(pairs.base), pairs.base_only, pairs.other_only) == (400 - wide, 0, wide) and wide > 0
    pairs = pair_jobs(whole, without, everyone(trace)[:100])
    assert (len(pairs.base), pairs.base_only) == (90, 10)
    with pytest.raises(ValueError, match="no scored job is in both this scenario and the base"):
        pair_jobs(without, run_of(trace, without_queue=["1", "2"]), everyone(trace))


def test_a_verdict_is_that_of_whole_replays_where_nothing_is_left_out(trace: Trace) -> None:
    base, other = run_of(trace), run_of(trace, policy="SAF")
    ours = judge_pair(base, other, pair_jobs(base, other, everyone(trace)))
    whole = [Replayed(run.jobs, run.cluster, run.schedule, np.ones(400, dtype=bool)) for run in (other, base)]
    assert ours == judge([whole[0]], [whole[1]], wide_of=16)


def test_another_load_keeps_jobs_side_by_side(trace: Trace) -> None:
    base, dense = run_of(trace), run_of(trace, load=2.0)
    judgement = judge_pair(base, dense, pair_jobs(base, dense, everyone(trace)))
    assert judgement.verdict.word == "worse"
    assert judgement.wait.ratio > 1 and judgement.wait.blocks in (8, 16)


def test_scenarios_are_ranked_by_their_waits_and_have_a_direction() -> None:
    rows = [{"change_h": change, "paired_base_wait_h": 10.0} for change in (2.0, -1.0, 0.05, -1.0)]
    assert [(row["rank"], row["direction"]) for row in ranked_rows(rows)] == [
        (4, "longer waits"),
        (1, "shorter waits"),
        (3, "about the same waits"),
        (1, "shorter waits"),
    ]
