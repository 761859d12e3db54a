"""Tests of assets/operations: cluster_check, node_use, operations, plots."""

from __future__ import annotations

import io
from datetime import date
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.operations import plots
from assets.operations.cluster_check import contradictions_of_source, described_cluster
from assets.operations.node_use import NOBODY_WAITS, NODE_STATES, STRANDED, USED, WOULD_FIT, node_use
from tests.assets.ingest.test_canonical_jobs_formats import load, rows
from tests.assets.replay.own.homes import CLUSTER, own_home
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


def test_holders_add_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_home(tmp_path / "home", [(0, 0, 3600, 1024), (0, 0, 7200, 2048)], monkeypatch)
    use = node_use(open_warehouse(), "mine", None)
    assert use is not None and use.states.is_empty()
    row = use.holders["queue"].row(0, named=True)
    assert (row["value"], row["jobs"], row["node_hours"], row["core_hours"]) == ("main", 2, 3.0, 3.0)
    assert row["memory_gib_hours"] == pytest.approx(5.0)


# operations: Marts of the real system, every figure by hand.

OPERATIONS_HEADER = (
    "JobID|User|Account|Partition|Submit|Eligible|Start|End|State|NCPUS|ReqCPUS|Timelimit|TotalCPU|AllocTRES|JobName\n"
)
LOG = OPERATIONS_HEADER + "".join(
    f"{k}|{user}|{account}|{queue}|2026-{submit}|2026-{eligible}|{start}|2026-{end}|{state}|{procs}|{procs}|{limit}|{cpu}|{tres}|n\n"
    for k, (user, account, queue, submit, eligible, start, end, state, procs, limit, cpu, tres) in enumerate(
        [
            # Saturday, 28 February, 23:30 in UTC: Sunday, 1 March, 00:30 in Berlin
            ("ann", "phys", "short", "03-01T00:30:00", "03-01T00:40:00", "2026-03-01T01:00:00", "03-01T03:00:00", "COMPLETED", 4,
             "04:00:00", "06:00:00", "cpu=4,gres/gpu=2"),
            ("ann", "phys", "short", "03-02T10:00:00", "03-02T10:00:00", "2026-03-02T10:10:00", "03-02T10:40:00", "FAILED", 8,
             "00:20:00", "", "cpu=8"),
            ("bob", "", "long", "03-31T23:59:59", "03-31T23:59:59", "2026-04-01T00:59:59", "04-01T10:59:59", "TIMEOUT", 32,
             "10:00:00", "320:00:00", "cpu=32"),
            ("bob", "", "long", "04-02T12:00:00", "04-02T12:00:00", "Unknown", "04-02T12:30:00", "CANCELLED by 7", 1,
             "UNLIMITED", "", ""),
        ],
        start=1,
    )
)  # fmt: skip


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    folder = tmp_path_factory.mktemp("marts")
    (folder / "log").write_text(LOG)
    found = Warehouse(folder / "w.duckdb")
    update_raw_log(found, Source("mine", "slurm", folder / "log", procs=64, time_zone="Europe/Berlin"))
    write_jobs(found, "mine")
    return found


def rows_of_operations(warehouse: Warehouse, query: str) -> list[tuple]:
    with warehouse.read() as connection:
        return connection.sql(query).fetchall()


MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)


def test_waits_by_every_dimension(warehouse: Warehouse) -> None:
    columns = "jobs, average_wait_s, median_wait_s, p95_wait_s, max_wait_s, average_eligible_wait_s"
    march_of_ann = (MARCH, 2, 1200.0, 1200.0, 1740.0, 1800, 900.0)
    march_of_bob = (MARCH, 1, 3600.0, 3600.0, 3600.0, 3600, 3600.0)
    april_of_bob = (APRIL, 1, 1800.0, 1800.0, 1800.0, 1800, 1800.0)
    for view, key, names in (
        ("queue", "queue", ("long", "short")),
        ("account", "account", ("unknown", "phys")),
        ("user", "user_name", ("bob", "ann")),
    ):
        found = rows_of_operations(
            warehouse, f"SELECT {key}, month, {columns} FROM marts.waits_by_{view} ORDER BY month, jobs DESC"
        )
        of_bob, of_ann = names
        assert found == [(of_ann, *march_of_ann), (of_bob, *march_of_bob), (of_bob, *april_of_bob)]
    sizes = rows_of_operations(warehouse, "SELECT size_class, month, jobs FROM marts.waits_by_size ORDER BY ALL")
    # 4 of 64 processors are small, 8 medium, 32 large
    assert sizes == [("large", MARCH, 1), ("medium", MARCH, 1), ("serial", APRIL, 1), ("small", MARCH, 1)]


