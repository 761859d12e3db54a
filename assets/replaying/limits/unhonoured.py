"""What of a described cluster a replay by an order honours, and what it does not, in words for the first lines of an answer.

Of a source's rules, which are declared, which were found in its log, and what nobody knows, in words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from assets.replaying.limits.holds import follows_shares, is_honoured, takes_processors
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import clusters_of_source, load_found, rule_counts, rules_beside
from traces.cluster.accounts import FOUND, Limit
from traces.cluster.description import AdvanceReservation, ClusterDescription, Gate, Partition

IN_THE_LOG = ", found in the log"
"""Of rules that no configuration declares."""


def honoured_rules(cluster: ClusterDescription, policy: str) -> list[str]:
    """The limits, gates, reservations and absences that hold jobs back, and the shares that the policy follows, in words."""
    rules = _limit_words(limit for limit in cluster.limits if is_honoured(limit))
    if "cycle_s" in cluster.scheduler.order:
        rules.append(f"starts every {cluster.scheduler.order['cycle_s']} s only{IN_THE_LOG}")
    rules += _by_origin(cluster.gates, "gate")
    rules += _by_origin([each for each in cluster.reservations if takes_processors(each)], "reservation")
    away = sum(bool(node.absences) for node in cluster.nodes)
    rules += [f"absences of {_counted(away, 'node')}"] if away else []
    return rules + (_shares(cluster) if follows_shares(policy) else [])


def unhonoured_rules(cluster: ClusterDescription, policy: str) -> list[str]:
    """What a replay by an order leaves out, each with what it would have changed. Empty where it knows everything."""
    shares = [] if follows_shares(policy) else [f"{words}: fairshare follows them" for words in _shares(cluster)]
    return [*_of_scheduler(cluster), *_of_nodes(cluster), *_of_partitions(cluster), *shares, *_of_owners(cluster)]


def _by_origin(parts: Sequence[Gate | AdvanceReservation], word: str) -> list[str]:
    """How many are declared, and how many were found in the log."""
    declared = sum(part.origin != FOUND for part in parts)
    rest = len(parts) - declared
    return ([_counted(declared, word)] if declared else []) + ([f"{_counted(rest, word)}{IN_THE_LOG}"] if rest else [])


def _of_scheduler(cluster: ClusterDescription) -> Iterator[str]:
    scheduler = cluster.scheduler
    if scheduler.name != "none":
        settings = f" and its {_counted(len(scheduler.values), 'setting')}" if scheduler.values else ""
        yield f"the scheduler {scheduler.name}{settings}: the order and the backfilling of this replay decide"
    if scheduler.name == "slurm" and any(map(is_honoured, cluster.limits)):
        yield "Slurm's precedence of limits: here all that are about a job hold"
    for reservation in cluster.reservations:
        if not takes_processors(reservation):
            yield f"reservation {reservation.name}: nodes would be kept for its jobs"


def _of_nodes(cluster: ClusterDescription) -> Iterator[str]:
    nodes = cluster.nodes
    kinds = {
        "memory": any(node.memory_mib for node in nodes),
        "GPUs": any(node.num_gpus for node in nodes),
        "features": any(node.features for node in nodes),
        "other resources": any(node.resources for node in nodes),
    }
    what = ", ".join(["nodes", *(kind for kind, has in kinds.items() if has)])
    if len(nodes) > 1 or any(kinds.values()):
        yield f"{what}: any free processors serve a job"
    if cluster.licences:
        yield f"licences {', '.join(cluster.licences)}: jobs would wait for them"


def _of_partitions(cluster: ClusterDescription) -> Iterator[str]:
    alike: dict[str, list[str]] = {}
    for partition in cluster.partitions:
        rules = list(_rules_of(partition))
        if partition.nodes and len(partition.nodes) < len(cluster.nodes):
            rules.insert(0, f"{len(partition.nodes)} of {_counted(len(cluster.nodes), 'node')}")
        if rules:
            alike.setdefault(", ".join(rules), []).append(partition.name)
    for words, names in alike.items():
        yield f"partition{'' if len(names) == 1 else 's'} {', '.join(names)}: {words}"


def _rules_of(partition: Partition) -> Iterator[str]:
    if partition.state != "up":
        yield f"state {partition.state}"
    if partition.max_time_s is not None:
        yield "longest time"
    if partition.min_nodes > 1 or partition.max_nodes is not None or partition.max_cpus_per_node is not None:
        yield "nodes of a job"
    if partition.max_memory_mib is not None:
        yield "memory of a job"
    if partition.oversubscribe != "no":
        yield f"oversubscribe {partition.oversubscribe}"
    if partition.tier != 1 or partition.factor != 1:
        yield "priority"
    lists = (partition.allow_accounts, partition.allow_groups, partition.allow_qos, partition.allow_users)
    if any((*lists, partition.deny_accounts, partition.deny_qos)):
        yield "who may use it"


def _shares(cluster: ClusterDescription) -> list[str]:
    if not cluster.accounts and not cluster.members:
        return []
    return [f"shares of {_counted(len(cluster.accounts), 'account')} and {_counted(len(cluster.members), 'user')}"]


def _of_owners(cluster: ClusterDescription) -> Iterator[str]:
    if cluster.qualities:
        yield f"priority and rights of {len(cluster.qualities)} QOS"
    for words in _limit_words(limit for limit in cluster.limits if not is_honoured(limit)):
        yield f"{words}: jobs over it would wait or be refused"


def _limit_words(limits: Iterable[Limit]) -> list[str]:
    """Limits of one kind together, such as `2 limits (running jobs by user)`."""
    kinds = Counter(_kind(limit) for limit in limits)
    return [f"{_counted(count, 'limit')} ({kind})" for kind, count in kinds.items()]


def _kind(limit: Limit) -> str:
    word = ("soft " if limit.is_soft else "") + ("least " if limit.is_least else "")
    where = "" if limit.owner == "cluster" else f" of a {'QOS' if limit.owner == 'qos' else limit.owner}"
    by = "" if limit.each in ("all", "job") else f" by {limit.each}"
    counts = "one job's" if limit.counts == "job" else limit.counts.replace("_", " ")
    return f"{word}{counts} {limit.resource}{by}{where}{IN_THE_LOG if limit.origin == FOUND else ''}"


def _counted(count: int, word: str) -> str:
    return f"{count:,} {word}" if count == 1 else f"{count:,} {word}s"


# --- origins


def origins_text(source: str) -> str:
    """Such as "rules: 3 declared, 1 found in the log and adopted". "" where nobody has looked for rules in the log."""
    return "" if load_found(source) is None else f"rules: {origin_words(source)}"


def origin_words(source: str) -> str:
    """Such as "3 declared, 1 found in the log and adopted"."""
    entry = load_catalogue(may_be_missing=True).sources.get(source)
    clusters = () if entry is None else clusters_of_source(entry)
    seen = load_found(source)
    adoptable = 0 if seen is None else rule_counts(rules_beside(seen, clusters[-1] if clusters else None))[1]
    declared, adopted = rule_counts(clusters[-1]) if clusters else (0, 0)
    words = [f"{declared:,} declared" if clusters else "none declared"]
    if adopted:
        words.append(f"{adopted:,} found in the log and adopted")
    elif seen is None:
        words.append(f"others unknown, since nobody looked for them in the log (tracehouse cluster identify {source})")
    elif adoptable:
        words.append(f"{adoptable:,} found in the log and not adopted (tracehouse cluster adopt {source})")
    elif rule_counts(seen)[1]:
        words.append("none found in the log but an order, which the cluster's scheduler has of its own")
    else:
        words.append("none found in the log, what else held jobs back is unknown")
    return ", ".join(words)
