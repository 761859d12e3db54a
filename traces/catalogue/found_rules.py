"""Rules that were read off the log of a source (`tracehouse cluster identify`), and whether they are part of its cluster."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from traces.catalogue.places import clusters_folder
from traces.cluster.accounts import FOUND
from traces.cluster.description import ClusterDescription
from traces.cluster.files import read_text_file
from traces.cluster.toml_reading import parse_cluster_toml, read_cluster_file

BEGIN = "# Found in the log, and adopted by `tracehouse cluster adopt`. This part is written by the command."
END = "# End of the rules that were found in the log."


def found_path(source: str) -> Path:
    """The file with what the log of a source shows, whether it is adopted or not."""
    return clusters_folder() / "found" / f"{source}.toml"


def load_found(source: str) -> ClusterDescription | None:
    """What the log of a source shows. None before anybody has looked."""
    path = found_path(source)
    return read_cluster_file(path).description if path.exists() else None


def with_found(text: str, tables: str) -> str:
    """The text of a cluster file with these tables as its found rules, in place of those that it had. "" takes them out."""
    begin, end = text.find(BEGIN), text.find(END)
    if begin >= 0 and end >= 0:
        text = text[:begin].rstrip() + "\n" + text[end + len(END) :].lstrip("\n")
    return text.rstrip() + "\n" + (f"\n{BEGIN}\n\n{tables.rstrip()}\n\n{END}\n" if tables else "")


def adopted_text(path: Path, tables: str) -> str:
    """The text of an existing cluster file with these tables. Raises ConfigurationError where the result is no cluster file."""
    text = with_found(read_text_file(path).text, tables)
    parse_cluster_toml(text, path.name)
    return text


def rule_counts(cluster: ClusterDescription) -> tuple[int, int]:
    """How many of a cluster's limits, reservations and gates are declared, and how many were found."""
    origins = [limit.origin for limit in cluster.limits]
    origins += [part.origin for part in cluster.reservations] + [gate.origin for gate in cluster.gates]
    return sum(origin != FOUND for origin in origins), sum(origin == FOUND for origin in origins)


def without_found(cluster: ClusterDescription) -> ClusterDescription:
    """The cluster with its declared rules alone."""
    return replace(
        cluster,
        limits=tuple(limit for limit in cluster.limits if limit.origin != FOUND),
        gates=tuple(gate for gate in cluster.gates if gate.origin != FOUND),
        reservations=tuple(each for each in cluster.reservations if each.origin != FOUND),
    )
