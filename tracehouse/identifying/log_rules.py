"""Finding the rules of a cluster in its log, and making them part of a source's cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assets.common.trace import Trace
from assets.common.writing.outputs import write_output
from assets.replaying.limits.identified import found_cluster, rules_of_trace
from assets.replaying.running.grade import reacting_users, why_made_up
from assets.replaying.running.loading import is_path
from assets.replaying.running.settings import LIMIT_LABELS
from models.identification.identify import BUDGET, Identification
from tracehouse.logs import load_log
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import (
    NAMED,
    adopted_text,
    cluster_path,
    clusters_of_source,
    found_path,
    is_named_by_adoption,
    load_cluster,
    load_found,
    rule_counts,
    rules_beside,
    without_found,
)
from traces.catalogue.editing import declared_source, forget_clusters, name_clusters
from traces.catalogue.sources import Source
from traces.cluster.description import ClusterDescription, Node
from traces.cluster.notes import DescribedCluster
from traces.cluster.toml_reading import parse_cluster_toml
from traces.cluster.toml_writing import cluster_toml, rules_toml


@dataclass(frozen=True)
class IdentifiedLog:
    """What the log of a source, or one in no catalogue, shows. file: what was written for `adopt`, None for a log in no catalogue.
    described: the cluster that the source names, without what was adopted. adoptable: how many rules `adopt` takes. no_grade_because: why
    the waits of the log are no real ones, which nothing can be graded by, None where they are."""

    trace: Trace
    identification: Identification
    file: Path | None
    described: ClusterDescription | None = None
    adoptable: int = 0
    no_grade_because: str | None = None


def identify_cluster(log: str | Path, procs: int | None = None, budget: int = BUDGET) -> IdentifiedLog:
    """Looks for the rules of the cluster that made a log, and keeps them for `adopt_rules` where it is a source of the catalogue.

    log: a source, or the path of a log. procs: of the cluster, None for the log's. budget: of replays. What the source's cluster declares
    is taken and not searched. Raises ValueError, with the remedy, for a log that is too short or has jobs wider than the cluster.
    """
    loaded = load_log(log, procs, drop_wider=is_path(str(log)))
    trace = loaded.trace(labels=LIMIT_LABELS)
    declared = None
    if loaded.in_catalogue:
        clusters = clusters_of_source(load_catalogue().source(loaded.name))
        declared = without_found(clusters[-1]) if clusters else None
    reacting = reacting_users(loaded.warehouse, loaded.name)
    identification = rules_of_trace(trace, declared, procs, budget, reacting)
    made_up = why_made_up(loaded.warehouse, loaded.name)
    if not loaded.in_catalogue:
        return IdentifiedLog(trace, identification, None, no_grade_because=made_up)
    file = found_path(loaded.name)
    file.parent.mkdir(parents=True, exist_ok=True)
    by_queue = declared is not None and declared.scheduler.name == "pbs"
    seen = found_cluster(trace, identification, by_queue)
    write_output(file, cluster_toml(seen).encode())
    adoptable = rule_counts(rules_beside(seen.description, declared))[1]
    return IdentifiedLog(trace, identification, file, declared, adoptable, made_up)


@dataclass(frozen=True)
class AdoptedRules:
    """file: the cluster file that has the rules now. rules: how many. named: whether the catalogue names the cluster at the source."""

    file: Path
    rules: int
    named: bool


def adopt_rules(source: str, revoke: bool = False) -> AdoptedRules:
    """Makes the rules that the log of a source shows part of its cluster, in place of those that were adopted before.

    A source without a cluster gets one, clusters/SOURCE.toml. Of limits that change, a cluster with a scheduler of its own gets the last
    ones. revoke: makes all as it was before, so that a cluster that was made for the rules is no more, and the catalogue names none.
    Raises ValueError, with the remedy, where nobody has looked for rules, and where there are none.
    """
    entry = load_catalogue().source(source)
    path = cluster_path(entry.cluster[-1] if entry.cluster else source)
    if revoke:
        return _revoked(entry, path)
    seen = load_found(source)
    if seen is None:
        raise ValueError(
            f"nobody has looked for rules in the log of {source}: run `tracehouse cluster identify {source}`"
        )
    count = rule_counts(seen)[1]
    if not count:
        raise ValueError(f"the log of {source} shows no rule that a cluster file can have")
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_output(path, _plain_cluster(source, seen.num_cpus).encode())
    else:
        seen = rules_beside(seen, load_cluster(path.stem).description)
        count = rule_counts(seen)[1]
        if not count:
            raise ValueError(
                f"the log of {source} shows an order of jobs alone, and the scheduler of the cluster {path.stem} has its own: there is "
                "nothing to adopt"
            )
    can_name = not entry.cluster and declared_source(source) is not None and entry.path is not None
    tables = (f"{NAMED}\n\n" if can_name or is_named_by_adoption(path) else "") + rules_toml(seen)
    write_output(path, adopted_text(path, tables).encode())
    if can_name:
        assert entry.path is not None
        name_clusters(source, entry.path, [path.stem])
    return AdoptedRules(path, count, bool(entry.cluster) or can_name)


def _revoked(source: Source, path: Path) -> AdoptedRules:
    """Takes the found rules out of a cluster file. One that is left as adopting makes it is removed, and the catalogue no longer names
    what adopting has named."""
    if not path.exists():
        raise ValueError(f"source {source.name} has no cluster {path.stem}: there is nothing to take out")
    was_named, text = is_named_by_adoption(path), adopted_text(path, "")
    cluster = parse_cluster_toml(text, path.name).description
    is_plain = text == _plain_cluster(source.name, cluster.num_cpus) and len(source.cluster) < 2
    if was_named or is_plain:
        forget_clusters(source.name)
    if is_plain:
        path.unlink()
    else:
        write_output(path, text.encode())
    return AdoptedRules(path, 0, bool(source.cluster) and not was_named and not is_plain)


def _plain_cluster(name: str, procs: int) -> str:
    """The text of a cluster of one node with all processors."""
    return cluster_toml(DescribedCluster(ClusterDescription(name, (Node("all", procs),)), ()))