def test_waits_by_hour_are_of_the_clusters_calendar(warehouse: Warehouse) -> None:
    found = rows_of_operations(
        warehouse, "SELECT month, weekday, hour_of_day, jobs, average_wait_s FROM marts.waits_by_hour ORDER BY ALL"
    )
    assert found == [
        (MARCH, 1, 10, 1, 600.0),
        (MARCH, 2, 23, 1, 3600.0),
        (MARCH, 7, 0, 1, 1800.0),
        (APRIL, 4, 12, 1, 1800.0),
    ]


def test_usage_adds_up(warehouse: Warehouse) -> None:
    found = rows_of_operations(
        warehouse,
        "SELECT user_name, month, jobs, core_hours, gpu_hours, cpu_hours, measured_core_hours, cpu_efficiency FROM marts.usage "
        "ORDER BY ALL",
    )
    assert found == [
        ("ann", MARCH, 2, 12.0, 4.0, 6.0, 8.0, 0.75),
        ("bob", MARCH, 1, 320.0, 0.0, 320.0, 320.0, 1.0),
        ("bob", APRIL, 1, 0.0, None, None, None, None),
    ]


def test_walltime_accuracy(warehouse: Warehouse) -> None:
    columns = "jobs, average_used_share, median_used_share, over_request_share, unused_core_hours"
    found = rows_of_operations(
        warehouse, f"SELECT user_name, month, {columns} FROM marts.walltime_accuracy ORDER BY ALL"
    )
    # 2 of 4 h, and 30 of 20 min: half and one and a half
    assert found == [("ann", MARCH, 2, 1.0, 1.0, 0.5, 8.0), ("bob", MARCH, 1, 1.0, 1.0, 0.0, 0.0)]


def test_failures(warehouse: Warehouse) -> None:
    columns = (
        "jobs, failed, cancelled, failed_share, failed_core_hours, cancelled_core_hours, requeued, requeued_core_hours, "
        "timeout, lost_share, timeout_core_hours, lost_core_hours"
    )
    found = rows_of_operations(
        warehouse, f"SELECT queue, month, {columns}, core_hours FROM marts.failures ORDER BY ALL"
    )
    assert found == [
        ("long", MARCH, 1, 0, 0, 0.0, 0.0, 0.0, 0, 0.0, 1, 1.0, 320.0, 320.0, 320.0),
        ("long", APRIL, 1, 0, 1, 0.0, 0.0, 0.0, 0, 0.0, 0, 1.0, 0.0, 0.0, 0.0),
        ("short", MARCH, 2, 1, 0, 0.5, 4.0, 0.0, 0, 0.0, 0, 0.5, 0.0, 4.0, 12.0),
    ]


def test_requeues_are_a_loss(tmp_path: Path) -> None:
    text = (
        "03/01/2026 12:00:00;{kind};1.head;user=ann queue=q ctime=1772359200 etime=1772359200 start={start} "
        "exec_host=n1/0*4 Resource_List.ncpus=4 Resource_List.select=1:ncpus=4 end={end} Exit_status=0 resources_used.ncpus=4\n"
    )
    (tmp_path / "log").write_text(
        text.format(kind="R", start=1772359200, end=1772359200 + 1800)
        + text.format(kind="E", start=1772370000, end=1772370000 + 3600)
    )
    warehouse = Warehouse(tmp_path / "w.duckdb")
    update_raw_log(warehouse, Source("mine", "pbs", tmp_path / "log", procs=8))
    write_jobs(warehouse, "mine")
    assert rows_of_operations(warehouse, "SELECT requeued, requeued_core_hours, core_hours FROM marts.failures") == [
        (1, 2.0, 4.0)
    ]


def test_facts_are_as_many_as_jobs(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        facts = connection.sql("FROM marts.job_facts ORDER BY job_index").pl()
    assert facts["job_index"].to_list() == [0, 1, 2, 3]
    assert facts["gpu_hours"].to_list() == [4.0, 0.0, 0.0, None]
    assert facts.schema["month"] == pl.Date


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
