"""Logs in the catalogue: the tables [sources.NAME]."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from pathlib import Path
from typing import Any

from traces.catalogue.checking import Checker
from traces.catalogue.sources import FORMATS, LARGEST_CLUSTER, NAME, Source
from traces.common.pseudonyms import DEFAULT_KINDS, PSEUDONYM_KINDS
from traces.synthetic.centre import Centre, CentreOptions
from traces.synthetic.sites import BundledSite, SiteOptions
from traces.synthetic.workload import WorkloadOptions

TOPOLOGY_SUFFIXES = (".conf", ".yaml", ".yml")
"""Suffixes of files that describe a tree of switches."""
_TREE_IN_WORDS = re.compile(r"\s*\d+\s*([x*]\s*\d+\s*)*")


def declared_log(check: Checker, name: str, table: dict[str, Any], time_zone: str) -> Source:
    """The table [sources.NAME] as a source. Faults are reported through `check`, which names file and line.

    time_zone: of the catalogue, for a generated source that has none.
    """
    check.keys(table, {f.name for f in fields(Source)} - {"name", "declared_at"}, name)
    log_format = check.typed(table, "format", str, name)
    if log_format is None:
        check.fail(name, None, f"`format` is missing: expected one of {', '.join(FORMATS)}")
    if log_format not in FORMATS:
        check.fail(name, "format", f"unknown format {log_format!r}: expected one of {', '.join(FORMATS)}")
    log_path, generator = check.typed(table, "path", str, name), table.get("generator", {})
    if not isinstance(generator, dict):
        check.fail(name, "generator", "expected a table of generator options")
    if log_path == "":
        check.fail(name, "path", "`path` is empty: give the log file or the folder of log files")
    if (log_path is None) == (not generator):
        check.fail(name, None, "give either `path` (a log) or `generator` (options of a synthetic log)")
    procs = check.typed(table, "procs", int, name)
    if procs is not None and not 1 <= procs <= LARGEST_CLUSTER:
        check.fail(name, "procs", f"a cluster has at least 1 processor, found {procs}, and at most {LARGEST_CLUSTER:,}")
    cluster = {key: check.typed(table, key, int, name) for key in ("nodes", "gpus", "node_memory_gb", "procs_per_node")}
    for key, amount in cluster.items():
        if amount is not None and not 1 <= amount <= LARGEST_CLUSTER:
            check.fail(
                name,
                key,
                f"{key} must be at least 1, found {amount}, and at most {LARGEST_CLUSTER:,}: leave out what is not there",
            )
    centre = _centre(check, name, generator, log_format, procs) if "model" in generator else None
    site = _site(check, name, generator, log_format, procs) if "site" in generator else None
    if centre:
        procs, cluster["nodes"], time_zone = centre.procs, centre.nodes, centre.time_zone
    elif site:
        procs, time_zone = site.work.cores, site.time_zone
    elif generator:
        if procs is None:
            check.fail(name, "generator", "a generated source needs `procs`, the processors of its cluster")
        _check_generator(check, name, WorkloadOptions, generator, procs or 1)
    return Source(
        name,
        log_format or "",
        (check.path.parent / log_path).resolve() if log_path else None,
        procs,
        check.time_zone(table["time_zone"], name) if "time_zone" in table else time_zone if generator else None,
        check.typed(table, "description", str, name) or "",
        bool(check.typed(table, "drop_wider", bool, name)),
        check.typed(table, "columns", str, name) or "",
        _pseudonyms(check, name, table) if log_path else (),
        **cluster,
        topology=_topology(check, name, table),
        partitions=_partitions(check, name, table, procs),
        scheduler=_scheduler(check, name, table),
        cluster=_clusters(check, name, table),
        queue_command=check.typed(table, "queue_command", str, name) or "",
        generator=generator,
        declared_at=f"{check.path}:{check.line(name, None)}",
    )


def _partitions(check: Checker, name: str, table: dict[str, Any], procs: int | None) -> dict[str, int]:
    """Processors by the queue that owns them."""
    owned = table.get("partitions", {})
    if not isinstance(owned, dict) or not all(
        type(each) is int and 1 <= each <= LARGEST_CLUSTER for each in owned.values()
    ):
        check.fail(
            name,
            "partitions",
            f"expected queues and the processors that each owns, such as {{ gpu = 64 }}, found {owned!r}",
        )
    if procs is not None and sum(owned.values()) > procs:
        check.fail(
            name, "partitions", f"the queues own {sum(owned.values())} processors, the cluster has {procs}: correct one"
        )
    return dict(owned)


def _scheduler(check: Checker, name: str, table: dict[str, Any]) -> dict[str, str]:
    """Policy and backfill of the scheduler that wrote the log, as `tracehouse replay` takes them."""
    given = table.get("scheduler", {})
    is_table = isinstance(given, dict) and given.keys() <= {"policy", "backfill"}
    if not is_table or not all(isinstance(word, str) and word for word in given.values()):
        expected = (
            'policy and backfill as `tracehouse replay` takes them, such as { policy = "FCFS", backfill = "easy" }'
        )
        check.fail(name, "scheduler", f"expected {expected}, found {given!r}")
    return dict(given)


def _clusters(check: Checker, name: str, table: dict[str, Any]) -> tuple[str, ...]:
    """Names of the cluster's descriptions."""
    given = table.get("cluster", [])
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list) or not all(isinstance(each, str) and NAME.fullmatch(each) for each in names):
        expected = 'the name of a cluster that `tracehouse cluster import` wrote, or several such as ["old", "new"]'
        check.fail(name, "cluster", f"expected {expected}, found {given!r}")
    return tuple(names)


