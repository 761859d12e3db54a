"""Tests of traces/slurm/configuration/accounts: commands, options, saved, tree."""

from __future__ import annotations

import pytest

from tests.shared import shared_file
from tests.traces.slurm.configuration.slurm_configurations import DUMP, QOS, kinds_of, text_file
from traces.cluster.accounts import PARENTS_SHARE, Account, AccountUser, ServiceQuality
from traces.cluster.notes import ConfigurationError, Entry, Notes
from traces.slurm.configuration.accounts import options as of
from traces.slurm.configuration.accounts.commands import read_sacctmgr_commands
from traces.slurm.configuration.accounts.saved import read_accounts_dump, read_assoc_table, read_qos_table
from traces.slurm.configuration.accounts.tree import AccountTree, shared_cluster

# commands: Accounts after a file of sacctmgr's commands.

COMMANDS = """\
# QOS
sacctmgr -i modify QOS set normal Priority=5
add QOS Name=high,tmp Priority=100 MaxSubmitJobsPerUser=20
remove qos where name=tmp
add cluster Name=small Fairshare=1 QOS=normal,high
create account Physics,Chem Fairshare=10
add account lab parent=physics
add user name=Ada DefaultAccount=lab Account=chem Fairshare=parent
add user bob account=lab MaxJobs=3
add user eve account=chem
modify user where name=bob account=lab set qos+=high qos-=normal fairshare=7
modify user set qoslevel="normal,high"
modify user bob set qos-=normal
delete account where name=chem
list associations tree withd
add resource matlab count=3
"""


def read(text: str, notes: Notes | None = None) -> AccountTree:
    return read_sacctmgr_commands(text_file("sacctmgr.script", text), notes or Notes())


def test_commands_in_their_order() -> None:
    notes = Notes()
    shared = shared_cluster(read(COMMANDS, notes), Notes())
    assert [(x.name, x.priority) for x in shared.qualities] == [("normal", 5), ("high", 100)]
    assert [(x.name, x.parent, x.shares, x.qos) for x in shared.accounts] == [
        ("physics", "root", 10, ("high", "normal")),
        ("lab", "physics", 1, ("high", "normal")),
    ]
    assert [(x.user, x.account, x.shares, x.qos, x.is_default) for x in shared.members] == [
        ("root", "root", 1, ("high", "normal"), False),
        ("ada", "lab", -1, ("high", "normal"), True),
        ("bob", "lab", 7, ("high",), True),
    ]
    assert {(x.owner_name, x.bound) for x in shared.limits} == {("high", 20), ("lab/bob", 3)}
    assert kinds_of(notes.remarks, "unknown") == {"add resource": "commands about this are not read"}
    assert "list associations" in kinds_of(notes.remarks, "no effect")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("paint user ada\n", "add, modify or remove, found 'paint'"),
        ('add user "ada\n', "a command of sacctmgr"),
        ("add user ada\n", "a name and an account of the user"),
        ("add user ada account=nix\n", "an account that was added before, but nix was not,"),
        ("add account a parent=nix\n", "an account that was added before as parent"),
        ("modify user ada set fairshare=1\n", "a user that was added before, but ada was not,"),
        ("remove qos nix\n", "a QOS that was added before, but nix was not,"),
        ("modify account nix set fairshare=1\n", "an account that was added before, but nix was not,"),
    ],
)
def test_bad_commands(text: str, expected: str) -> None:
    with pytest.raises(ConfigurationError, match=f"sacctmgr.script:2: expected {expected}"):
        read(f"# first\n{text}")


# options: Options of sacctmgr as limits, in the spellings of commands, dumps and tables.


@pytest.mark.parametrize(
    ("key", "value", "limit"),
    [
        ("MaxTRESPU", "cpu=96", ("running", "user", "cpu", 96)),
        ("MaxTRESPerUser", "gres/gpu:a100=2", ("running", "user", "gpu:a100", 2)),
        ("MaxSubmitJobsPerUser", "20", ("submitted", "user", "jobs", 20)),
        ("MaxJobs", "4", ("running", "user", "jobs", 4)),
        ("GrpTRESRunMins", "cpu=100", ("outstanding", "all", "cpu", 6000)),
        ("GrpTRESMins", "mem=2", ("used", "all", "mem", 120)),
        ("MaxWallDurationPerJob", "1-00:00:00", ("job", "job", "time", 86400)),
        ("GrpCPUs", "32", ("running", "all", "cpu", 32)),
        ("MaxNodesPerJob", "3", ("job", "job", "nodes", 3)),
        ("Max TRES Per Node", "cpu=8", ("node", "job", "cpu", 8)),
        ("GrpJobsAccrue", "5", ("waiting_eligible", "all", "jobs", 5)),
    ],
)
def test_limits(key: str, value: str, limit: tuple[str, str, str, int]) -> None:
    name, entry = of.option_of(Entry("f", 3, key, value))
    (made,) = of.limits_of_options("qos", "high", {name: entry})
    assert (made.counts, made.each, made.resource, made.bound) == limit and made.source == f"f:3 {key}"


