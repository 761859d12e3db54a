"""A description is held against the rows of core.jobs and core.job_nodes, under the names that the warehouse has."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.operations.cluster_check import contradictions_of_source
from tests.assets.ingest.test_canonical_jobs_requeues import load, rows
from tests.shared import shared_file
from tests.tiny import swf_line, warehouse_of
from traces.catalogue.sources import Source
from traces.cluster.accounts import Account, AccountUser, Limit
from traces.cluster.description import ClusterDescription
from traces.cluster.nodes import Node, Partition
from traces.common.pseudonyms import pseudonym_of, read_key

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
