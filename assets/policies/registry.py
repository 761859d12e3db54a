"""Which trained policy is champion: a challenger takes over only if it is better on the newest windows that neither has seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from assets.common.storage import read_model
from models.scheduling.arena import Arena, Windows
from models.scheduling.comparison import compare
from models.scheduling.policy_file import policy_from_bytes
from simulator.policies.network import KernelWeights
from warehouse import Warehouse

TASK = ("goal", "backfill", "estimates")
SEED = 1
"""Of the bootstrap."""


@dataclass(frozen=True)
class Trained:
    """card: a row of policies.scheduling_policies as far as training knows it."""

    card: dict[str, Any]
    weights: KernelWeights


def crown(
    warehouse: Warehouse, source: str, arena: Arena, trained: list[Trained], judging: Windows
) -> tuple[pl.DataFrame, pl.DataFrame, str]:
    """Rows of policies.scheduling_policies and of policies.policy_events (all of the source's), and what happened in words.

    The same training again changes nothing.
    """
    with warehouse.write() as connection:  # which makes the tables where an older tracehouse had none
        parameters = {"source": source}
        before = connection.sql(
            "SELECT * EXCLUDE (source) FROM policies.scheduling_policies WHERE source = $source", params=parameters
        ).pl()
        events = connection.sql(
            "SELECT * EXCLUDE (source) FROM policies.policy_events WHERE source = $source ORDER BY event",
            params=parameters,
        ).pl()
    newest = before.filter("newest")
    if newest["sha256"].to_list() == [entry.card["sha256"] for entry in trained]:
        return before, events, "the same training as before: nothing changes"

    number = 1 + max(before["training"].to_list(), default=0)
    best = min(trained, key=lambda entry: entry.card["validation_cost"])
    costs = arena.costs(best.weights, judging)
    event = {
        "event": events.height + 1,
        "kind": "first",
        "training": number,
        "seed": best.card["seed"],
        "goal": best.card["goal"],
        "windows": len(judging),
        "champion_cost": None,
        "challenger_cost": float(costs.mean()),
        "cost_difference": None,
        "difference_low": None,
        "difference_high": None,
        "sha256": best.card["sha256"],
    }
    happened = "the first policy of this source is champion"
    champion = before.filter("champion").row(0, named=True) if before.height else None
    kept = champion is not None
    if champion is not None:
        another = any(champion[name] != best.card[name] for name in TASK)
        # one that learned from jobs which now judge or test is no champion any more
        another = another or champion["trained_jobs"] > best.card["trained_jobs"]
        weights = None if another else _weights_of(champion)
        if weights is None:
            event["kind"], kept = "replaced", False
            happened = (
                "champion by default: the one before was for another goal, other rules or another split, or is lost"
            )
        else:
            others = arena.costs(weights, judging)
            found = compare(costs, others, judging, SEED)
            kept = not found.is_better
            event |= {
                "kind": "refused" if kept else "promoted",
                "champion_cost": float(others.mean()),
                "cost_difference": found.mean,
                "difference_low": found.low,
                "difference_high": found.high,
            }
            interval = (
                "too few windows for an interval" if found.low is None else f"{found.low:+.2f} to {found.high:+.2f}"
            )
            happened = (
                f"challenger {event['kind']}: {found.mean:+.2f} ({interval}) on the {len(judging)} newest windows"
            )
    rows = [
        {"training": number, **entry.card, "newest": True, "champion": entry is best and not kept} for entry in trained
    ]
    if kept and champion is not None:
        rows.append(champion | {"newest": False, "champion": True})
    columns = pl.DataFrame(rows, infer_schema_length=None)
    added = pl.DataFrame([event], infer_schema_length=None)
    floats = ("champion_cost", "challenger_cost", "cost_difference", "difference_low", "difference_high")
    added = added.with_columns(pl.col(name).cast(pl.Float64) for name in floats)
    return columns, pl.concat([events, added.select(events.columns)], how="vertical_relaxed"), happened


def _weights_of(row: dict[str, Any]) -> KernelWeights | None:

    try:
        return policy_from_bytes(read_model(row["file"], row["sha256"]))[0]
    except ValueError:
        return None


@dataclass(frozen=True)
class LearnedPolicy:
    """A row of policies.scheduling_policies with its weights; jobs from position `trained_jobs` on were not open to it.

    newest: whether it is of the newest training; champion: the one that is used."""

    seed: int
    newest: bool
    champion: bool
    trained_jobs: int
    weights: KernelWeights
    sha256: str


def learned_policies(warehouse: Warehouse, source: str) -> list[LearnedPolicy]:
    """The policies of the newest training, by seed, and the champion, if that is older.

    Raises ValueError when there is none or a file is not what it was."""

    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT seed, newest, champion, trained_jobs, file, sha256 FROM policies.scheduling_policies WHERE source = ? "
            "ORDER BY newest DESC, seed",
            [source],
        ).fetchall()
    if not rows:
        raise ValueError(
            f"no policy has been trained for source {source!r}: train one with `tracehouse run --source {source}`"
        )
    return [
        LearnedPolicy(seed, newest, champion, trained, policy_from_bytes(read_model(file, sha256))[0], sha256)
        for seed, newest, champion, trained, file, sha256 in rows
    ]
