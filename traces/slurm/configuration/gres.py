"""gres.conf: the GPUs and other resources of nodes, by type and number."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from traces.cluster.files import TextFile
from traces.cluster.hostlists import expand_hostlist
from traces.cluster.nodes import Node
from traces.cluster.notes import Entry, Notes
from traces.cluster.remarks import NO_EFFECT
from traces.slurm.configuration.keys import left_out, without_effect
from traces.slurm.configuration.lines import Finder, conf_lines
from traces.slurm.configuration.parts import named_hosts, slurm_key
from traces.slurm.configuration.units import counted

_KEYS = without_effect("nodename name type count file multiplefiles autodetect flags links") | left_out(
    {
        "cores": "jobs would get these resources together with these cores",
        "cpus": "jobs would get these resources together with these CPUs",
    }
)


@dataclass
class GresLines:
    """What gres.conf says. gpus: of each node, how many by type, "" for those without one."""

    gpus: dict[str, dict[str, int]] = field(default_factory=dict)
    entries: dict[str, Entry] = field(default_factory=dict)
    everywhere: dict[str, int] = field(default_factory=dict)

    def refine(self, node: Node, notes: Notes) -> Node:
        """The node with the types of its GPUs, where slurm.conf has their number only. slurm.conf holds where they differ."""
        listed = self.gpus.get(node.name, self.everywhere if node.gpus else {})
        if not listed or listed == node.gpus:
            return node
        total = sum(listed.values())
        if set(node.gpus) == {""} and total == node.num_gpus:
            return replace(node, gpus=listed)
        if total != node.num_gpus and (entry := self.entries.get(node.name)) is not None:
            text = f"{node.name} has {node.num_gpus} GPUs, as its line of nodes says, and not {total}"
            notes.assumed(entry, text)
        return node


def read_gres_conf(file: TextFile, finder: Finder, notes: Notes) -> GresLines:
    """The lines of gres.conf. Raises ConfigurationError, with file, line and what was expected."""
    gres = GresLines()
    for line in conf_lines(file, finder):
        of = {slurm_key(entry): entry for entry in line.entries}
        names = named_hosts(of["nodename"]) if "nodename" in of else ()
        is_gpu = "name" in of and of["name"].value.lower() == "gpu"
        for key, entry in of.items():
            if is_gpu and key in ("nodename", "name", "type", "count", "file"):
                notes.modelled(entry, f"nodes.{of['nodename'].value}.gpus" if names else "nodes")
            elif key == "autodetect" and entry.value.lower() not in ("off", "none"):
                notes.assumed(entry, "nodes find their GPUs themselves; the lines of nodes say how many there are")
            elif key in ("name", "count", "type") and not is_gpu:
                notes.add(entry, NO_EFFECT, "the lines of nodes say how many there are")
            else:
                notes.by_table(_KEYS, entry, key)
        if is_gpu:
            _add_gpus(gres, names, of)
    return gres


def _add_gpus(gres: GresLines, names: tuple[str, ...], of: Mapping[str, Entry]) -> None:
    kind = of["type"].value if "type" in of else ""
    count = counted(of["count"], of["count"].value) if "count" in of else _files(of)
    for counts in [gres.gpus.setdefault(name, {}) for name in names] or [gres.everywhere]:
        counts[kind] = counts.get(kind, 0) + count
    gres.entries |= dict.fromkeys(names, of["name"])


def _files(of: Mapping[str, Entry]) -> int:
    """How many devices `File=/dev/nvidia[0-3]` names, 1 without it."""
    if "file" not in of:
        return 1
    try:
        return max(1, len(expand_hostlist(re.sub(r"[^\[\],\w-]", "", of["file"].value))))
    except ValueError as error:
        raise of["file"].refuse(f"files such as /dev/nvidia[0-3] ({error})") from error
