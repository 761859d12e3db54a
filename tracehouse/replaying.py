"""`tracehouse replay`: a log or a source, settings, and the results."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from assets.common.progress import say_if_slow, warn
from assets.common.storage import open_warehouse
from assets.common.trace import Trace
from assets.common.writing.options import options_of, written_settings
from assets.common.writing.outputs import output_beside
from assets.replaying import plots as replay_plots
from assets.replaying.compare_placements import saved_placements
from assets.replaying.configuring.sizes import AskedProcs, parse_nodes, parse_procs
from assets.replaying.limits.unhonoured import honoured_rules
from assets.replaying.limits.way import named_cluster
from assets.replaying.own.clusters import cluster_of_replay, own_cluster, policy_on
from assets.replaying.own.unmodelled import own_remarks, rules_left_out
from assets.replaying.own.way import machines_more, size_words
from assets.replaying.pace import pace_of_site
from assets.replaying.running.at_load import load_remark
from assets.replaying.running.loading import (
    catalogue_source,
    check_log_estimates,
    is_loaded,
    is_path,
    load_any_trace,
    log_source,
    most_in_use,
)
from assets.replaying.running.on_nodes import node_settings, placed_jobs
from assets.replaying.running.policies import ChosenPolicy
from assets.replaying.running.replayers import check_settings, choose_policy, way_of
from assets.replaying.running.run import ReplayRun, check_partitions, replay_run
from assets.replaying.running.scored_part import ScoredPart
from assets.replaying.running.settings import REFUSABLE, NodeSettings, RunSettings, check_run_name
from assets.replaying.running.tables import run_jobs, series_of, with_time
from assets.replaying.running.users import UsersPace
from assets.replaying.scenarios.freed import freed_summary, replay_changed
from assets.replaying.site import Site, on_machine, site_of, with_order
from simulator.jobs.words import SHARING
from simulator.metrics.metrics import SEMANTICS
from tracehouse.jobs import run_or_fail
from traces.catalogue.clusters import load_cluster
from traces.cluster.resizing import ClusterSizes
from warehouse import first_row

NAMED_APART = frozenset(
    "policy backfill inspector estimates reserve_by admit_by correction rules outages procs".split()  # noqa: SIM905
)
"""Settings that a summary does not have as they are given."""


class NoTree(ValueError):
    """Jobs are to be placed on nodes, and nothing says which there are. setting: that asks for it."""

    def __init__(self, setting: str) -> None:
        super().__init__(
            f"{setting} needs the tree of switches: give topology, such as topology='16x8x4', or `topology` of the source in "
            "the catalogue"
        )
        self.setting = setting


class AskedSettings(NamedTuple):
    """size: of the cluster, where it is not a number of processors, which `settings` has. nodes: where jobs are placed, if they are.
    fitted: the log's site, whose machine was fitted to the log, None for another one."""

    settings: RunSettings
    size: AskedProcs | None
    nodes: NodeSettings | None
    fitted: Site | None = None


def asked_settings(given: Mapping[str, Any], log: str, on_nodes: bool = False) -> AskedSettings:
    """The settings of a replay of a log (an existing path) or of a source: those of its site with what is given, as in a scenario. They are
    of a row of processors where something is asked for that only such a replay has.

    given: by name, as people write them. on_nodes: whether jobs are placed, whatever is given.
    Raises ValueError with the remedy, and NoTree.
    """
    given = {name: value for name, value in given.items() if value is not None}
    site = None if on_nodes else _site_asked_for(given, log)
    if site is None:
        return _asked(given, log, on_nodes, None)
    try:
        asked = _asked(given, log, on_nodes, site)
        settings = checked(asked)
        if site.is_described:
            choose_policy(settings, None if is_path(log) else open_warehouse(), log)
    except ValueError as error:
        if not _asked_of_orders(given) or not (site.is_described or site.scheduler.machine):
            raise
        asked = _asked(given, log, on_nodes, None)
        # a fault of what is given keeps its message
        choose_policy(checked(asked), None if is_path(log) else open_warehouse(), log)
        warn(f"replayed over a row of processors: {error}")
    return asked


