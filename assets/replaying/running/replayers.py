"""Which replayer a replay gets: the registry of the ways to replay, and what each refuses (simulator/replayer.py)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from assets.common.trace import Trace
from assets.replaying.limits.holds import follows_shares
from assets.replaying.limits.way import check_dates, clock_zero_s, replayer_under
from assets.replaying.own.pbs.ahead import pbs_jobs_ahead
from assets.replaying.own.pbs.way import PbsRuns, pbs_runs
from assets.replaying.own.slurm.way import SlurmRuns, slurm_runs
from assets.replaying.own.way import OwnRuns, own_order, sized_cluster
from assets.replaying.running.on_nodes import Ground, NodeReplayer, tree_of
from assets.replaying.running.policies import ChosenPolicy, order_policy, usual_backfill
from assets.replaying.running.settings import (
    CHAMPION,
    OWN_SCHEDULERS,
    NodeSettings,
    RunSettings,
    own_policy_of,
    parse_window,
)
from models.allocation.looking_ahead import PAPERS_VALUES, LookingAheadReplayer
from models.judging.machine import partitions_of
from models.runtime.estimates import Estimates
from models.runtime.live import LiveReplayer, LiveSettings
from models.runtime.live_on_cluster import LiveUnderLimits
from models.scheduling.policy_file import is_placing_file
from simulator.engine.replay import OrderReplayer, rules_of
from simulator.jobs.cluster import Cluster
from simulator.jobs.words import ADMIT_BY, CORRECTIONS, PLACES, RESERVE_BY, RULE_SETS, SHARING, TOGETHER, one_of
from simulator.limits.replaying import LimitedReplayer, check_limited
from simulator.partitions import PartitionReplayer, shares_of
from simulator.policies.agents import parse_inspecting
from simulator.published import DEEP_BACK_FILLING, RLSCHEDULER, paper_part
from simulator.replayer import Replayer
from simulator.topology.switches import SwitchReplayer, parse_switches
from traces.catalogue.sources import LARGEST_CLUSTER
from traces.cluster.description import ClusterDescription
from warehouse import Warehouse

LEAST_LOAD, MOST_LOAD = 0.01, 100.0


class Asked(NamedTuple):
    """One replay. rows: of Trace.rows, those of its jobs in their order. ground: its nodes, None where jobs are not placed. ahead: for a
    warm start the rows before it, and the second of the log's clock at which it begins. own_runs: of a scheduler that is not
    deterministic, as OwnRuns has them, None for as many as are usual. described: the cluster of the settings where the caller has it."""

    trace: Trace
    settings: RunSettings
    policy: ChosenPolicy
    rows: pl.DataFrame
    cluster: Cluster
    ground: Ground | None = None
    ahead: tuple[pl.DataFrame, int] | None = None
    own_runs: int | range | None = None
    described: ClusterDescription | None = None


class Way(NamedTuple):
    """A way to replay. refusals: by part what is said where the replayer does not honour it, "" for any other, with {part} and
    {backfill}. policy: chooses the policy, with arguments and errors as `choose_policy`. rules: a hash of a paper's rules."""

    replayer: type[Replayer]
    make: Callable[[Asked], Replayer]
    refusals: Mapping[str, str]
    policy: Callable[[RunSettings, Warehouse | None, str], ChosenPolicy] = order_policy
    rules: str = ""

    def check(self, settings: RunSettings, parts: Iterable[str]) -> None:
        """Raises ValueError for the first of these parts that the replayer does not honour."""
        for part in parts:
            if part not in self.replayer.honours:
                words = self.refusals.get(part, self.refusals[""])
                raise ValueError(words.format(part=part, backfill=settings.backfill))


def way_of(settings: RunSettings, nodes: NodeSettings | None = None) -> Way:
    """The way to replay under these settings."""
    way = next(way for takes, way in WAYS if takes(settings, nodes))
    return way if isinstance(way, Way) else paper_part(way).WAY


