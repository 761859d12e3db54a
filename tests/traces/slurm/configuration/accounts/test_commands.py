"""Accounts after a file of sacctmgr's commands."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import kinds_of, text_file
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration.accounts.commands import read_sacctmgr_commands
from traces.slurm.configuration.accounts.tree import AccountTree, shared_cluster

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
