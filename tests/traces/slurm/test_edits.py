"""Tests of traces/slurm: edits, writer.

Edits of a described cluster of Slurm are what the import of the same configuration with these lines would have.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from tests.shared import shared_file
from traces.cluster.description import ClusterDescription
from traces.cluster.differing import changed_values
from traces.cluster.notes import read_text_file
from traces.slurm.configuration.folder import read_slurm_cluster, slurm_role_of
from traces.slurm.edits import changed_slurm_cluster, edited_slurm_cluster
from traces.slurm.reader import read_slurm
from traces.slurm.state.cycles import MEASURED_TEST_US
from traces.slurm.writer import write_sacct

CONF = """
ClusterName=small
PriorityType=priority/multifactor
PriorityWeightAge=100
PreemptMode=OFF
SchedulerParameters=bf_interval=60,bf_continue
NodeName=n[1-4] CPUs=8 RealMemory=16000
NodeName=g1 CPUs=16 RealMemory=64000 Gres=gpu:2
PartitionName=cpu Nodes=n[1-4] Default=YES MaxTime=2-0 PriorityTier=1
PartitionName=all Nodes=ALL MaxTime=1:00:00 PriorityTier=3
"""
DUMP = """
Cluster - 'small':Fairshare=1
Parent - 'root'
Account - 'physics':Fairshare=10:GrpTRES=cpu=20
Parent - 'physics'
User - 'ann':Fairshare=2:DefaultAccount='physics'
User - 'bob':MaxJobs=3:DefaultAccount='physics'
"""
QOS = "Name|Priority|MaxTRESPU|MaxJobsPU\nnormal|0|cpu=16,gres/gpu=1|4\nhigh|50||\n"


def cluster(folder: Path, conf: str = CONF, dump: str = DUMP, qos: str = QOS) -> ClusterDescription:
    folder.mkdir(exist_ok=True)
    (folder / "slurm.conf").write_text(conf)
    (folder / "sacctmgr.dump").write_text(dump.strip() + "\n")
    (folder / "qos.txt").write_text(qos)
    return read_slurm_cluster(list(folder.iterdir()), "small").description


def changes(before: ClusterDescription, after: ClusterDescription) -> list[str]:
    return [str(each) for each in changed_values(before, after)]


@pytest.mark.parametrize(
    ("edits", "files"),
    [
        (["PriorityWeightFairshare=20000"], {"conf": CONF + "PriorityWeightFairshare=20000\n"}),
        (["bf_interval=30"], {"conf": CONF.replace("bf_interval=60", "bf_interval=30")}),
        (["bf_continue=no"], {"conf": CONF.replace(",bf_continue", "")}),
        (["SchedulerParameters=bf_window=99"], {"conf": CONF.replace("bf_interval=60,bf_continue", "bf_window=99")}),
        (["PriorityWeightAge="], {"conf": CONF.replace("PriorityWeightAge=100\n", "")}),
        (["partition.cpu.MaxTime=UNLIMITED"], {"conf": CONF.replace("MaxTime=2-0", "MaxTime=UNLIMITED")}),
        (["partition.all.Priority=7"], {"conf": CONF.replace("PriorityTier=3", "Priority=7")}),
        (["partition.all.Default=YES"], {"conf": CONF.replace("Default=YES ", "").replace("=ALL", "=ALL Default=YES")}),
        (["node.g1.Gres=gpu:4"], {"conf": CONF.replace("gpu:2", "gpu:4")}),
        (["node.n[1-4].CPUs=4"], {"conf": CONF.replace("CPUs=8", "CPUs=4")}),
        (
            ["NodeName=n[5-6] CPUs=8 RealMemory=1", "partition.cpu.Nodes+=n[5-6]"],
            {"conf": CONF.replace("=n[1-4] D", "=n[1-6] D") + "NodeName=n[5-6] CPUs=8 RealMemory=1\n"},
        ),
        (["qos.normal.MaxTRESPU=cpu=32"], {"qos": QOS.replace("cpu=16", "cpu=32")}),
        (["qos.normal.MaxTRESPU=cpu=-1"], {"qos": QOS.replace("cpu=16,", "")}),
        (["qos.normal.MaxJobsPU=-1", "qos.high.Priority=9"], {"qos": QOS.replace("|4\n", "|\n").replace("50", "9")}),
        (
            ["PreemptMode=REQUEUE", "PreemptType=preempt/qos", "qos.high.Preempt=normal"],
            {
                "conf": CONF.replace("PreemptMode=OFF", "PreemptMode=REQUEUE\nPreemptType=preempt/qos"),
                "qos": "Name|Priority|MaxTRESPU|MaxJobsPU|Preempt\nnormal|0|cpu=16,gres/gpu=1|4|\nhigh|50|||normal\n",
            },
        ),
        (["account.physics.Fairshare=3"], {"dump": DUMP.replace("Fairshare=10", "Fairshare=3")}),
        (["account.physics.GrpTRES=cpu=8"], {"dump": DUMP.replace("cpu=20", "cpu=8")}),
        (["user.physics/ann.Fairshare=5"], {"dump": DUMP.replace("Fairshare=2", "Fairshare=5")}),
        (["user.bob.MaxJobs=1"], {"dump": DUMP.replace("MaxJobs=3", "MaxJobs=1")}),
    ],
    ids=str,
)
def test_an_edit_is_what_the_import_of_the_line_would_be(
    tmp_path: Path, edits: list[str], files: dict[str, str]
) -> None:
    base, expected = cluster(tmp_path / "now"), cluster(tmp_path / "new", **files)
    assert changes(base, expected) != []
    assert changes(edited_slurm_cluster(base, edits, "UTC"), expected) == []
    whole = changed_slurm_cluster(base, sorted((tmp_path / "new").iterdir()), "UTC")
    assert changes(whole, expected) == []


def test_a_reservation_is_a_line_of_scontrol(tmp_path: Path) -> None:
    base = cluster(tmp_path / "now")
    line = "ReservationName=tuesdays StartTime=2026-12-01T08:00:00 EndTime=2026-12-01T10:00:00 Nodes=ALL Flags=MAINT"
    edited = edited_slurm_cluster(base, [line], "Europe/Berlin")
    (made,) = edited.reservations
    assert (made.name, made.nodes, made.flags, made.end_s - made.begin_s) == ("tuesdays", (), ("maint",), 7200)
    assert made.begin_s == 1796108400 and made.timezone == "Europe/Berlin"  # 7:00 UTC
    assert len(changes(base, edited)) == 1
    with pytest.raises(ValueError, match=r"no replay models Flags \(the reservation would come back\): leave it out"):
        edited_slurm_cluster(base, [line.replace("MAINT", "WEEKLY")], "Europe/Berlin")


def test_files_say_only_what_is_in_them(tmp_path: Path) -> None:
    base = cluster(tmp_path / "now")
    new = tmp_path / "slurm.conf.new"
    new.write_text(CONF.replace("PriorityWeightAge=100", "PriorityWeightAge=7"))
    assert changes(base, changed_slurm_cluster(base, [new], "UTC")) == ["~ scheduler priorityweightage: 100 -> 7"]
    qos = tmp_path / "qos.txt"
    qos.write_text(QOS.replace("50", "60"))
    assert changes(base, changed_slurm_cluster(base, [qos], "UTC")) == ["~ QOS high: priority: 50 -> 60"]
    dump = tmp_path / "sacctmgr.dump"
    dump.write_text(DUMP.replace("Fairshare=2", "Fairshare=8").strip() + "\n")
    assert changes(base, changed_slurm_cluster(base, [dump], "UTC")) == ["~ user ann in physics: shares: 2 -> 8"]
    values = {**base.scheduler.values, MEASURED_TEST_US: 14_000}
    measured = replace(base, scheduler=replace(base.scheduler, values=values))
    changed = changes(measured, changed_slurm_cluster(measured, [new], "UTC"))
    assert changed == ["~ scheduler priorityweightage: 100 -> 7"]  # how long cycles take is in no slurm.conf
    other = tmp_path / "notes.json"
    other.write_text("{}")
    with pytest.raises(ValueError, match="no configuration of Slurm"):
        changed_slurm_cluster(base, [other], "UTC")


@pytest.mark.parametrize("name", ["slurm24/T1/run1", "slurm-centres/U/run1"])
def test_the_files_of_the_import_change_nothing_alone(name: str) -> None:
    """What another file said, such as defaults of `scontrol show config` or parents of a dump, stays."""
    folder = shared_file("golden", *name.split("/"))
    files = sorted(each for each in folder.iterdir() if each.is_file() and slurm_role_of(read_text_file(each)))
    base = read_slurm_cluster(files, "c").description
    assert len(files) >= 7
    changed = {file.name: changes(base, changed_slurm_cluster(base, [file], "UTC")) for file in files}
    assert not any(changed.values()), changed


def test_a_line_that_is_gone_is_taken_out_but_for_a_default(tmp_path: Path) -> None:
    base = cluster(tmp_path / "now")
    shown = {**base.scheduler.values, "priorityfavorsmall": False, "fairsharedampeningfactor": 3}
    base = replace(base, scheduler=replace(base.scheduler, values=shown))
    new = tmp_path / "slurm.conf"
    new.write_text(CONF)
    assert changes(base, changed_slurm_cluster(base, [new], "UTC")) == ["- scheduler fairsharedampeningfactor: 3"]


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (
            "MaxJobs=3",
            "whose MaxJobs this is: write qos.NAME.MaxJobs=3 or account.NAME.MaxJobs=3 or user.NAME.MaxJobs=3",
        ),
        ("MaxTime=1-0", "whose MaxTime this is: write partition.NAME.MaxTime=1-0"),
        ("RealMemory=1000", "whose RealMemory this is: write node.NAME.RealMemory=1000"),
        ("PriorityWeightFairshar=1", "unknown key 'priorityweightfairshar'; did you mean 'priorityweightfairshare'?"),
        ("bf_licenses=yes", "no replay models SchedulerParameters bf_licenses"),
        ("SlurmctldPort=1", "changes no schedule"),
        ("PriorityWeightAge=much", "expected a whole number as PriorityWeightAge, found 'much'"),
        ("PriorityFlags=FOO", "unknown word 'FOO' of PriorityFlags"),
        ("partition.cpus.MaxTime=1", "no partition 'cpus'; did you mean 'cpu'?"),
        ("qos.nomal.Priority=1", "no QOS 'nomal'; did you mean 'normal'?"),
        ("user.physics/carl.Fairshare=1", "no user 'carl'"),
        ("node.n9.CPUs=1", "no node 'n9'"),
        ("account.physics.QOS=high", "give a new sacctmgr dump"),
        ("NodeName=x1 CPUs=1", None),  # all nodes are in the partition all
        ("partition.all.MaxTime+=1", "+= is for Nodes alone"),
        ("DefMemPerCPU=1", "give it of each partition"),
        ("bf_window=", "nothing to take out"),
        ("what is this", "expected KEY=VALUE"),
    ],
)
def test_a_fault_names_the_edit_and_the_remedy(tmp_path: Path, edit: str, said: str | None) -> None:
    base = cluster(tmp_path / "now")
    if said is None:
        assert changes(base, edited_slurm_cluster(base, [edit], "UTC"))
        return
    with pytest.raises(ValueError) as raised:
        edited_slurm_cluster(base, [edit], "UTC")
    assert said in str(raised.value)


def test_a_node_of_no_partition_is_refused(tmp_path: Path) -> None:
    base = cluster(tmp_path / "now", CONF.replace("Nodes=ALL", "Nodes=g1"))
    with pytest.raises(ValueError, match=r"node x1 is in no partition: add partition.NAME.Nodes\+=x1"):
        edited_slurm_cluster(base, ["NodeName=x1 CPUs=1 RealMemory=1"], "UTC")


# --- writer


JOB = {
    "submit_s": 1_770_000_000, "start_s": 1_770_000_060, "end_s": 1_770_093_660, "requested_s": 172_800, "user": "u", "group": "g",
    "program": "p", "queue": "gpu", "quality": "", "nodes": 2, "cores": 8, "gpus": 1, "memory_gb": 4, "array": -1, "task": -1,
    "status": "completed", "attempt_of": -1, "node_names": ["g01", "g02"],
}  # fmt: skip


def test_a_job_of_two_nodes_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = write_sacct(pl.DataFrame([JOB]), tmp_path, "Europe/Stockholm", "larch")[0]
    row = read_slurm(path, "Europe/Stockholm").records.row(0, named=True)
    assert (row["procs"], row["gpus"], row["nodes"]) == (16, 2, 2)
    assert row["start_s"] == JOB["start_s"] and row["time_limit_s"] == JOB["requested_s"]
    assert row["node_list"] == "g[01-02]" and row["qos"] == "normal"
