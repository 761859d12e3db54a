"""sacctmgr's dump and tables."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import DUMP, QOS, kinds_of, text_file
from traces.cluster.accounts import PARENTS_SHARE
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.accounts.saved import read_accounts_dump, read_assoc_table, read_qos_table
from traces.slurm.configuration.accounts.tree import AccountTree, shared_cluster

ASSOC = "Cluster|Account|ParentName|User|Partition|Share|GrpTRES|MaxWall|QOS|Def QOS\n" + "\n".join(
    (
        "s|root||||1|||normal|",
        "s|physics|root|||60|cpu=32,mem=100G|1-00:00:00||",
        "s|lab|physics|||parent||||",
        "s|lab||ada||3|||high|",
    )
)


def test_a_dump() -> None:
    tree = read_accounts_dump(text_file("sacctmgr.dump", DUMP), Notes())
    read_qos_table(text_file("qos.txt", QOS), tree)
    shared = shared_cluster(tree, Notes())
    assert [(x.name, x.parent, x.shares, x.qos) for x in shared.accounts] == [
        ("physics", "root", 60, ("normal",)),
        ("lab", "physics", PARENTS_SHARE, ("normal",)),
    ]
    assert [(x.user, x.account, x.partition, x.is_default) for x in shared.members][1:] == [
        ("ada", "lab", "", True),
        ("bob", "lab", "gpu", True),
    ]
    assert {(x.owner_name, x.resource, x.bound) for x in shared.limits if x.owner != "qos"} == {
        ("physics", "cpu", 32), ("physics", "mem", 102400), ("physics", "time", 86400), ("lab", "jobs", 5), ("lab/bob/gpu", "cpu", 6000),
    }  # fmt: skip
    high = shared.qualities[1]
    assert (high.preempts, high.preempt_mode, high.grace_s, high.usage_factor) == (("normal",), "requeue", 10, 2.0)
    assert [limit.is_least for limit in shared.limits if limit.owner_name == "high"].count(True) == 1


def test_an_association_table_says_the_parents() -> None:
    notes = Notes()
    tree = read_assoc_table(text_file("assoc.txt", ASSOC), notes)
    shared = shared_cluster(tree, Notes())
    assert [(x.name, x.parent) for x in shared.accounts] == [
        ("physics", "root"),
        ("lab", "physics"),
    ] and not notes.remarks
    assert [(x.user, x.is_default) for x in shared.members] == [("ada", True)]
    without = ASSOC.replace("ParentName", "Comment")
    assert [x.parent for x in shared_cluster(read_assoc_table(text_file("a", without), notes), Notes()).accounts] == [
        "root",
        "root",
    ]
    assert "does not say its parent" in kinds_of(notes.remarks, "assumed")["Account"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("User ada\n", r"d:1: expected a line such as User - 'anna':Fairshare=1, found 'User ada'"),
        ("Parent - 'lab'\n", r"d:1: expected an account of an earlier line as Parent, found 'lab'"),
        ("User - 'ada':what\n", r"d:1: expected options such as Fairshare=1"),
    ],
)
def test_bad_dumps(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_accounts_dump(text_file("d", text), Notes())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "q:1: expected a header line, found nothing"),
        ("normal|0\n", "q:1: expected a header line with the column name"),
        ("Name|Priority\nnormal\n", "q:2: expected 2 columns as in the header, found 1"),
        ("Name|Priority\na|1\na|2\n", "q:3: expected each QOS once"),
    ],
)
def test_bad_tables(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_qos_table(text_file("q", text), AccountTree())
