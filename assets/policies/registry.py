"""Which trained policy is champion, and which agent of each kind.

A challenger takes over only if it dominates the champion, and not by chance, in a replay of the whole training part, over the newest jobs
that neither has seen; or if trades are accepted. A window that begins on an empty cluster would end before anybody starves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import duckdb
import polars as pl

from assets.common.storage import read_model
from models.judging.judge import judge, takes_over
from models.judging.verdict import PolicyVerdict
from models.scheduling.arena import Arena
from models.scheduling.policy_file import agent_from_bytes, policy_from_bytes
from simulator.policies.agents import Agent
from simulator.policies.network import KernelWeights
from simulator.policies.registry import Policy, assisted
from warehouse import Warehouse, first_row, replace_partition

POLICY_COLUMNS = (
    *("seed", "method", "goal", "backfill", "estimates", "layout", "trained_jobs", "epochs"),
    *("best_epoch", "validation_cost", "parameters"),
)
"""What policies.scheduling_policies has of a policy's card."""
LAYOUTS_OF_AGENTS = {"backfilling": ("picking",), "inspector": ("inspecting", "inspector-paper")}
"""What the networks of each kind of agent read, and no others do; policies.learned_policies has the same."""
IN_WORDS = {"order": "policy", "backfilling": "agent that picks", "inspector": "inspector"}
TASK_COLUMNS = {
    "order": ("goal", "backfill", "estimates"),
    "backfilling": ("goal", "estimates"),
    "inspector": ("goal", "backfill", "estimates"),
}
"""What champion and challenger must have alike, by what is learned. Agents that pick are compared whatever their window or guard."""
EVENT_TYPES: dict[str, pl.DataType] = {
    "windows": pl.Int64(),
    "verdict": pl.String(),
    **dict.fromkeys(
        (
            "champion_cost",
            "challenger_cost",
            "cost_difference",
            "difference_low",
            "difference_high",
            "bounded_slowdown_ratio",
            "wait_ratio",
        ),
        pl.Float64(),
    ),
}
"""Columns of policies.policy_events that may be NULL in every row of a training."""


@dataclass(frozen=True)
class Candidate:
    """A policy of the newest training. card: a row of policies.scheduling_policies as far as training knows it."""

    card: dict[str, Any]
    weights: KernelWeights


@dataclass(frozen=True)
class ChallengeResult:
    """What became of a challenger. champion_cost, verdict: None where the two were not compared."""

    kind: Literal["first", "replaced", "promoted", "refused"]
    happened: str
    challenger_cost: float
    champion_cost: float | None = None
    verdict: PolicyVerdict | None = None

    def event(self, card: dict[str, Any], judged: range, learns: str) -> dict[str, Any]:
        """The row of policies.policy_events, without its numbers. judged: positions of the jobs that judged."""
        ratios = self.verdict.ratios[0] if self.verdict else None
        return {
            "kind": self.kind if learns == "order" else f"{learns} {self.kind}",
            "seed": card["seed"],
            "goal": card["goal"],
            "windows": None,
            "judged_jobs": len(judged),
            "champion_cost": self.champion_cost,
            "challenger_cost": self.challenger_cost,
            "cost_difference": None if self.champion_cost is None else self.challenger_cost - self.champion_cost,
            "difference_low": None,
            "difference_high": None,
            "verdict": self.verdict.word if self.verdict else None,
            "bounded_slowdown_ratio": ratios.bounded_slowdown if ratios else None,
            "wait_ratio": ratios.wait if ratios else None,
            "sha256": card["sha256"],
        }


@dataclass(frozen=True)
class _Standing:
    """All rows of a source in policies.scheduling_policies and policies.policy_events."""

    policies: pl.DataFrame
    events: pl.DataFrame

    def is_same(self, other: _Standing) -> bool:
        """Whether nothing has been written in between."""
        return self.policies.equals(other.policies) and self.events.equals(other.events)


def learned_kind(agent: Agent | None) -> str:
    """What a network learns that decides for this agent, or orders the queue: a key of TASK_COLUMNS."""
    if agent is None:
        return "order"
    return "backfilling" if agent.picking.by else "inspector"


def _of_kind(learns: str) -> pl.Expr:
    """Which rows of policies.scheduling_policies are of this kind."""
    if learns == "order":
        return ~pl.col("layout").is_in([name for names in LAYOUTS_OF_AGENTS.values() for name in names])
    return pl.col("layout").is_in(LAYOUTS_OF_AGENTS[learns])


