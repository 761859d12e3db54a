"""Tests of assets/usage: cluster_check, node_use, plots, waits_and_waste."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.usage import plots
from assets.usage.cluster_check import contradictions_of_source, described_cluster
from assets.usage.node_use import NOBODY_WAITS, NODE_STATES, STRANDED, USED, WOULD_FIT, node_use
from assets.usage.waits_and_waste import LOSSES, waits_and_waste
from tests.assets.ingest.test_canonical_jobs_formats import load, rows
from tests.assets.replaying.own.homes import CLUSTER, own_home
from tests.shared import shared_file
from tests.tiny import swf_line, warehouse_of
from traces.catalogue.sources import Source
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import ClusterDescription, Node, Partition
from traces.common.pseudonyms import pseudonym_of, read_key
from warehouse import Warehouse

# cluster_check: A description is held against the rows of core.jobs and core.job_nodes, under the names that the
# warehouse has.

HEADER = "; UnixStartTime: 1767225600\n; TimeZoneString: UTC\n; MaxProcs: 16\n"


def test_names_nodes_and_limits_of_a_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    ada = pseudonym_of(read_key(tmp_path / "home" / "pseudonym.key"), "user", "ada")
    warehouse = warehouse_of(tmp_path, HEADER + "".join(swf_line(k, 60 * k, 0, 3600, 4, 7200) for k in range(3)))
    with warehouse.write() as connection:
        connection.execute("UPDATE core.jobs SET user_name = ?, account = 'lab', queue = 'cpu'", [ada])
        connection.execute(
            "INSERT INTO core.job_nodes SELECT source, job_index, submit_time, 'n' || (job_index + 1), 4, NULL, NULL FROM core.jobs"
        )
    cluster = ClusterDescription(
        "mine",
        (Node("n1", 8), Node("n2", 8)),
        (Partition("cpu"),),
        (Account("lab"),),
        (AccountUser("ada", "lab"),),
        limits=(Limit("cluster", "", "running", "user", "cpu", 8, who="ada", source="qmgr.txt:3 max_run_res.ncpus"),),
    )
    said = [
        str(each)
        for each in contradictions_of_source(warehouse, Source("mine", "pbs", None, pseudonyms=("user",)), cluster)
    ]
    assert said == [
        "unknown node: jobs ran on n3, which the description lacks (job 2)",
        f"limit broken: user {ada} had up to 12 of cpu running, over 8 (qmgr.txt:3 max_run_res.ncpus) (job 2)",
    ]
    with_names = contradictions_of_source(warehouse, Source("mine", "pbs", None), cluster)
    assert [each.kind for each in with_names] == ["unknown user", "unknown node"]


@pytest.mark.parametrize(
    "log", [("cases", "pbs", "suspended-by-preemption.log"), ("golden", "pbs", "P8", "run1", "accounting.gz")]
)
def test_suspended_jobs_hold_nothing(tmp_path: Path, log: tuple[str, ...]) -> None:
    warehouse = load(tmp_path, shared_file(*log))
    (peak,) = rows(warehouse, "SELECT max(peak_procs) AS peak FROM core.capacity")["peak"]
    source = Source("mine", "pbs", None)
    fits, small = (ClusterDescription("mine", (Node("all", procs),)) for procs in (peak, peak - 1))
    assert [each.kind for each in contradictions_of_source(warehouse, source, fits)].count("too small") == 0
    assert [each.kind for each in contradictions_of_source(warehouse, source, small)].count("too small") == 1


def test_the_sum_of_suspensions_counts_where_the_log_has_no_more(tmp_path: Path) -> None:
    lines = swf_line(1, 0, 0, 3600, 10, 7200) + swf_line(2, 1800, 0, 1800, 10, 7200)
    warehouse = warehouse_of(tmp_path, HEADER + lines)
    cluster = ClusterDescription("mine", (Node("n1", 16),))
    for suspended_s, kinds in ((0, ["too small"]), (1800, [])):
        with warehouse.write() as connection:
            connection.execute("UPDATE core.jobs SET suspended_s = ? WHERE job_index = 0", [suspended_s])
        said = contradictions_of_source(warehouse, Source("mine", "slurm", None), cluster)
        assert [each.kind for each in said] == kinds


# node_use: Who held nodes, and what stood idle, against a plain count.

LARGE = 900


def states_of(folder: Path, jobs: list[tuple[int, int, int, int]], patch: pytest.MonkeyPatch) -> dict[str, float]:
    """Mean cores of each state of the small cluster: two nodes with 4 cores and 1,000 MiB each. All jobs are on node n1."""
    own_home(folder / "home", jobs, patch)
    warehouse = open_warehouse()
    use = node_use(warehouse, "mine", described_cluster(warehouse, "mine"), moments=100)
    assert use is not None and use.strange_nodes == 0
    return {row["state"]: row["mean"] for row in use.states.iter_rows(named=True)}


def test_memory_strands_the_cores_of_a_node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # job 2 waits from 0 to 100 behind job 1; n2 would have it, n1 has no memory left
    states = states_of(tmp_path, [(0, 0, 100, LARGE), (0, 100, 200, LARGE)], monkeypatch)
    assert states == pytest.approx({USED: 1, NOBODY_WAITS: 3.5, WOULD_FIT: 2.0, STRANDED["memory"]: 1.5})


def test_without_waiting_jobs_nothing_is_stranded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert states_of(tmp_path, [(0, 0, 100, 10)], monkeypatch) == pytest.approx({USED: 1, NOBODY_WAITS: 7})


def test_random_logs_agree_with_a_plain_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(5)
    jobs = []
    for _ in range(40):
        submit = int(random.integers(0, 1000))
        start = submit + int(random.integers(0, 200))
        jobs.append((submit, start, start + int(random.integers(1, 150)), int(random.integers(1, 10)) * 100))
    own_home(tmp_path / "home", jobs, monkeypatch, CLUSTER.replace("cores = 4", "cores = 3"))
    warehouse = open_warehouse()
    use = node_use(warehouse, "mine", described_cluster(warehouse, "mine"), moments=50)
    assert use is not None
    begin, end = min(job[1] for job in jobs), max(job[2] for job in jobs)
    expected = dict.fromkeys(NODE_STATES, 0.0)
    for k in range(50):
        time = begin + (end - begin) * (2 * k + 1) // 100
        running = [job for job in jobs if job[1] <= time < job[2]]
        waiting = [job for job in jobs if job[0] <= time < job[1]]
        for cores, memory in ((3 - len(running), 1000 - sum(job[3] for job in running)), (3, 1000)):
            idle = max(cores, 0)
            expected[USED] += 3 - idle
            fit = [job for job in waiting if job[3] <= max(memory, 0) and idle >= 1]
            lacks_memory = [job for job in waiting if job[3] > max(memory, 0) and idle >= 1]
            state = NOBODY_WAITS if not waiting else WOULD_FIT if fit else STRANDED["memory"] if lacks_memory else ""
            if state:
                expected[state] += idle
    got = {row["state"]: 50 * row["mean"] for row in use.states.iter_rows(named=True)}
    assert got == pytest.approx({state: cores for state, cores in expected.items() if cores})


def test_gpus_of_a_type_are_in_use_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Job 1 has a GPU of each node's two, of a type or of any. Job 2 waits for two of a type: n1 has one left, n2 has another type."""
    cluster = CLUSTER.replace('names = "n[1-2]"', 'names = "n1"\ngpus = { a100 = 2 }')
    cluster = cluster.replace(
        "[[partitions]]", '[[nodes]]\nnames = "n2"\ncores = 4\ngpus = { v100 = 2 }\n[[partitions]]'
    )
    own_home(tmp_path / "home", [(0, 0, 200, 10), (0, 100, 200, 10)], monkeypatch, cluster)
    warehouse = open_warehouse()
    no_room, room = {STRANDED["gpus"]: 1.5}, {STRANDED["gpus"]: 0.5, WOULD_FIT: 1}
    # a job that asked for any type and got one fits on n2, too
    for held, asked, expected in ((None, "a100=2", no_room), ("A100=1", "A100=2", no_room), ("a100=1", None, room)):
        with warehouse.write() as connection:
            connection.execute("UPDATE core.jobs SET gpus = 1, gpu_types = ? WHERE job_id = '1'", [held])
            connection.execute(
                "UPDATE core.jobs SET gpus = 2, gpu_types = 'a100=2', requested_gpu_types = ? WHERE job_id = '2'",
                [asked],
            )
            connection.execute("UPDATE core.job_nodes SET gpus = 1")
            connection.execute(
                "DELETE FROM core.job_nodes WHERE job_index IN (SELECT job_index FROM core.jobs WHERE job_id = '2')"
            )
        use = node_use(warehouse, "mine", described_cluster(warehouse, "mine"), moments=100)
        assert use is not None
        states = {row["state"]: row["mean"] for row in use.states.filter(pl.col("resource") == "gpu").to_dicts()}
        assert states == pytest.approx({USED: 1, NOBODY_WAITS: 1.5} | expected)
    assert use.holders["user"]["gpu_hours"].sum() == pytest.approx(200 / 3600)