def _topology(check: Checker, name: str, table: dict[str, Any]) -> str | None:
    """The tree of switches in words, or the path of its file, which is relative to the catalogue's folder."""
    text = check.typed(table, "topology", str, name)
    if text is None or _TREE_IN_WORDS.fullmatch(text):
        return text
    if Path(text).suffix not in TOPOLOGY_SUFFIXES:
        check.fail(
            name,
            "topology",
            "expected nodes per leaf x leaves per pod x pods, such as '16x8x3', or the path of a topology.conf or topology.yaml, "
            f"found {text!r}",
        )
    return str((check.path.parent / text).resolve())


def _pseudonyms(check: Checker, name: str, table: dict[str, Any]) -> tuple[str, ...]:
    """The kinds of names that are replaced. All, where the table does not say."""
    kinds = table.get("pseudonyms", list(DEFAULT_KINDS))
    if not isinstance(kinds, list) or not all(kind in PSEUDONYM_KINDS for kind in kinds):
        expected = ", ".join(PSEUDONYM_KINDS)
        check.fail(name, "pseudonyms", f"expected a list of {expected} ([] keeps all names), found {kinds!r}")
    return tuple(kinds)


def _centre(check: Checker, name: str, generator: dict[str, Any], log_format: str | None, procs: int | None) -> Centre:
    """The cluster that a generated log is modelled after."""
    options = _check_generator(check, name, CentreOptions, generator)
    if log_format != "swf":
        check.fail(name, "format", f'a log after a model is written as "swf", found {log_format!r}')
    if procs not in (None, options.centre.procs):
        check.fail(name, "procs", f"{options.model} has {options.centre.procs} processors, found {procs}: leave it out")
    return options.centre


def _site(
    check: Checker, name: str, generator: dict[str, Any], log_format: str | None, procs: int | None
) -> BundledSite:
    """The bundled cluster that a generated log is of."""
    site: BundledSite = _check_generator(check, name, SiteOptions, generator).bundled
    if log_format != site.scheduler:
        check.fail(name, "format", f"the log of {site.name} is written as {site.scheduler!r}, found {log_format!r}")
    if procs not in (None, site.work.cores):
        check.fail(name, "procs", f"{site.name} has {site.work.cores} processors, found {procs}: leave it out")
    return site


def _check_generator(check: Checker, name: str, kind: Any, given: dict[str, Any], procs: int | None = None) -> Any:
    """The options of a generator, of the dataclass `kind`. Reports those that are not. procs: for a kind that needs them."""
    declared = {f.name: f for f in fields(kind) if f.name != "procs"}
    for key in given:
        if key not in declared:
            expected = ", ".join(sorted(declared))
            check.fail(name, ("generator", key), f"unknown generator option {key!r}: expected {expected}")
    missing = [key for key, option in declared.items() if option.default is MISSING and key not in given]
    if missing:
        check.fail(name, "generator", f"generator options are missing: {', '.join(missing)}")
    try:
        return kind(**given) if procs is None else kind(procs=procs, **given)
    except ValueError as error:
        check.fail(name, "generator", f"bad generator options: {error}")
