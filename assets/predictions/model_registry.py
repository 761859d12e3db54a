"""Stage 3b: the registry of run-time models. Every night a challenger is trained, tested against the champion on the newest
unseen days, and promoted only if it is better beyond noise."""

import json
import re
from datetime import datetime
from typing import Any

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.storage import read_model, remove_unused_models, store_model
from assets.predictions.runtime_evaluation import SERVING
from models.runtime import challenge as contest
from models.runtime.drift import input_drift
from models.runtime.predictor import Predictor, predictor_from_bytes, predictor_to_bytes, recent, runtimes
from models.runtime.prequential import ended_by
from models.runtime.scores import score
from warehouse import Warehouse, first_row, replace_partition

MODEL = "runtime-model"


KEPT_VERSIONS = 30
"""A stack is about a megabyte, and most nights refuse one."""


LEAST_JOBS = 300
"""Fewer jobs leave too few windows to train a policy on and to compare on; measured on cut traces."""


OF_THE_LOGS_AGE = re.compile(
    r"similar_jobs|day_of_week|(user|alike|executable|group)_(jobs_ended|mean_.*|median_.*|log_spread|failed_share)"
    r"|(jobs|procs|user_jobs)_(running|waiting)"
)
"""Inputs without a word on whether users have changed: counts of what has ended only grow, what is taken over all that has ended
settles, a test of less than a week has its own days, and what runs and waits changes by the hour."""


class RuntimeModelConfig(dg.Config):
    predictor: str = Field(default=SERVING, description="What the challenger is: see tracehouse's list of predictors")
    test_days: int = Field(default=14, ge=1, description="Newest days on which champion and challenger are compared")
    seed: int = Field(default=1, ge=0, description="Seed of the bootstrap of their difference")
    train_share: float = Field(
        default=0.6, gt=0, lt=1, description="First share of the jobs on which scheduling policies may be trained"
    )


def challenge(warehouse: Warehouse, source: str, rows: pl.DataFrame, config: RuntimeModelConfig) -> str:
    """Trains and judges one challenger and records what happened; says it in words. The same data and settings again change
    nothing."""

    moment = contest.test_start(rows, config.test_days)
    challenger, fitted = contest.train(rows, config.predictor, moment)
    test = rows.filter(pl.col("submit_time") >= moment)
    file, digest = store_model(source, MODEL, predictor_to_bytes(challenger))
    values = score(challenger.predict(test), runtimes(test))
    kept = ("mean_absolute_error_s", "median_absolute_error_s", "underestimated_share", "pinball_loss_s")
    card = {
        "predictor": config.predictor,
        "options": json.dumps(challenger.card()),
        "feature_names": json.dumps(challenger.features()),
        "trained_from": fitted["submit_time"][0],
        "trained_until": moment,
        "jobs_trained": fitted.height,
        "data_sha256": contest.rows_sha256(fitted),
        "tested_until": test["submit_time"][-1],
        "jobs_tested": test.height,
        "file": file,
        "sha256": digest,
    } | {name: values[name] for name in kept}
    if (reason := _seen_before(warehouse, source, card)) is not None:
        return reason
    last, present, newest = _state(warehouse, source)
    version = newest + 1
    gain = low = high = None
    try:
        champion = load_champion(warehouse, source)[1] if last else None
        reason = "the first model of this source"
    except ValueError as error:  # its file is lost, or of another tracehouse: nothing to compare with, ever again
        champion, reason = None, f"version {present} cannot be used any more: {error}"
    if champion is None:
        kind, promoted = "first", True
    else:
        shared = test.filter(pl.col("submit_time") >= _trained_until(warehouse, source, present))
        if shared.is_empty():
            kind, promoted = "refused", False
            reason = "the champion has learned from all newest jobs: nothing is unseen by both"
        else:
            verdict = contest.judge(champion.predict(shared), challenger.predict(shared), shared, config.seed)
            promoted, gain, low, high = verdict.promote, verdict.gain, verdict.low, verdict.high
            kind, reason = ("promoted" if promoted else "refused"), verdict.reason
    event = {"kind": kind, "version": version, "champion": version if promoted else present, "reason": reason}
    event |= {"mae_gain_s": gain, "mae_gain_low_s": low, "mae_gain_high_s": high, "data_until": card["tested_until"]}
    if not _append(warehouse, source, last, event, card | {"version": version}):
        return challenge(warehouse, source, rows, config)  # another run or a rollback came first: judge again
    remove_unused_models(source, MODEL, _files(warehouse, source))
    return f"version {version} ({config.predictor}): {kind}, {reason}"


def roll_back(warehouse: Warehouse, source: str, version: int | None = None) -> tuple[int, int]:
    """Makes an earlier version champion again: `version`, or the champion before the present one. Returns (version that was
    champion, version that is). Raises ValueError when there is none such, or its file is not what it was."""
    with warehouse.read() as connection:
        events = connection.execute(
            "SELECT champion, data_until FROM predictions.model_events WHERE source = ? ORDER BY event", [source]
        ).fetchall()
        files = {
            row[0]: row[1:]
            for row in connection.execute(
                "SELECT version, file, sha256 FROM predictions.model_versions WHERE source = ? ORDER BY version",
                [source],
            ).fetchall()
        }
    if not events:
        raise ValueError(f"source {source!r} has no run-time model yet: `tracehouse run --source {source}` trains one")
    line: list[int] = []  # champions, each after the one before it; who was gone back to ends the line again
    for champion, _ in events:
        line = [*line[: line.index(champion)], champion] if champion in line else [*line, champion]
    present = line[-1]
    if version is None and len(line) == 1:
        raise ValueError(
            f"source {source!r} has had no champion before version {present}: there is nothing to go back to"
        )
    target = line[-2] if version is None else version
    if target not in files:
        raise ValueError(f"source {source!r} has no version {target}; it has {', '.join(map(str, files))}")
    if target == present:
        raise ValueError(f"version {target} is the champion of source {source!r} already")
    predictor_from_bytes(read_model(*files[target]))
    event = {
        "data_until": events[-1][1], "kind": "rolled back", "version": target, "champion": target, "mae_gain_s": None,
        "mae_gain_low_s": None, "mae_gain_high_s": None, "reason": f"by hand, instead of version {present}",
    }  # fmt: skip
    if not _append(warehouse, source, len(events), event):
        raise ValueError(
            f"the models of source {source!r} have changed this moment; see `tracehouse models`, try again"
        )
    return present, target