def _asked(given: Mapping[str, Any], log: str, on_nodes: bool, site: Site | None) -> AskedSettings:
    """site: None for a row of processors, or a cluster that is named."""
    of_site = _usual_on_named(given) if site is None else site.scheduler.settings
    given = of_site | (dict(given) if site is None else with_order(dict(given), site.settings))
    size = _take_size(given)
    options = options_of(NodeSettings)
    of_nodes = {name: options[name].read(given[name]) for name in options if given.get(name) is not None}
    nodes = None
    if of_nodes or on_nodes:
        nodes = node_settings(of_nodes, None if is_path(log) else catalogue_source(log))
        if nodes is None:
            raise NoTree(next(iter(of_nodes), "placement"))
    settings = written_settings(RunSettings, given)
    if site is None or site.is_described:
        return AskedSettings(settings, size, nodes)
    missing = [] if settings.procs or (size is not None and size.procs) else site.settings.outages
    of_machine = {
        "outages": [*missing, *settings.outages],
        "partitions": settings.partitions or site.settings.partitions,
    }
    return AskedSettings(settings.model_copy(update=of_machine), size, nodes, site)


def _site_asked_for(given: Mapping[str, Any], log: str) -> Site | None:
    """The site of a log, None where another cluster is asked for, or what no site has."""
    asked = _asked_of_orders(given)
    if asked & {"rules", *NodeSettings.model_fields} or given.get("cluster") is not None:
        return None
    site = site_of(log)
    if not site.is_described and given.get("edits"):
        return None
    begins_warm = "warm-start" in way_of(site.settings).replayer.honours
    return site if begins_warm or not given.get("warm_start") else None


def _usual_on_named(given: Mapping[str, Any]) -> dict[str, str]:
    """The policy of the cluster that is named, where none is asked for."""
    if not given.get("cluster") or _asked_of_orders(given):
        return {}
    usual = {"policy": policy_on(load_cluster(given["cluster"]).description)}
    begins_warm = "warm-start" in way_of(RunSettings.model_validate(usual)).replayer.honours
    return usual if begins_warm or not given.get("warm_start") else {}


def _asked_of_orders(given: Mapping[str, Any]) -> set[str]:
    """What is asked for that only an order over a row of processors has."""
    of_orders = {*REFUSABLE, "rules", *NodeSettings.model_fields} - {"cluster", "warm_start", "edits"}
    if _is_number_of_nodes(given.get("nodes")):
        of_orders -= {"nodes", "procs_per_node"}
    return {name for name in of_orders if given.get(name) not in (None, False, (), [])}


def _take_size(given: dict[str, Any]) -> AskedProcs | None:
    """Takes the size of the cluster out of what is given: procs, or nodes where that is a number. None without, and where
    procs is a number, which stays."""
    procs, nodes = given.get("procs"), given.get("nodes")
    if not _is_number_of_nodes(nodes):
        given["nodes"] = nodes and nodes.strip().lower()
        return parse_procs(given.pop("procs")) if isinstance(procs, str) else None
    try:
        size = parse_nodes(str(nodes), given.get("procs_per_node"))
    except ValueError as error:
        raise ValueError(f"{error}. Or give shared or whole, for jobs that are placed on nodes") from None
    if procs is not None:
        raise ValueError("--procs and --nodes both say how large the cluster is: leave one of them out")
    del given["nodes"]
    if all(given.get(name) is None for name in NodeSettings.model_fields if name != "procs_per_node"):
        given.pop("procs_per_node", None)  # it says how large a node is, but not that jobs are placed on nodes
    return size


def _is_number_of_nodes(nodes: Any) -> bool:
    """Whether nodes say how large the cluster is, and not how jobs share them."""
    return nodes is not None and str(nodes).strip().lower() not in SHARING