def test_holders_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 3600, 1024), (0, 0, 7200, 2048)], monkeypatch)
    use = node_use(open_warehouse(), "mine", None)
    assert use is not None and use.states.is_empty()
    row = use.holders["queue"].row(0, named=True)
    assert (row["value"], row["jobs"], row["node_hours"], row["core_hours"]) == ("main", 2, 3.0, 3.0)
    assert row["memory_gib_hours"] == pytest.approx(5.0)


# plots: Figures of the real system, from a few rows.

PLOTS_MARCH, PLOTS_APRIL = date(2026, 3, 1), date(2026, 4, 1)
NONE = pl.Series([], dtype=pl.Date)
"""No month is covered in part."""


def test_the_busiest_queues_have_a_line_each() -> None:
    queues = [f"q{k}" for k in range(plots.MOST_SHOWN + 2)]
    waits = pl.DataFrame(
        {
            "queue": queues * 2,
            "month": [PLOTS_MARCH] * len(queues) + [PLOTS_APRIL] * len(queues),
            "jobs": list(range(1, len(queues) + 1)) * 2,
            "median_wait_s": [3600.0] * 2 * len(queues),
            "p95_wait_s": [7200.0] * 2 * len(queues),
        }
    )
    top, bottom = plots.waits_by_queue(waits, pl.Series([PLOTS_APRIL])).axes
    assert [len(ax.patches) for ax in (top, bottom)] == [1, 1]
    assert top.patches[0].get_label() == "month covered in part"
    assert [line.get_label() for line in top.lines] == queues[:1:-1]
    assert list(top.lines[0].get_ydata()) == [1, 1] and list(bottom.lines[0].get_ydata()) == [2, 2]


