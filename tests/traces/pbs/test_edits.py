"""Edits of a described cluster of PBS are what the import of its configuration with them would have."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shared import shared_file
from traces.cluster.description import ClusterDescription
from traces.cluster.differing import changed_values
from traces.cluster.notes import read_text_file
from traces.pbs.configuration.files import role_of
from traces.pbs.configuration.folder import read_pbs_cluster
from traces.pbs.edits import changed_pbs_cluster, edited_pbs_cluster

QMGR = """create queue workq
set queue workq queue_type = Execution
set queue workq Priority = 10
set queue workq max_run = [u:PBS_GENERIC=4]
set queue workq resources_max.walltime = 10:00:00
set queue workq enabled = True
set queue workq started = True
set server default_queue = workq
set server backfill_depth = 1
set server scheduling = True
"""
SCHED = "strict_ordering: True ALL\nby_queue: False ALL\nfair_share: False ALL\n"
NODES = "".join(f"n{k}\n    state = free\n    resources_available.ncpus = 8\n" for k in (1, 2))


def cluster(folder: Path, qmgr: str = QMGR, sched: str = SCHED, nodes: str = NODES) -> ClusterDescription:
    folder.mkdir(exist_ok=True)
    (folder / "qmgr.txt").write_text(qmgr)
    (folder / "sched_config").write_text(sched)
    (folder / "pbsnodes.txt").write_text(nodes)
    return read_pbs_cluster(list(folder.iterdir()), "small").description


def changes(before: ClusterDescription, after: ClusterDescription) -> list[str]:
    return [str(each) for each in changed_values(before, after)]


@pytest.mark.parametrize(
    ("edits", "files"),
    [
        (["server.backfill_depth=5"], {"qmgr": QMGR.replace("depth = 1", "depth = 5")}),
        (
            ['job_sort_formula="ncpus * walltime"'],
            {"qmgr": QMGR + 'set server job_sort_formula = "ncpus * walltime"\n'},
        ),
        (["strict_ordering=False"], {"sched": SCHED.replace("ordering: True", "ordering: False")}),
        (["queue.workq.max_run=[u:PBS_GENERIC=2]"], {"qmgr": QMGR.replace("=4]", "=2]")}),
        (["queue.workq.max_run="], {"qmgr": QMGR.replace("set queue workq max_run = [u:PBS_GENERIC=4]\n", "")}),
        (["queue.workq.Priority=70"], {"qmgr": QMGR.replace("Priority = 10", "Priority = 70")}),
        (["queue.workq.backfill_depth=3"], {"qmgr": QMGR + "set queue workq backfill_depth = 3\n"}),
        (
            ["server.max_run_res.ncpus=[o:PBS_ALL=12]"],
            {"qmgr": QMGR + "set server max_run_res.ncpus = [o:PBS_ALL=12]\n"},
        ),
        (["node.n3.resources_available.ncpus=8"], {"nodes": NODES + NODES[:56].replace("n1\n", "n3\n")}),
        (["node.n[1-2].resources_available.ncpus=4"], {"nodes": NODES.replace("ncpus = 8", "ncpus = 4")}),
    ],
    ids=str,
)
def test_an_edit_is_what_the_import_of_the_line_would_be(
    tmp_path: Path, edits: list[str], files: dict[str, str]
) -> None:
    base, expected = cluster(tmp_path / "now"), cluster(tmp_path / "new", **files)
    assert changes(base, expected) != []
    assert changes(edited_pbs_cluster(base, edits, "UTC"), expected) == []
    whole = changed_pbs_cluster(base, sorted((tmp_path / "new").iterdir()), "UTC")
    assert changes(whole, expected) == []


def test_files_say_only_what_is_in_them(tmp_path: Path) -> None:
    base = cluster(tmp_path / "now")
    sched = tmp_path / "sched_config"
    sched.write_text(SCHED.replace("ordering: True", "ordering: False"))
    assert changes(base, changed_pbs_cluster(base, [sched], "UTC")) == ["~ scheduler strict_ordering: True -> False"]
    qmgr = tmp_path / "qmgr.txt"
    qmgr.write_text(QMGR.replace("Priority = 10", "Priority = 11"))
    assert changes(base, changed_pbs_cluster(base, [qmgr], "UTC")) == ["~ partition workq: tier: 10 -> 11"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ("Priority=1", "whose Priority this is: write queue.NAME.Priority=1"),
        ("server.backfil_depth=1", "unknown key 'backfil_depth'; did you mean 'backfill_depth'?"),
        ("round_robin=True", "no replay models round_robin"),
        ("queue.workq.started=False", "no replay models started (jobs of the queue would wait)"),
        (
            "queue.workq.resources_max.walltime=02:00:00",
            "no replay models resources_max.walltime (jobs that ask for more",
        ),
        ("queue.work.Priority=1", "no queue 'work'; did you mean 'workq'?"),
        ("queue.workq.default_chunk.Qlist=big", "give all files of the configuration"),
        ("node.n9.state=free", "a new one needs node.n9.resources_available.ncpus"),
        ("server.backfill_depth=many", "expected a whole number"),
        ("queue.workq.max_run+=3", "write the whole value"),
    ],
)
def test_a_fault_names_the_edit_and_the_remedy(tmp_path: Path, edit: str, said: str) -> None:
    with pytest.raises(ValueError) as raised:
        edited_pbs_cluster(cluster(tmp_path / "now"), [edit], "UTC")
    assert said in str(raised.value)


def test_the_files_of_the_import_change_nothing_alone() -> None:
    """What the scheduler's object in qmgr said is not taken out by a sched_config that never had it."""
    folder = shared_file("golden", "pbs", "P5", "run1")
    files = sorted(file for file in folder.iterdir() if role_of(read_text_file(file)) is not None)
    base = read_pbs_cluster(files, "c").description
    assert len(files) >= 4
    changed = {file.name: changes(base, changed_pbs_cluster(base, [file], "UTC")) for file in files}
    assert not any(changed.values()), changed