def replay_trace(log: str, asked: AskedSettings, labels: Sequence[str] = ()) -> ReplayRun:
    """Replays a log (an existing path) or a source. labels: further columns of core.jobs that the rows should have.

    Raises LogError, CatalogueError or ValueError with the remedy.
    """
    settings, is_log = checked(asked), is_path(log)
    if is_log:
        check_log_estimates(Path(log), settings)
    source = log_source(Path(log), settings.procs) if is_log else catalogue_source(log)
    # before the log is read, which may take a while
    policy = choose_policy(settings, None if is_log else open_warehouse(), log)
    with say_if_slow(f"reading {log}"):
        trace = load_any_trace(source, settings, not is_log, [*settings.labels, *labels])
    if not settings.procs and not settings.is_on_cluster and not settings.cluster:
        warn_of_peak(trace.cluster_procs, trace.cluster_procs_from)
    return replay_sized(trace, settings, policy, asked, source.procs_per_node, _pace(log, settings))


def _pace(log: str, settings: RunSettings) -> UsersPace | None:
    return pace_of_site(log) if settings.is_closed else None


def checked(asked: AskedSettings) -> RunSettings:
    """The settings in their usual form, with the processors where the size says how many. Raises ValueError with the remedy."""
    settings, size = asked.settings, asked.size
    return check_settings(settings.model_copy(update={"procs": size.procs}) if size else settings, asked.nodes)


def replay_sized(
    trace: Trace,
    settings: RunSettings,
    policy: ChosenPolicy,
    asked: AskedSettings,
    node_procs: int | None = None,
    pace: UsersPace | None = None,
) -> ReplayRun:
    """Replays a trace on a cluster of the size that is asked for. settings: as `checked` returns them. node_procs: processors of a node of
    the source, where it says so. pace: of its users, where they keep it."""
    fitted_procs = None if asked.fitted is None else asked.fitted.procs
    if fitted_procs not in (None, trace.cluster_procs) and not settings.procs and asked.size is None:
        settings = settings.model_copy(update={"procs": fitted_procs})
    size = parse_procs(str(settings.procs)) if asked.size is None and settings.procs else asked.size
    if size is not None:
        of_site = fitted_procs or trace.cluster_procs
        procs = _procs_of(trace, settings, size, of_site, node_procs)
        settings = settings.model_copy(update={"procs": procs})
        if asked.fitted is not None:
            settings = on_machine(settings, asked.fitted.settings, procs, of_site)
    check_partitions(trace, settings.partitions)
    if remark := load_remark(trace, settings):
        warn(remark)
    with say_if_slow(f"replaying {trace.rows.height:,} jobs"):
        if (settings.is_on_cluster or settings.cluster) and pace is None:
            return replay_changed(trace, settings, policy)
        return replay_run(trace, settings, policy, asked.nodes, pace=pace)


def _procs_of(trace: Trace, settings: RunSettings, size: AskedProcs, cluster_procs: int, node_procs: int | None) -> int:
    """The processors of a size that is asked for. Warns of a number that is taken for the whole cluster and is less than was in use."""
    settings = settings.model_copy(update={"procs": None})
    if settings.is_on_cluster:
        sizes = ClusterSizes(own_cluster(trace, trace.rows, settings))
        today, procs = (
            sizes.machines if size.in_nodes else sizes.cluster.num_cpus,
            sizes.procs(machines_more(sizes, size)),
        )
    else:
        named = settings.cluster
        of_cluster = cluster_procs if named is None else named_cluster(named, trace.source).num_cpus
        procs = size.of(of_cluster, node_procs or trace.node_procs)
        of_node = size.node_procs or node_procs or trace.node_procs or 1
        today = of_cluster // of_node if size.in_nodes else of_cluster
    if remark := size.remark(today, most_in_use(trace), procs):
        warn(remark)
    return procs