def test_core_hours_of_small_accounts_are_together() -> None:
    accounts = [f"a{k}" for k in range(plots.MOST_SHOWN + 2)]
    hours = pl.DataFrame(
        {"month": [PLOTS_MARCH] * len(accounts), "account": accounts, "core_hours": [10.0] * len(accounts)}
    )
    (axes,) = plots.core_hours_by_account(hours, NONE).axes
    assert [round(bar.get_height()) for bar in axes.patches] == [10] * plots.MOST_SHOWN + [20]


def test_hours_without_jobs_stay_empty() -> None:
    waits = pl.DataFrame({"weekday": [1, 7], "hour_of_day": [0, 23], "hours": [2.0, 3.0]})
    shown = np.ma.masked_invalid(plots.waits_by_hour(waits).axes[0].images[0].get_array())
    assert shown.count() == 2 and shown[6, 23] == 3


def test_submissions_are_shares_by_hour_weekday_and_size() -> None:
    jobs = pl.DataFrame({"weekday": [1, 7, 7], "hour_of_day": [8, 8, 9], "procs_up_to": [1, 1, 64], "jobs": [2, 1, 1]})
    by_hour, by_day, by_size = ([bar.get_height() for bar in ax.patches] for ax in plots.submissions(jobs).axes)
    assert by_hour == [75, 25] and by_day == [50, 50] and by_size == [75, 25]


