"""The files of a Slurm configuration: which is which, by name or by what is in it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from traces.cluster.files import TextFile
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import ASSUMED, NO_EFFECT, ConfigurationError

SLURM_CONF, GRES_CONF, TOPOLOGY_CONF = "slurm.conf", "gres.conf", "topology.conf"
SHOWN_CONFIG, SHOWN_PARTITIONS, SHOWN_NODES = "show config", "show partition", "show node"
SHOWN_RESERVATIONS = "show reservation"
ACCOUNTS_DUMP, QOS_TABLE, ASSOC_TABLE = "sacctmgr dump", "sacctmgr show qos", "sacctmgr show assoc"
SACCTMGR_COMMANDS = "sacctmgr commands"

_BY_NAME = {
    SLURM_CONF: r"slurm\.conf",
    GRES_CONF: r"gres\.conf",
    TOPOLOGY_CONF: r"topology\.conf",
    SHOWN_CONFIG: r"(?:scontrol[-_.])?(?:show[-_.])?config\.txt",
    SHOWN_PARTITIONS: r"(?:scontrol[-_.])?(?:show[-_.])?partitions?\.txt",
    SHOWN_NODES: r"(?:scontrol[-_.])?(?:show[-_.])?nodes?\.txt",
    SHOWN_RESERVATIONS: r"(?:scontrol[-_.])?(?:show[-_.])?reservations?\.txt",
    ACCOUNTS_DUMP: r"sacctmgr\.dump",
    QOS_TABLE: r"(?:sacctmgr[-_.])?(?:show[-_.])?qos\.(?:txt|psv)",
    ASSOC_TABLE: r"(?:sacctmgr[-_.])?(?:show[-_.])?assoc(?:iation)?s?\.(?:txt|psv)",
    SACCTMGR_COMMANDS: r"sacctmgr\.script",
}
"""The usual names. Where another file is of the same kind too, the one with the usual name is taken."""
_BY_CONTENT = {
    ACCOUNTS_DUMP: r"(?m)^(?:Cluster|Parent|Account) - '",
    QOS_TABLE: r"\AName\|Priority\|",
    ASSOC_TABLE: r"\ACluster\|Account\|User\|",
    SHOWN_CONFIG: r"\A\s*Configuration data as of",
    SHOWN_NODES: r"(?m)\A\s*NodeName=\S+ Arch=",
    SHOWN_PARTITIONS: r"(?m)\A\s*PartitionName=\S+\s+AllowGroups=",
    SHOWN_RESERVATIONS: r"\A\s*(?:ReservationName=\S+\s+StartTime=|No reservations in the system)",
    SACCTMGR_COMMANDS: r"(?im)^\s*(?:sacctmgr\s+(?:-\w+\s+)*)?(?:add|create|modify)\s+(?:user|account|qos|cluster)\b",
    TOPOLOGY_CONF: r"(?im)^\s*SwitchName=",
    GRES_CONF: r"(?im)^\s*(?:NodeName=\S+\s+)?Name=(?:gpu|mps|shard|nic)\b",
    SLURM_CONF: r"(?im)^\s*(?:ClusterName|SlurmctldHost|ControlMachine|SelectType|PartitionName|NodeName)\s*=",
}


def slurm_role_of(file: TextFile) -> str | None:
    """What a file is, such as "slurm.conf", by its name, else by what is in it. None for a file that is no configuration of Slurm."""
    for role, pattern in _BY_NAME.items():
        if re.fullmatch(pattern, file.name):
            return role
    if re.search(r"\.(?:log|json|psv|csv|events|trace|key|lua|py|sh)$", file.name):
        return None
    return next((role for role, pattern in _BY_CONTENT.items() if re.search(pattern, file.text)), None)


def slurm_files_by_role(files: Iterable[TextFile], notes: Notes) -> dict[str, TextFile]:
    """The files by their role. Those that are included or no configuration are left out, with a remark on each of the latter.

    Raises ConfigurationError where two files have the same role, and none of them the usual name of it."""
    files = list(files)
    included = _included(files)
    candidates: dict[str, list[TextFile]] = {}
    for file in files:
        role = slurm_role_of(file)
        if file.name in included and role in (SLURM_CONF, None):
            continue
        if role is None:
            effect = "the file was not read: it is no configuration that this reader knows"
            notes.add(Entry(file.name, 0, "file", ""), NO_EFFECT, effect)
        else:
            candidates.setdefault(role, []).append(file)
    return {role: _chosen(role, of_role, notes) for role, of_role in candidates.items()}


def _chosen(role: str, files: Sequence[TextFile], notes: Notes) -> TextFile:
    usual = [file for file in files if re.fullmatch(_BY_NAME[role], file.name)]
    if len(files) > 1 and len(usual) != 1:
        names = " and ".join(file.name for file in files)
        raise ConfigurationError(files[1].name, 0, f"one file of {role}, found {names}", "Leave one of them out")
    chosen = usual[0] if len(files) > 1 else files[0]
    for file in files:
        if file is not chosen:
            effect = f"the file was not read, since {chosen.name} is of the same kind. Name the files one by one to take this one"
            notes.add(Entry(file.name, 0, "file", ""), ASSUMED, effect)
    return chosen


def _included(files: Iterable[TextFile]) -> set[str]:
    """Last parts of the paths that some file includes."""
    return {match.rpartition("/")[2] for file in files for match in re.findall(r"(?im)^\s*include\s+(\S+)", file.text)}