def summary(run: ReplayRun, trace_or_source: str, part: ScoredPart | None = None) -> dict[str, Any]:
    """Everything that is printed of a replay, by name: settings, counts, metrics, the hindsight bound, waits by class.

    part: what is scored, None for all jobs. The bound is of all jobs, so it is left out for a part.
    """
    settings = run.settings
    scored = None if part is None else part.mask
    with say_if_slow("looking for the least mean wait that any schedule could have"):
        hindsight = run.hindsight() if part is None else {}
    return {
        "trace": trace_or_source,
        "policy": run.policy.text,
        "policy_sha256": run.policy.sha256,
        **_on_cluster(run),
        "backfill": settings.portable_backfill if settings.is_on_cluster else settings.backfill,
        "inspector": settings.inspector,
        "agent_sha256": run.policy.agent_sha256,
        "estimates": run.estimates,
        "reserve_by": settings.reserve_by if settings.is_standard else None,
        "admit_by": settings.admit_by if settings.is_standard else None,
        "correction": settings.correction if settings.is_standard else None,
        "rules": settings.rules,
        **({} if settings.is_standard else {"procs_per_node": run.trace.procs_per_node}),
        **{name: value for name, value in settings.model_dump().items() if name not in NAMED_APART},
        "procs": run.cluster.procs,
        "procs_from": run.procs_from,
        **run.counts,
        **freed_summary(run),
        **({} if part is None else {"scored": part.words, "scored_jobs": int(part.mask.sum())}),
        "outage_list": [outage.model_dump() for outage in settings.outages],
        **run.metrics(scored),
        **run.rlscheduler_metrics(),
        **{f"trimmed_{name}": value for name, value in (run.trimmed_metrics() or {}).items()},
        **hindsight,
        "by_class": run.by_class(scored),
        **_on_nodes(run),
        "trace_sha256": run.trace_sha256,
        "semantics": SEMANTICS,
        "engine": run.engine,
    }


def _on_cluster(run: ReplayRun) -> dict[str, Any]:
    """Which scheduler, or which limits, of a cluster were in the replay, and what of it was not. Empty where no cluster is described. Of a
    scheduler also how far its runs are from each other."""
    settings = run.settings
    cluster = cluster_of_replay(run.trace, run.rows, settings)
    if cluster is None:
        return {}
    about: dict[str, Any] = {"cluster": settings.cluster or cluster.name}
    rules = {"not_modelled": rules_left_out(cluster, settings, run.rows)}
    if settings.own_scheduler is not None:
        about["scheduler"] = f"{cluster.scheduler.name} {cluster.scheduler.version}".strip()
        runs = {"runs": 1 + len(run.others), "mean_waits_s": run.mean_waits_s}
        if more := size_words(run.trace, run.rows, settings):
            about["nodes"] = more
        return {settings.own_scheduler: about | rules | {"remarks": own_remarks(cluster, settings)} | runs}
    if settings.cluster is None:
        return {"cluster_rules": about | rules}
    return {"limits": about | {"honoured": honoured_rules(cluster, settings.policy)} | rules}


def _on_nodes(run: ReplayRun) -> dict[str, Any]:
    """Where jobs were placed, and the cost of that. Empty where they were not placed."""
    if run.ground is None:
        return {}
    ground = run.ground
    settings = {name: value for name, value in ground.settings.model_dump().items() if value is not None}
    settings |= {"procs_per_node": ground.procs_per_node, "tree_nodes": ground.tree.nodes, "remarks": ground.remarks}
    return {"placement": settings | {"metrics": run.placement_metrics()}}


def placement_table(run: ReplayRun) -> pl.DataFrame:
    """job_id, start_time and the columns of assets.replaying.running.on_nodes.placed_jobs, in replay order."""
    assert run.ground is not None and run.placement is not None
    start = pl.when(pl.Series(run.schedule.started)).then(pl.Series(run.schedule.start))
    nodes = placed_jobs(run.ground, run.placement)[run.cluster.waiting :]
    return run.rows.select("job_id", start_time=start).hstack(nodes)


def starts_table(run: ReplayRun) -> pl.DataFrame:
    """job_id, submit_time, start_time (null for a job cancelled while it waited), runtime_s, procs in replay order, times in
    the log's own seconds."""
    start = pl.when(pl.Series(run.schedule.started)).then(pl.Series(run.schedule.start))
    return run.rows.select("job_id", submit_time="submit_s", start_time=start, runtime_s="runtime_s", procs="procs")