def test_used_share_and_capacity() -> None:
    used = pl.DataFrame({"share_from": [0.1, 0.5, 1.175], "jobs": [1, 2, 1], "median": [0.5] * 3})
    (axes,) = plots.walltime_used(used).axes
    assert [bar.get_height() for bar in axes.patches] == [25, 50, 25]
    days = pl.DataFrame(
        {"day": [PLOTS_MARCH, PLOTS_APRIL], "mean_procs": [1.0, 2.0], "peak_procs": [3, 4], "cluster_procs": [8, 8]}
    )
    assert [line.get_label() for line in plots.capacity(days).axes[0].lines] == ["most at one time", "of the cluster"]


def test_nothing_used_is_an_empty_figure() -> None:
    assert (
        not plots.walltime_used(pl.DataFrame(schema={"share_from": float, "jobs": int, "median": float}))
        .axes[0]
        .patches
    )


def test_names_from_a_log_are_no_formulas() -> None:
    """matplotlib fails where the text between two dollar signs is none, and a whole night with it."""
    odd = r"$\frac{$"
    waits = pl.DataFrame(
        {"queue": [odd], "month": [PLOTS_MARCH], "jobs": [1], "median_wait_s": [1.0], "p95_wait_s": [2.0]}
    )
    hours = pl.DataFrame({"month": [PLOTS_MARCH], "account": [odd], "core_hours": [10.0]})
    for figure in (plots.waits_by_queue(waits, NONE), plots.core_hours_by_account(hours, NONE)):
        drawn = io.StringIO()
        figure.savefig(drawn, format="svg")
        assert "frac" in drawn.getvalue()


# waits_and_waste: Who waited, and who wasted: every figure by hand.

MIDNIGHT = 1_767_225_600  # 1 January 2026
ENDS = ("completed", "failed", "cancelled", "timeout", "out_of_memory", "node_failure", "preempted", "requeued", "deadline",
        "unknown")  # fmt: skip
"""The canonical end states of core.jobs."""


@pytest.fixture
def one_of_each_end(tmp_path: Path) -> Warehouse:
    """Ten jobs of 4 processors and an hour, which asked for two, one for each end. Two users in turn; user 2 has account phys. They waited
    0, 1, 2 ... hours. The first has used 3 of its 4 core-hours, and 1 of the 4 GiB that it asked for."""
    lines = [swf_line(k, 60 * k, 3600 * k, 3600, 4, 7200, user=1 + k % 2) for k in range(len(ENDS))]
    warehouse = warehouse_of(
        tmp_path, f"; UnixStartTime: {MIDNIGHT}\n; TimeZoneString: UTC\n; MaxProcs: 8\n" + "".join(lines)
    )
    with warehouse.write() as connection:
        for k, status in enumerate(ENDS):
            connection.execute("UPDATE core.jobs SET status = ? WHERE job_index = ?", [status, k])
        connection.execute("UPDATE core.jobs SET queue = NULL")
        connection.execute("UPDATE core.jobs SET account = 'phys' WHERE user_name = '2'")
        connection.execute(
            "UPDATE core.jobs SET used_cpu_s = 3 * 3600, requested_memory_kb = 4194304, used_memory_kb = 1048576 WHERE job_index = 0"
        )
        connection.execute("UPDATE core.jobs SET requeued_s = 1800 WHERE job_index = 9")
    return warehouse