def promote(
    warehouse: Warehouse,
    source: str,
    arena: Arena,
    candidates: list[Candidate],
    judged: range,
    curve: pl.DataFrame | None,
    accept_trade: bool = False,
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """The best candidate challenges the champion, and what comes of it is written in one transaction.

    arena: its agent says of which kind they are; champions of other kinds stay. judged: positions of the jobs that judge; nothing after
    them is replayed. curve: rows of policies.training_curve of this training, None to leave those that are there. Returns the rows of
    the source and the kind in policies.scheduling_policies, all rows of policies.policy_events, and what happened in words. The same
    training again changes nothing. Where another run has written while this one judged, it judges again.
    """
    kind = _of_kind(learned_kind(arena.agent))
    while True:
        # which makes the tables where there are none
        seen = warehouse.transact(source, lambda connection: _standing(connection, source))
        standing, happened = _settled(seen, arena, candidates, judged, accept_trade)
        tables = {"policies.scheduling_policies": standing.policies, "policies.policy_events": standing.events}
        tables |= {} if curve is None else {"policies.training_curve": curve}
        if warehouse.transact(source, partial(_replace_standing, source=source, seen=seen, tables=tables)):
            return standing.policies.filter(kind), standing.events, happened


def _replace_standing(
    connection: duckdb.DuckDBPyConnection, source: str, seen: _Standing, tables: dict[str, pl.DataFrame]
) -> bool:
    """Replaces the rows of the source in these tables, unless another run has written since `seen`. Returns whether it did."""
    if not _standing(connection, source).is_same(seen):
        return False
    for table, rows in tables.items():
        replace_partition(connection, table, source, rows)
    return True


def _settled(
    seen: _Standing, arena: Arena, candidates: list[Candidate], judged: range, accept_trade: bool
) -> tuple[_Standing, str]:
    """What the tables should hold after this training, and what happened in words."""
    learns = learned_kind(arena.agent)
    policies, others, events = (
        seen.policies.filter(_of_kind(learns)),
        seen.policies.filter(~_of_kind(learns)),
        seen.events,
    )
    if sorted(policies.filter("newest")["sha256"]) == sorted(candidate.card["sha256"] for candidate in candidates):
        return seen, "the same training as before: nothing changes"
    best = min(candidates, key=lambda candidate: candidate.card["validation_cost"])
    champion = policies.filter("champion").row(0, named=True) if policies.height else None
    result = judge_challenger(arena, judged, best, champion, accept_trade)
    training = 1 + max(seen.policies["training"].to_list(), default=0)
    kept = result.kind == "refused"
    rows = [
        {"training": training, **candidate.card, "newest": True, "champion": candidate is best and not kept}
        for candidate in candidates
    ]
    if kept and champion is not None:
        rows.append(champion | {"newest": False, "champion": True})
    event = {"event": events.height + 1, "training": training} | result.event(best.card, judged, learns)
    added = pl.DataFrame([event], infer_schema_length=None)
    added = added.with_columns(pl.col(name).cast(data_type) for name, data_type in EVENT_TYPES.items())
    all_events = pl.concat([events, added.select(events.columns)], how="vertical_relaxed")
    own = pl.DataFrame(rows, infer_schema_length=None).select(others.columns)
    return _Standing(pl.concat([own, others], how="vertical_relaxed"), all_events), result.happened


def judge_challenger(
    arena: Arena, judged: range, challenger: Candidate, champion: dict[str, Any] | None, accept_trade: bool = False
) -> ChallengeResult:
    """Whether a challenger takes over. champion: its row of policies.scheduling_policies, None where there is none.
    accept_trade: as models.judging.judge.takes_over has it."""
    learns = learned_kind(arena.agent)
    ours = arena.replayed(challenger.weights, judged)
    cost = arena.cost_of(ours)
    if champion is None:
        return ChallengeResult("first", f"the first {IN_WORDS[learns]} of this source is champion", cost)
    policy = _policy_of(champion, arena) if _can_stay(champion, challenger.card, learns) else None
    if policy is None:
        happened = "champion by default: the one before was for another goal, other rules or another split, or is lost"
        return ChallengeResult("replaced", happened, cost)
    theirs = arena.replayed(policy, judged)
    judgement = judge([ours], [theirs])
    verdict = judgement.verdict
    kind: Literal["promoted", "refused"] = (
        "promoted" if takes_over(judgement, accept_trade, lambda: arena.chance_cloud(theirs)) else "refused"
    )
    paid = f"; {'; '.join(verdict.payers)}" if verdict.payers else ""
    ratios = verdict.ratios[0]
    happened = (
        f"challenger {kind}: {verdict} (bounded slowdown {ratios.bounded_slowdown:.2f} and mean wait {ratios.wait:.2f} of the "
        f"champion's over the {len(judged):,} newest jobs{paid})"
    )
    return ChallengeResult(kind, happened, cost, arena.cost_of(theirs), verdict)


def _can_stay(champion: dict[str, Any], card: dict[str, Any], learns: str) -> bool:
    """A champion that learned from jobs which now judge or test is no champion any more, nor is an agent beside another policy."""
    same_task = all(champion[name] == card[name] for name in TASK_COLUMNS[learns])
    same_task = same_task and _base_of(champion) == _base_of(card)
    return same_task and champion["trained_jobs"] <= card["trained_jobs"]


def _standing(connection: duckdb.DuckDBPyConnection, source: str) -> _Standing:
    policies, events = (
        connection.sql(
            f"SELECT * EXCLUDE (source) FROM policies.{table} WHERE source = $source ORDER BY {order}",
            params={"source": source},
        ).pl()
        for table, order in (("scheduling_policies", "newest DESC, seed"), ("policy_events", "event"))
    )
    return _Standing(policies, events)


def _base_of(row: dict[str, Any]) -> str | None:
    """The policy beside an agent, None for a policy."""
    base: str | None = json.loads(row["parameters"]).get("base")
    return base


def _policy_of(row: dict[str, Any], arena: Arena) -> KernelWeights | Policy | None:
    """What the champion of this row does in the arena, None where its file is lost."""
    try:
        content = read_model(row["file"], row["sha256"])
        if arena.agent is None:
            return policy_from_bytes(content)[0]
        return assisted(arena.base, agent_from_bytes(content)[0])
    except ValueError:
        return None


@dataclass(frozen=True)
class LearnedPolicy:
    """A row of policies.scheduling_policies with its weights. Jobs from position `trained_jobs` on were not open to it.

    newest: whether it is of the newest training. champion: whether it is the one that is used.
    """

    seed: int
    newest: bool
    champion: bool
    trained_jobs: int
    weights: KernelWeights
    sha256: str


def has_policies(warehouse: Warehouse, source: str) -> bool:
    """Whether a policy that orders the queue has ever been trained for a source."""
    with warehouse.read() as connection:
        query = "SELECT 1 FROM policies.learned_policies WHERE source = ? AND learns = 'order' LIMIT 1"
        return first_row(connection, query, [source]) is not None


def learned_policies(warehouse: Warehouse, source: str) -> list[LearnedPolicy]:
    """The policies of the newest training, by seed, and the champion, if that is older.

    Raises ValueError when there is none or a file is not what it was.
    """
    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT seed, newest, champion, trained_jobs, file, sha256 FROM policies.learned_policies "
            "WHERE source = ? AND learns = 'order' ORDER BY newest DESC, seed",
            [source],
        ).fetchall()
    if not rows:
        raise ValueError(f"no policy has been trained for source {source!r}: train one with `tracehouse run {source}`")
    return [
        LearnedPolicy(seed, newest, champion, trained, policy_from_bytes(read_model(file, sha256))[0], sha256)
        for seed, newest, champion, trained, file, sha256 in rows
    ]


@dataclass(frozen=True)
class LearnedAgent:
    """The champion among the agents of a kind. row: of policies.learned_policies. agent: with its weights."""

    agent: Agent
    row: dict[str, Any]


def champion_agent(warehouse: Warehouse, source: str, learns: str) -> LearnedAgent | None:
    """The agent of this kind ("backfilling" or "inspector") that is kept for a source, None where there is none.

    Raises ValueError when its file is not what it was.
    """
    row = champion_row(warehouse, source, learns)
    return None if row is None else LearnedAgent(agent_from_bytes(read_model(row["file"], row["sha256"]))[0], row)


def champion_row(warehouse: Warehouse, source: str, learns: str) -> dict[str, Any] | None:
    """The champion's row of policies.learned_policies, None where there is none. learns: a key of TASK_COLUMNS."""
    with warehouse.read() as connection:
        rows = connection.sql(
            "FROM policies.learned_policies WHERE champion AND source = $source AND learns = $learns",
            params={"source": source, "learns": learns},
        ).pl()
    return None if rows.is_empty() else rows.row(0, named=True)