def write_plots(run: ReplayRun, title: str, folder: Path) -> list[Path]:
    """Writes gantt.png, usage.png, waits.png and, of placed jobs, nodes.png into a folder, which is made if it is missing. Returns
    their paths."""
    series, procs, trace = with_time(series_of(run), run), {title: run.cluster.procs}, run.trace
    zone = trace.time_zone if trace.has_calendar else None
    pictures = {
        "gantt": replay_plots.gantt_of(run, title),
        "usage": replay_plots.use_and_queue({title: series}, procs, trace.has_calendar),
        "waits": replay_plots.waits({title: run_jobs(title, run)}, procs, zone),
    }
    if run.ground is not None and run.placement is not None:
        pictures["nodes"] = replay_plots.nodes_of_run(run, title)
    for name, picture in pictures.items():
        with output_beside(folder / f"{name}.png") as new:
            picture.savefig(new, format="png", dpi=120)
    return [folder / f"{name}.png" for name in pictures]


def check_can_be_saved(trace_or_source: str, name: str) -> None:
    """Raises ValueError, with the remedy, for what cannot be saved in the warehouse under this name."""
    check_run_name(name)
    if is_path(trace_or_source):
        raise ValueError(
            f"{trace_or_source}: runs of a log are not saved, only runs of a source: add the log with `tracehouse ingest "
            f"{trace_or_source} --name NAME`, then `tracehouse replay NAME ... --save {name}`"
        )
    source = catalogue_source(trace_or_source).name
    if not is_loaded(source):
        raise ValueError(
            f"source {source!r} is not in the warehouse yet, so that nothing can be saved beside it: load it with "
            f"`tracehouse run {source} --job ingest`"
        )


def run_to_compare(source: str, name: str, placed: bool = False) -> str | None:
    """Another saved run of the source over the same jobs as run `name`, fcfs-easy if that is one, or another placement."""
    if placed:
        return next((other for other in saved_placements(open_warehouse(), source) if other != name), None)
    with open_warehouse().read() as connection:
        other = first_row(
            connection,
            "SELECT b.run FROM replay.runs AS a JOIN replay.runs AS b USING (source, trace_sha256) "
            "WHERE a.source = ? AND a.run = ? AND a.run <> b.run ORDER BY b.run <> 'fcfs-easy', b.run LIMIT 1",
            [source, name],
        )
    return other[0] if other else None


def save_run(source: str, name: str, settings: RunSettings, nodes: NodeSettings | None = None) -> None:
    """Materializes replay/runs of a source with this one run, or replay/placement where jobs were placed. Other runs are kept. Raises
    JobFailed when that fails."""
    policy = settings.policy
    head, colon, function = policy.partition(":")
    if head.endswith((".py", ".json")):  # so that the run can be launched again from the UI, whatever its folder
        policy = f"{Path(head).resolve()}{colon}{function}"
    run = settings.model_dump(exclude_defaults=True) | {"name": name, "policy": policy}
    if nodes is None:
        job, config = "replay_runs", {"replay__runs": {"config": {"runs": [run]}}}
    else:
        run |= nodes.model_dump(exclude_defaults=True) | {"topology": _absolute(nodes.topology)}
        job, config = "placement", {"replay__placement": {"config": {"placements": [run]}}}
    run_or_fail(job, [source], {"ops": config})


def _absolute(topology: str) -> str:
    """A file of a tree as an absolute path. Words stay as they are."""
    return str(Path(topology).resolve()) if Path(topology).exists() else topology


def warn_of_peak(cluster_procs: int, cluster_procs_from: str) -> None:
    """Says that the size of the cluster is a guess. A cluster that was never full looks too small."""
    if cluster_procs_from == "peak":
        warn(
            f"cluster size unknown: took the peak of processors in use ({cluster_procs}); give --procs for the true size"
        )