def test_groups_by_the_gpus_of_jobs(one_of_each_end: Warehouse) -> None:
    with one_of_each_end.write() as connection:
        connection.execute("UPDATE core.jobs SET gpus = CASE WHEN job_index < 4 THEN 0 WHEN job_index < 7 THEN 2 END")
        connection.execute("UPDATE core.jobs SET gpu_types = 'a100=2' WHERE job_index IN (5, 6)")
    groups = waits_and_waste(one_of_each_end, "mine").groups("gpu").select("value", "jobs", "mean_wait_h")
    assert sorted(groups.rows()) == [("2", 1, 4), ("a100=2", 2, 5.5), ("none", 4, 1.5), ("unknown", 3, 8)]


def test_every_end_but_completed_and_unknown_is_a_loss(one_of_each_end: Warehouse) -> None:
    whole = waits_and_waste(one_of_each_end, "mine").whole
    assert (whole["jobs"], whole["core_hours"], whole["lost_core_hours"]) == (10, 40, 8 * 4 + 2)
    assert [whole[name] for name in LOSSES] == [4, 4, 4, 4, 16, 2], "the other ends are four, and one was requeued"
    assert sum(whole[name] for name in LOSSES) == whole["lost_core_hours"]
    view = "SELECT sum(lost_core_hours), sum(jobs), count(*) FROM marts.waste"
    with one_of_each_end.read() as connection:
        assert connection.sql(view).fetchall() == [(34, 10, 2)], "a row for each user and account"


def test_what_was_requested_and_not_used(one_of_each_end: Warehouse) -> None:
    found = waits_and_waste(one_of_each_end, "mine")
    whole = found.whole
    assert (whole["requested_core_hours"], whole["unused_core_hours"]) == (80, 40)
    assert (whole["measured_core_hours"], whole["idle_core_hours"]) == (4, 1)
    assert (whole["requested_memory_gib_hours"], whole["unused_memory_gib_hours"]) == (4, 3)
    assert list(found.unused()) == ["unused_core_hours", "idle_core_hours", "unused_memory_gib_hours"]
    (other,) = found.groups("user").filter(value="2").to_dicts()
    assert other["idle_core_hours"] is None, "unknown is not zero"


def test_groups_add_up_and_come_in_order(one_of_each_end: Warehouse) -> None:
    found = waits_and_waste(one_of_each_end, "mine")
    assert found.groups("user", "waited_h").select("value", "waited_h").rows() == [("2", 25), ("1", 20)]
    assert found.groups("user", "lost_core_hours").select("value", "lost_core_hours").rows() == [("2", 18), ("1", 16)]
    assert found.groups("account")["value"].to_list() == ["phys", "unknown"]
    for kind in ("user", "account", "queue"):
        for name in ("jobs", "waited_h", "lost_core_hours", "unused_core_hours", "idle_core_hours"):
            assert found.groups(kind)[name].sum() == found.whole[name]
    assert found.are_named("account") and not found.are_named("queue")


def test_a_log_that_does_not_say_how_jobs_ended_has_no_losses(one_of_each_end: Warehouse) -> None:
    with one_of_each_end.write() as connection:
        connection.execute("UPDATE core.jobs SET status = 'unknown', requeued_s = 0")
    found = waits_and_waste(one_of_each_end, "mine")
    assert found.whole["lost_core_hours"] is None and found.losses() == {}


def test_jobs_of_a_period(one_of_each_end: Warehouse) -> None:
    found = waits_and_waste(one_of_each_end, "mine", "2026-01-01T00:02..2026-01-01T00:04")
    assert (found.whole["jobs"], found.whole["waited_h"]) == (2, 5) and "2026-01-01" in found.words
    assert waits_and_waste(one_of_each_end, "mine", "2026-01").whole["jobs"] == 10
    for period in ("2025-12", "2026-02", "2026-01-01T00:02:30..2026-01-01T00:02:40"):
        with pytest.raises(ValueError, match="no job of 'mine' was submitted in "):
            waits_and_waste(one_of_each_end, "mine", period)
    with pytest.raises(ValueError, match="'nobody' has no jobs: load it with"):
        waits_and_waste(one_of_each_end, "nobody")
