"""Files are known by their name or by what is in them."""

from __future__ import annotations

import pytest

from tests.traces.slurm.configuration.slurm_configurations import DUMP, FILES, QOS, SLURM_CONF, kinds_of, text_file
from traces.cluster.notes import Notes
from traces.cluster.remarks import ConfigurationError
from traces.slurm.configuration import roles


@pytest.mark.parametrize(
    ("name", "text", "role"),
    [
        ("config.txt", "", roles.SHOWN_CONFIG),
        ("scontrol_show_nodes.txt", "", roles.SHOWN_NODES),
        ("my-cluster.conf", SLURM_CONF, roles.SLURM_CONF),
        ("accounts", DUMP, roles.ACCOUNTS_DUMP),
        ("limits", QOS, roles.QOS_TABLE),
        ("g", FILES["gres.conf"], roles.GRES_CONF),
        ("t", FILES["topology.conf"], roles.TOPOLOGY_CONF),
        ("r", FILES["reservations.txt"], roles.SHOWN_RESERVATIONS),
        ("users", "add account a\n", roles.SACCTMGR_COMMANDS),
        ("p", "PartitionName=a\n   AllowGroups=ALL\n", roles.SHOWN_PARTITIONS),
        ("ctld.log", "NodeName=n1", None),
        ("README", "hello", None),
    ],
)
def test_slurm_roles(name: str, text: str, role: str | None) -> None:
    assert roles.slurm_role_of(text_file(name, text)) == role


def test_one_file_of_a_kind_is_taken() -> None:
    notes = Notes()
    files = [
        text_file("old.conf", SLURM_CONF),
        text_file("slurm.conf", SLURM_CONF),
        text_file("nodes.conf", FILES["nodes.conf"]),
    ]
    by_role = roles.slurm_files_by_role([*files, text_file("README", "hello")], notes)
    assert by_role == {roles.SLURM_CONF: files[1]}
    assert "of the same kind" in kinds_of(notes.remarks, "assumed")["file"]
    assert [remark.file for remark in notes.remarks] == ["README", "old.conf"]
    with pytest.raises(ConfigurationError, match=r"b.conf: expected one file of slurm.conf, found a.conf and b.conf"):
        roles.slurm_files_by_role([text_file("a.conf", SLURM_CONF), text_file("b.conf", SLURM_CONF)], Notes())