def load_champion(warehouse: Warehouse, source: str) -> tuple[int, Predictor]:
    """(version, the predictor). Raises ValueError before there is one, and when its file is not what it was."""
    with warehouse.read() as connection:
        found = first_row(
            connection, "SELECT version, file, sha256 FROM predictions.champions WHERE source = ?", [source]
        )
    if found is None:
        raise ValueError(f"source {source!r} has no run-time model: materialize predictions/runtime_model first")
    return int(found[0]), predictor_from_bytes(read_model(found[1], found[2]))


def write_drift(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Compares the newest jobs with those that the champion learned from; returns the rows of predictions.model_drift."""

    with warehouse.read() as connection:
        card = connection.sql(
            "SELECT version, trained_from, trained_until, jobs_tested, mean_absolute_error_s FROM predictions.champions "
            "WHERE source = $source",
            params={"source": source},
        ).pl().row(0, named=True)  # fmt: skip
    _, champion = load_champion(warehouse, source)
    before = ended_by(rows.filter(pl.col("submit_time") < card["trained_until"]), card["trained_until"])
    before = recent(before, champion.most_rows)
    now = rows.filter(pl.col("submit_time") >= card["trained_until"])[-card["jobs_tested"] :]
    inputs = tuple(
        name for name in champion.features() if rows[name].dtype.is_numeric() and not OF_THE_LOGS_AGE.fullmatch(name)
    )
    shifts = input_drift(before, now, inputs)
    error = float(np.abs(champion.predict(now).point - runtimes(now)).mean()) if now.height else 0.0
    drift = pl.DataFrame(
        [{"measure": "psi", "input": name, "value": value} for name, value in shifts.items()]
        + [{"measure": "error", "input": "mean_absolute_error_s", "value": error / max(card["mean_absolute_error_s"], 1.0)}]
    ).with_columns(
        pl.lit(card["version"]).alias("version"), pl.lit(rows["submit_time"][-1]).alias("data_until"),
        pl.lit(now.height).alias("jobs"),
    )  # fmt: skip
    with warehouse.write() as connection:
        replace_partition(connection, "predictions.model_drift", source, drift)
    return drift


def _state(warehouse: Warehouse, source: str) -> tuple[int, int, int]:
    """(number of the last event, the champion, the newest version), each 0 where there is none."""
    with warehouse.read() as connection:
        found = first_row(
            connection,
            "SELECT max(event), arg_max(champion, event), "
            "(SELECT max(version) FROM predictions.model_versions WHERE source = $source) "
            "FROM predictions.model_events WHERE source = $source",
            {"source": source},
        )
    assert found is not None
    return found[0] or 0, found[1] or 0, found[2] or 0


def _trained_until(warehouse: Warehouse, source: str, version: int) -> datetime:
    with warehouse.read() as connection:
        found = first_row(
            connection,
            "SELECT trained_until FROM predictions.model_versions WHERE source = ? AND version = ?",
            [source, version],
        )
    assert found is not None
    return found[0]


def _seen_before(warehouse: Warehouse, source: str, card: dict[str, Any]) -> str | None:
    """What to say when this very model was judged on these very jobs before; None when it was not."""
    same = ("sha256", "data_sha256", "trained_until", "tested_until", "jobs_tested")
    with warehouse.read() as connection:
        found = first_row(
            connection,
            "SELECT max(version) FROM predictions.model_versions WHERE source = ? AND "
            + " AND ".join(f"{name} = ?" for name in same),
            [source, *(card[name] for name in same)],
        )
    if found is None or found[0] is None:
        return None
    return f"nothing new: version {found[0]} was trained and judged on the same jobs"


def _files(warehouse: Warehouse, source: str) -> list[str]:
    """Files that are kept: of every version that was ever champion, and of the newest KEPT_VERSIONS."""
    with warehouse.read() as connection:
        rows = connection.execute(
            "SELECT file FROM predictions.model_versions WHERE source = $source AND (version > (SELECT max(version) FROM "
            "predictions.model_versions WHERE source = $source) - $kept OR version IN (SELECT champion FROM "
            "predictions.model_events WHERE source = $source))",
            {"source": source, "kept": KEPT_VERSIONS},
        ).fetchall()
    return [row[0] for row in rows]


def _append(
    warehouse: Warehouse, source: str, last: int, event: dict[str, Any], card: dict[str, Any] | None = None
) -> bool:
    """Writes an event, and the card of the version where that is new, both or neither. last: number of the event before it.
    Returns False, and writes nothing, when another event came in between."""
    rows = {} if card is None else {"model_versions": card}
    with warehouse.write() as connection:
        found = first_row(connection, "SELECT max(event) FROM predictions.model_events WHERE source = ?", [source])
        if found is not None and (found[0] or 0) != last:
            return False
        for name, values in (rows | {"model_events": event | {"event": last + 1}}).items():
            columns = {"source": source} | values
            connection.execute(
                f"INSERT INTO predictions.{name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                list(columns.values()),
            )
    return True