def test_cleared_limits_and_faults() -> None:
    for value in ("-1", ""):
        assert of.limits_of_options("qos", "q", dict([of.option_of(Entry("f", 1, "MaxJobs", value))])) == ()
    assert of.limits_of_options("qos", "q", {"grptres": Entry("f", 1, "GrpTRES", "cpu=-1")}) == ()
    with pytest.raises(ConfigurationError, match="f:1: expected a whole number from 0 as MaxJobs, found 'many'"):
        of.limits_of_options("qos", "q", {"maxjobs": Entry("f", 1, "MaxJobs", "many")})


def test_each_option_is_named() -> None:
    notes = Notes()
    options = {
        name: Entry("f", 1, name, "x") for name in ("maxjobs", "fairshare", "description", "colour", "minpriothres")
    }
    of.note_options(of.ASSOCIATION_KEYS, options, {"fairshare": "accounts.a.shares"}, notes)
    assert kinds_of(notes.remarks, "modelled").keys() == {"maxjobs", "fairshare"}
    assert kinds_of(notes.remarks, "unknown").keys() == {"colour"}
    assert kinds_of(notes.remarks, "not modelled").keys() == {"minpriothres"}


# saved: sacctmgr's dump and tables.

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


AS_WRITTEN = """\
Cluster - 'tux':Fairshare=1:QOS='normal'
QOS - 'normal':Description='Normal: the QOS's default':GraceTime=30:GrpTRES=cpu=100,gres/gpu:a100=4:MinPrioThresh=5:Priority=10
Parent - 'root'
Account - 'phys':Description='Newton's group: a, b':Organization='o:x=1, p':Fairshare=50:GrpTRES=cpu=64,gres/gpu:a100=4:GrpJobs=10
Account - 'chem':Description='':Organization='o':Fairshare=many:GrpJobs=3:MaxTRESPerJob=license/m:x=2,cpu=8:
this is no line of a dump
Parent - 'phys'
User - 'anna':DefaultAccount='phys':Comment='x: 1':Fairshare=2147483647
User - 'bert':Partition='gpu':DefaultAccount='phys':Fairshare=7:MaxWallDurationPerJob=1-00:00:00:MaxJobs=2
Parent - 'later'
User - 'carl':DefaultAccount='later':what
"""


def test_a_dump_as_slurm_writes_it() -> None:
    """Texts are not quoted, a typed GPU has a colon, and the parent's share is a number."""
    notes = Notes()
    tree = read_accounts_dump(text_file("sacctmgr.dump", AS_WRITTEN), notes)
    shared = shared_cluster(tree, notes)
    assert [(x.name, x.parent, x.shares) for x in shared.accounts] == [
        ("phys", "root", 50),
        ("chem", "root", 1),
        ("later", "root", 1),
    ]
    assert [(x.user, x.account, x.partition, x.shares, x.is_default) for x in shared.members] == [
        ("anna", "phys", "", PARENTS_SHARE, True),
        ("bert", "phys", "gpu", 7, True),
        ("carl", "later", "", 1, True),
    ]
    assert [(x.name, x.priority, x.grace_s) for x in shared.qualities] == [("normal", 10, 30)]
    assert {(x.owner_name, x.resource, x.bound) for x in shared.limits} == {
        ("normal", "cpu", 100), ("normal", "gpu:a100", 4), ("phys", "cpu", 64), ("phys", "gpu:a100", 4), ("phys", "jobs", 10),
        ("chem", "jobs", 3), ("chem", "licence:m:x", 2), ("chem", "cpu", 8), ("phys/bert/gpu", "time", 86400), ("phys/bert/gpu", "jobs", 2),
    }  # fmt: skip
    left_out: dict[int, str] = {}
    for remark in notes.remarks:
        if remark.kind == "not modelled":
            left_out[remark.line] = left_out.get(remark.line, "") + str(remark)
    assert left_out.keys() == {2, 5, 6, 9, 11}
    assert "MinPrioThresh" in left_out[2] and "Fairshare=many: the value is left out" in left_out[5]
    assert "the line was not read: expected a line such as User - 'anna':Fairshare=1" in left_out[6]
    assert "below root" in kinds_of(notes.remarks, "assumed")["Parent"]
    assert not kinds_of(notes.remarks, "unknown")


