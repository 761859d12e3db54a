"""topology.conf: the tree of switches above the nodes."""

from __future__ import annotations

from collections.abc import Collection

from traces.cluster.files import TextFile
from traces.cluster.hostlists import compress_names
from traces.cluster.nodes import Switch
from traces.cluster.notes import Notes
from traces.slurm.configuration.keys import left_out, without_effect
from traces.slurm.configuration.lines import Finder, conf_lines
from traces.slurm.configuration.parts import named_hosts, slurm_key

_KEYS = without_effect("linkspeed") | left_out(
    {
        "blockname": "jobs would be placed by blocks of nodes",
        "blocksizes": "jobs would be placed by blocks of nodes",
    }
)


def read_topology_conf(file: TextFile, nodes: Collection[str], finder: Finder, notes: Notes) -> tuple[Switch, ...]:
    """The switches, in the order of the file. nodes: those of the cluster. Others are left out with a remark, as Slurm does.

    Raises ConfigurationError, with file, line and what was expected."""
    switches: list[Switch] = []
    for line in conf_lines(file, finder):
        of = {slurm_key(entry): entry for entry in line.entries}
        if "switchname" not in of:
            for key, entry in of.items():
                notes.by_table(_KEYS, entry, key)
            continue
        name = of["switchname"].value
        for key, entry in of.items():
            if key in ("switchname", "nodes", "switches"):
                notes.modelled(entry, f"switches.{name}")
            else:
                notes.by_table(_KEYS, entry, key)
        listed = named_hosts(of["nodes"]) if "nodes" in of else ()
        if missing := [each for each in listed if each not in nodes]:
            notes.assumed(of["nodes"], f"{compress_names(missing)} are no nodes of the cluster and are left out")
        below = named_hosts(of["switches"]) if "switches" in of else ()
        switches.append(Switch(name, tuple(each for each in listed if each in nodes), below))
    names = {switch.name for switch in switches}
    for line in conf_lines(file, finder):
        for entry in line.entries:
            if slurm_key(entry) == "switches" and (lost := [each for each in named_hosts(entry) if each not in names]):
                raise entry.refuse(
                    f"switches of this file, but {lost[0]} is none", "Add its line, or take the name out"
                )
    return tuple(switches)