def replayer_of(asked: Asked) -> Replayer:
    """The replayer of one replay. Raises ValueError, with the remedy, where it is not made for the cluster or the log."""
    nodes = None if asked.ground is None else asked.ground.settings
    return way_of(asked.settings, nodes).make(asked)


def choose_policy(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The policy of the settings, with the agents beside it. settings: as `check_settings` returns them. warehouse: holds the source's
    learned policies. None where there is none, for a bare log.

    Raises ValueError with the remedy.
    """
    return way_of(settings).policy(settings, warehouse, source)


def check_settings(settings: RunSettings, nodes: NodeSettings | None = None) -> RunSettings:
    """The settings with names in their usual form, all of which the replayer honours. nodes: where jobs are placed, if they are.

    Raises ValueError that names the option, what it takes and the remedy.
    """
    settings = usual_settings(settings)
    _check_users(settings, are_placed=nodes is not None)
    if settings.edits and not settings.is_on_cluster:
        raise ValueError(
            f"{settings.edits[0]}: only a cluster's own scheduler decides by its configuration: give policy slurm or pbs, and a source "
            "or a cluster that has one"
        )
    way_of(settings).check(settings, settings.parts)
    if nodes is not None:
        _check_nodes(nodes, settings)
    return settings


def usual_settings(settings: RunSettings) -> RunSettings:
    """The settings with names in their usual form. Raises ValueError that names the option, what it takes and the remedy."""
    one_of("rules", settings.rules, RULE_SETS)
    settings = settings.model_copy(update={"estimates": str(Estimates.parse(settings.estimates))})
    one_of("reserve_by", settings.reserve_by, RESERVE_BY)
    one_of("admit_by", settings.admit_by, ADMIT_BY)
    one_of("correction", settings.correction, CORRECTIONS)
    if settings.window is not None:
        parse_window(settings.window)
    if not 0 <= settings.trim < 0.5:
        raise ValueError(f"trim must be at least 0 and below 0.5 (a share cut at either end), got {settings.trim}")
    if settings.procs is not None and not 1 <= settings.procs <= LARGEST_CLUSTER:
        raise ValueError(f"procs must be at least 1 and at most {LARGEST_CLUSTER:,}, got {settings.procs}")
    if not LEAST_LOAD <= settings.load <= MOST_LOAD:
        raise ValueError(f"load must be between {LEAST_LOAD:g} and {MOST_LOAD:g}, got {settings.load:g}")
    if settings.rounding_s is not None:
        settings = settings.model_copy(update={"round_walltimes": str(settings.round_walltimes).strip()})
    dated = any(each.has_own_dates for each in settings.outages)
    for name, given in (("warm-start", settings.warm_start), ("outages", dated)):
        if given and settings.load != 1:
            raise ValueError(
                f"--load moves submissions away from the log's own times, which --{name} needs: leave one of them out"
            )
    for queue, procs in settings.partitions.items():
        if procs < 1:
            raise ValueError(f"partitions: queue {queue!r} must own at least 1 processor, found {procs}")
    if not settings.is_standard:
        if settings.backfill not in ("none", "easy"):
            raise ValueError(
                f"backfill {settings.backfill!r} is not one of the RLScheduler rules, which have `none` and their own, which "
                "`easy` stands for"
            )
        return settings
    if not settings.backfill_file:
        settings = settings.model_copy(update={"backfill": usual_backfill(settings.backfill)})
    if settings.inspector is not None and not settings.inspector.endswith(".json"):
        settings = settings.model_copy(update={"inspector": settings.inspector.strip().lower()})
        if settings.inspector != CHAMPION:
            parse_inspecting(str(settings.inspector))
    _check_estimates(settings)
    return settings


def _check_estimates(settings: RunSettings) -> None:
    """Raises ValueError where the estimates cannot be combined with the other settings."""
    own = own_policy_of(settings.policy)
    if own is not None and settings.believed.is_live:
        if own[1]:  # it would be that of the first estimates
            raise ValueError(
                f"live estimates under {OWN_SCHEDULERS[own[0]]} go with its own order: leave the policy out"
            )
        if settings.warm_start:
            raise ValueError(
                f"live estimates under {OWN_SCHEDULERS[own[0]]} begin with an idle cluster: leave --warm-start out"
            )
    if settings.warm_start and settings.believed.is_live:
        raise ValueError("live estimates have no --warm-start: leave it out, or replay with --estimates predicted")
    plans = settings.backfill.partition(":")[0] in ("conservative", "selective")
    for option, word in (("reserve-by", settings.reserve_by), ("admit-by", settings.admit_by)):
        if plans and word != "estimate":
            raise ValueError(
                f"--{option} {word} cannot be combined with {settings.backfill} backfilling, which plans every job by its estimate: use "
                "--backfill none, any, easy or easy-sjbf"
            )
    if plans and settings.believed.is_live:
        raise ValueError(
            f"live estimates cannot be combined with {settings.backfill} backfilling, whose reservations were made with earlier ones: use "
            "--backfill none, any, easy or easy-sjbf, or --estimates predicted"
        )


def _check_users(settings: RunSettings, are_placed: bool) -> None:
    """Raises ValueError, with the remedy, where users cannot keep their pace. are_placed: whether jobs are placed below switches."""
    if not settings.is_closed:
        return
    if are_placed:
        raise ValueError("jobs that are placed on nodes are submitted at the log's times: leave --users out")
    learns_on_a_row = settings.believed.is_live and not settings.is_on_cluster
    if settings.warm_start or settings.window is not None or learns_on_a_row:
        raise ValueError(
            "--users 'keep pace' replays a whole log, and live estimates go with it under Slurm and PBS alone: leave --warm-start, "
            "--window and --estimates live out"
        )


def _check_nodes(nodes: NodeSettings, settings: RunSettings) -> None:
    """Raises ValueError, as `check_settings` does, for nodes that do not go with the settings, and for a tree that cannot be read."""
    one_of("nodes", nodes.nodes, SHARING)
    one_of("place", nodes.place, PLACES)
    tree_of(nodes)
    way_of(settings).check(settings, ["nodes"])
    if nodes.switches is not None:
        parse_switches(nodes.switches)
    changes_starts = {"switches": nodes.switches is not None, "every": nodes.period is not None}
    if all(changes_starts.values()):
        raise ValueError("a job cannot wait for switches at periods: leave --switches or --every out")
    for option, given in changes_starts.items():
        if given and not SwitchReplayer.honours.issuperset(settings.parts):
            raise ValueError(_MOVES_STARTS.format(option=option))
    if nodes.place == TOGETHER:
        if nodes.period is None:
            raise ValueError(f"--place {TOGETHER} chooses jobs at periods: give --every, such as --every 60")
        if nodes.guard is not None and nodes.guard < 1:
            raise ValueError(f"guard must be at least 1 period, got {nodes.guard}")
        way_of(settings, nodes).check(settings, settings.parts)
    elif nodes.guard is not None:
        raise ValueError(f"--guard goes with --place {TOGETHER} alone: leave it out")
    if nodes.switches is not None and nodes.place != "tree":
        raise ValueError("jobs wait for few switches under the rule tree alone: leave --place out")


def _order(asked: Asked) -> OrderReplayer:
    assert asked.policy.policy is not None
    return OrderReplayer(asked.policy.policy, asked.settings.backfill_rule, asked.settings.correction)


def _live(asked: Asked) -> LiveReplayer:
    return LiveReplayer(_order(asked), asked.rows, _live_settings(asked.settings))


def _live_settings(settings: RunSettings) -> LiveSettings:
    return LiveSettings(settings.believed.statistic, reserve_by=settings.reserve_by, admit_by=settings.admit_by)


def _pbs(asked: Asked) -> PbsRuns:
    cluster = asked.described or sized_cluster(asked.trace, asked.rows, asked.settings)
    estimates = asked.settings.believed
    before = None if asked.ahead is None else pbs_jobs_ahead(asked.trace, asked.ahead, cluster)
    zero_s = clock_zero_s(asked.trace)
    runs = pbs_runs(cluster, asked.rows, zero_s, asked.policy.policy, estimates=estimates, ahead=before)
    return replace(runs, runs=asked.own_runs or runs.runs)


def _slurm(asked: Asked) -> SlurmRuns:
    cluster = asked.described or sized_cluster(asked.trace, asked.rows, asked.settings)
    estimates = asked.settings.believed
    runs = slurm_runs(cluster, asked.trace, asked.rows, asked.policy.policy, asked.ahead, estimates=estimates)
    return replace(runs, runs=asked.own_runs or runs.runs)


def _limited(asked: Asked) -> LimitedReplayer:
    settings, policy = asked.settings, asked.policy.policy
    assert settings.cluster is not None and policy is not None
    cluster = asked.described or check_dates(asked.trace, settings.cluster, settings.load)
    replayer = replayer_under(cluster, asked.trace, asked.rows, _order(asked), load=settings.load, ahead=asked.ahead)
    if not settings.believed.is_live:
        return replayer
    live = _live_settings(settings)
    return replace(replayer, drive=LiveUnderLimits(asked.rows, live, policy, asked.trace.origin, replayer.cycle_s))


def _live_with_outages(asked: Asked) -> LimitedReplayer:
    assert asked.policy.policy is not None
    live = LiveUnderLimits(asked.rows, _live_settings(asked.settings), asked.policy.policy, asked.trace.origin)
    return LimitedReplayer(_order(asked), drive=live)


def _limited_order(settings: RunSettings, warehouse: Warehouse | None, source: str) -> ChosenPolicy:
    """The policy that orders the queue under limits. Arguments and errors as those of `choose_policy`."""
    chosen = order_policy(settings, warehouse, source)
    assert chosen.policy is not None
    rules = rules_of(settings.backfill_rule, settings.correction, 1)
    check_limited(chosen.policy, rules, follows_shares(chosen.policy.name))
    return chosen


def _order_or_watched(asked: Asked) -> Replayer:
    """Estimates that are predictions are watched: which reservations do underestimates delay? That is so under EASY rules, on an empty
    cluster without outages and without a queue."""
    settings, cluster = asked.settings, asked.cluster
    is_empty = not (len(cluster.running) or cluster.waiting or len(cluster.outages))
    plain = is_empty and not settings.cancelled and settings.inspector is None and not settings.is_closed
    watched = plain and settings.believed.may_underestimate
    return _live(asked) if watched and settings.backfill in ("none", "any", "easy", "easy-sjbf") else _order(asked)


def _partitions(asked: Asked) -> PartitionReplayer:
    owned, queues = asked.settings.partitions, asked.rows["queue"]
    if asked.ahead is not None:
        queues = pl.concat([asked.trace.running_rows(*asked.ahead)["queue"], queues])
    return PartitionReplayer(_order(asked), partitions_of(queues, owned), shares_of(owned, asked.cluster.procs))


def _looking_ahead(asked: Asked) -> LookingAheadReplayer:
    assert asked.ground is not None
    nodes = asked.ground.settings
    assert nodes.period is not None
    guard = PAPERS_VALUES.guard if nodes.guard is None else nodes.guard
    return LookingAheadReplayer(asked.ground.units, nodes.period, guard, nodes.placing_seed)


def _switches(asked: Asked) -> SwitchReplayer:
    assert asked.ground is not None and asked.ground.settings.switches is not None
    return SwitchReplayer(_order(asked), asked.ground.units, parse_switches(asked.ground.settings.switches))


def _placed_after(asked: Asked) -> NodeReplayer:
    assert asked.ground is not None
    return NodeReplayer(replayer_of(asked._replace(ground=None)), asked.ground)


def _own_way(replayer: type[OwnRuns], make: Callable[[Asked], Replayer], scheduler: str) -> Way:
    title = OWN_SCHEDULERS[scheduler]
    row = '--cluster "" gives an order over a row of processors, in a file of scenarios in [base], too'
    refusals = {
        "": f"{title} decides by its own configuration, on its own nodes: leave --{{part}} out. {row[0].upper()}{row[1:]}",
        **{
            part: f"{title} decides that itself: leave --{{part}} out, and ask for {line}. {row[0].upper()}{row[1:]}"
            for part, line in OWN_LINES[scheduler].items()
        },
    }
    return Way(replayer, make, refusals, own_order)


OWN_LINES = {
    "slurm": {
        "backfill": "--set SchedulerType=sched/builtin, or bf_max_job_test=1000",
        "partitions": "--set partition.NAME.Nodes=...",
        "outages": "--set 'ReservationName=... StartTime=... Flags=MAINT'",
    },
    "pbs": {"backfill": "--set strict_ordering=True, or server.backfill_depth=5"},
}
"""By part of the settings, the line of its configuration that has the same of a scheduler."""
ONE_OF_THEM = "--{part} cannot be combined with partitions, each of which is replayed alone: leave one of them out"
_MOVES_STARTS = (
    "--{option} cannot be combined with a warm start, live estimates, an inspector or an agent that picks: leave one "
    "of them out"
)
NOT_IN_PARTITIONS = (
    "partitions cannot be combined with nodes, nor with an agent that decides all starts: leave one of them out"
)

WAYS: tuple[tuple[Callable[[RunSettings, NodeSettings | None], bool], Way | str], ...] = (
    (lambda settings, nodes: not settings.is_standard, RLSCHEDULER),
    (lambda settings, nodes: settings.own_scheduler == "pbs", _own_way(PbsRuns, _pbs, "pbs")),
    (lambda settings, nodes: settings.own_scheduler == "slurm", _own_way(SlurmRuns, _slurm, "slurm")),
    (
        lambda settings, nodes: nodes is not None and nodes.place == TOGETHER,
        Way(
            LookingAheadReplayer,
            _looking_ahead,
            {"": f"--place {TOGETHER} decides all starts by itself, on a cluster that is whole: leave --{{part}} out"},
        ),
    ),
    (
        lambda settings, nodes: nodes is not None and nodes.switches is not None,
        Way(SwitchReplayer, _switches, {"": _MOVES_STARTS.format(option="switches")}),
    ),
    (
        lambda settings, nodes: nodes is not None,
        Way(NodeReplayer, _placed_after, {"": "nodes have no --{part}: leave it out"}),
    ),
    (
        lambda settings, nodes: settings.backfill_file is not None and is_placing_file(Path(settings.backfill)),
        DEEP_BACK_FILLING,
    ),
    (
        lambda settings, nodes: settings.cluster is not None,
        Way(
            LimitedReplayer,
            _limited,
            {"": "replays under the limits of a cluster have no --{part}: leave it, or --cluster, out"},
            _limited_order,
        ),
    ),
    (
        lambda settings, nodes: bool(settings.partitions),
        Way(PartitionReplayer, _partitions, {"": ONE_OF_THEM, "nodes": NOT_IN_PARTITIONS}),
    ),
    (
        lambda settings, nodes: settings.believed.is_live and (bool(settings.outages) or settings.cancelled),
        Way(
            LimitedReplayer,
            _live_with_outages,
            {"": "live estimates with outages or cancelled jobs have no --{part}: leave it out"},
        ),
    ),
    (
        lambda settings, nodes: settings.believed.is_live,
        Way(
            LiveReplayer,
            _live,
            {"": "live estimates have no --{part}: leave it out, or replay with --estimates predicted"},
        ),
    ),
    (
        lambda settings, nodes: True,
        Way(
            OrderReplayer,
            _order_or_watched,
            {"": "orders with backfilling have no --{part}: leave it out"},
        ),
    ),
)
"""Whether settings ask for a way, and the way, or the part of a paper that has it as `WAY`. The first that is asked for replays. Those of
nodes stand above those that know none, which they may hold."""