@pytest.mark.parametrize(
    ("case", "shares", "limits"),
    [
        ("sacctmgr-dump-typed", {"phys": 50}, {("phys", "cpu", 64), ("phys", "gpu:a100", 4), ("phys", "jobs", 10)}),
        ("sacctmgr-dump-parent", {"phys": 50, "anna": -1, "bert": 1}, set()),
        ("sacctmgr-dump-qosline", {"phys": 50}, {("normal", "cpu", 100)}),
    ],
)
def test_dumps_of_the_cases(case: str, shares: dict[str, int], limits: set[tuple[str, str, int]]) -> None:
    folder = shared_file("cases", "logs-and-configurations", case)
    tree = read_accounts_dump(text_file("sacctmgr.dump", (folder / "sacctmgr.dump").read_text()), Notes())
    shared = shared_cluster(tree, Notes())
    found = {x.name: x.shares for x in shared.accounts} | {x.user: x.shares for x in shared.members if x.user != "root"}
    assert found == shares and {(x.owner_name, x.resource, x.bound) for x in shared.limits} == limits
    assert case != "sacctmgr-dump-qosline" or [(x.name, x.priority) for x in shared.qualities] == [("normal", 10)]


def test_a_file_without_a_line_of_a_dump_is_refused() -> None:
    with pytest.raises(
        ConfigurationError, match=r"d:1: expected a line such as User - 'anna':Fairshare=1, found 'User"
    ):
        read_accounts_dump(text_file("d", "User ada\nno\n"), Notes())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "q:1: expected a header line, found nothing"),
        ("normal|0\n", "q:1: expected a header line with the column name"),
        ("Name|Priority\nnormal\n", "q:2: expected 2 columns as in the header, found 1"),
        ("Name|Priority\n|1\n", "q:2: expected a row with the name of a QOS"),
        ("Name|Priority\na|1\na|2\n", "q:3: expected each QOS once"),
    ],
)
def test_bad_tables(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_qos_table(text_file("q", text), AccountTree())


# tree: What accounts and users do not say holds as their parents have it.


def options(**values: str) -> dict[str, Entry]:
    return {key: Entry("f", 1, key, value) for key, value in values.items()}


def test_inherited_qos_and_shares() -> None:
    tree = AccountTree()
    tree.accounts["root"] = options(qos="normal")
    tree.accounts["b"] = options(parent="a", fairshare="parent")
    tree.accounts["a"] = options(parent="root", qos="high,low", defaultqos="low", fairshare="5", maxjobs="3")
    tree.users["ada", "b", ""] = options(qos="high", priority="7")
    tree.users["bob", "b", "gpu"] = options(grpjobs="2")
    tree.default_accounts = {"ada": "b", "bob": "a"}
    tree.qualities["high"] = options(
        priority="9", preempt="low", preemptmode="cluster", flags="NoDecay", usagethreshold="0.5"
    )
    shared = shared_cluster(tree, Notes())
    assert shared.accounts == (
        Account("b", "a", PARENTS_SHARE, ("high", "low"), "low"),
        Account("a", "root", 5, ("high", "low"), "low"),
    )
    assert shared.members == (
        AccountUser("ada", "b", 1, "", ("high",), "low", 7, True),
        AccountUser("bob", "b", 1, "gpu", ("high", "low"), "low"),
    )
    assert shared.qualities == (ServiceQuality("high", 9, ("low",), "", 0, ("nodecay",), 1.0, 0.5),)
    assert [(limit.owner, limit.owner_name, limit.each) for limit in shared.limits] == [
        ("account", "a", "user"),
        ("user", "b/bob/gpu", "all"),
    ]


def test_a_circle_ends() -> None:
    tree = AccountTree()
    tree.accounts |= {"a": options(parent="b"), "b": options(parent="a")}
    assert [account.qos for account in shared_cluster(tree, Notes()).accounts] == [(), ()]
