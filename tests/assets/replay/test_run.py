"""One what-if replay in memory: what is chosen, counted and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assets.common.trace import Trace, load_trace
from assets.replay.changes.outages import Outage
from assets.replay.replayers import check_settings, choose_policy
from assets.replay.run import replay_run
from assets.replay.settings import RunSettings
from tests.tiny import busy_log, swf_line, warehouse_of


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(120)), "mine")


def run_of(trace: Trace, **settings):
    checked = check_settings(RunSettings(**settings))
    return replay_run(trace, checked, choose_policy(checked, None, "mine"))


def test_policies_are_named_in_their_usual_case(trace: Trace) -> None:
    assert run_of(trace, policy=" wfp3 ").policy.text == "WFP3"
    assert run_of(trace, policy="wfp3", rules="rlscheduler").policy.text == "WFP3"


def test_a_file_is_stored_without_its_folder(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("def widest(procs):\n    return -procs\n")
    chosen = run_of(trace, policy=f"{tmp_path / 'mine.py'}:widest").policy
    assert chosen.portable_text == "mine.py:widest" and chosen.text.startswith(str(tmp_path))
    assert chosen.sha256 is not None and len(chosen.sha256) == 64


def test_a_log_has_no_learned_policy(trace: Trace) -> None:
    with pytest.raises(ValueError, match="a log has no learned policy of its own"):
        run_of(trace, policy="learned")
    with pytest.raises(ValueError, match=r"or a policy file \(.json\)"):
        run_of(trace, policy="LIFO")


def test_counts_say_what_came_with_the_settings(trace: Trace) -> None:
    run = run_of(trace, outages=[Outage(start=0, end=10, procs=1)], window="10:50", estimates="actual")
    assert (run.counts["jobs"], run.counts["outages"], run.estimates, len(run.jobs)) == (50, 1, "actual", 50)
    assert run.trimmed_metrics() is None and run.rlscheduler_metrics() == {}
    assert sum(int(row["jobs"]) for row in run.by_class()) == 50
    assert run.hindsight()["hindsight_least_average_wait_s"] <= run.metrics()["average_wait_s"]


def test_live_estimates_are_used_under_every_rule_that_takes_them(trace: Trace) -> None:
    for backfill in ("none", "any", "easy", "easy-sjbf"):
        asked, live = (run_of(trace, policy="SJF", backfill=backfill, estimates=each) for each in ("requested", "live"))
        assert asked.schedule.start.tolist() != live.schedule.start.tolist(), backfill


def test_live_estimates_report_what_underestimates_did(trace: Trace) -> None:
    run = run_of(trace, estimates="live", reserve_by="requested")
    assert run.estimates == "live:mean"
    assert 0 <= run.counts["reservations_delayed"] <= run.counts["reservations"] <= run.counts["jobs"]
    assert "reservations" not in run_of(trace).counts


def test_rules_of_another_code_believe_what_the_log_says(trace: Trace) -> None:
    run = run_of(trace, rules="rlscheduler", policy="SJF")
    assert run.estimates == "as logged"
    assert json.dumps(run.rlscheduler_metrics())  # NaN would not be JSON


def test_jobs_wider_than_the_cluster(trace: Trace) -> None:
    with pytest.raises(ValueError, match=r"leave the .* such job"):
        run_of(trace, procs=8)
    run = run_of(trace, procs=8, drop_wider=True)
    assert run.counts["jobs"] + run.counts["jobs_wider_than_cluster"] == 120
    assert run.procs_from == "command line"


def test_a_load_moves_submissions_together_and_nothing_else(trace: Trace) -> None:
    usual, dense = run_of(trace), run_of(trace, load=2.0)
    since, twice = (run.jobs.submit - run.jobs.submit[0] for run in (usual, dense))
    assert (abs(twice - since / 2) <= 0.5).all()
    for name in ("runtime", "procs", "estimate", "user"):
        assert getattr(dense.jobs, name).tolist() == getattr(usual.jobs, name).tolist()
    assert dense.metrics()["average_wait_s"] > usual.metrics()["average_wait_s"]
    assert dense.trace_sha256 != usual.trace_sha256
    assert run_of(trace, load=1.0).trace_sha256 == usual.trace_sha256


def test_a_cancelled_job_is_as_patient_under_another_load(tmp_path: Path) -> None:
    log = "; MaxProcs: 4\n" + swf_line(1, 0, 0, 900, 4) + swf_line(2, 200, 130, 0, 4, 10, status=5)
    mine = load_trace(warehouse_of(tmp_path, log), "mine", cancelled=True)
    jobs = run_of(mine, load=2.0, cancelled=True).jobs
    assert (jobs.submit.tolist(), int(jobs.cancel[1])) == ([0, 100], 230)
