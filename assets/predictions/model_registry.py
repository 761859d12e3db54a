"""The registry of run-time models in the warehouse: versions, events, the champion, and the return to an earlier one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import duckdb
import polars as pl

from assets.common.learnable import why_no_model
from assets.common.storage import artefacts_folder, read_model, remove_unused_models, store_model
from models.runtime.challenge import Challenge, Verdict, champion_drift, line_of_champions, new_challenge
from models.runtime.named import predictor_from_bytes, predictor_to_bytes
from models.runtime.predictor import Predictor
from warehouse import Warehouse, first_row, replace_partitions

MODEL = "runtime-model"

KEPT_VERSIONS = 30
"""A stack is about a megabyte, and most nights refuse one."""


def challenge_champion(
    warehouse: Warehouse, source: str, rows: pl.DataFrame, predictor: str, test_days: int, seed: int = 1
) -> str:
    """Trains and judges one challenger, and records the outcome. Returns it in words. Doing it again with the same data and settings
    changes nothing.

    rows: of `assets.features.tables.runtime_rows`. predictor: its name. test_days: newest days on which champion and challenger
    are compared. seed: of the bootstrap. Raises ValueError for an unknown name, and where there is nothing to learn from.
    """
    contest = new_challenge(rows, predictor, test_days)
    file, digest = store_model(source, MODEL, predictor_to_bytes(contest.challenger))
    card = contest.card() | {"file": file, "sha256": digest}
    if (nothing_new := _seen_before(warehouse, source, card)) is not None:
        return nothing_new
    last, present, newest = _state(warehouse, source)
    version = newest + 1
    kind, verdict = _settled(warehouse, source, contest, present, seed)
    event = {"kind": kind, "version": version, "champion": version if verdict.promote else present}
    event |= {"reason": verdict.reason, "data_until": card["tested_until"]}
    event |= {"mae_gain_s": verdict.gain, "mae_gain_low_s": verdict.low, "mae_gain_high_s": verdict.high}
    if not _append(warehouse, source, last, event, card | {"version": version}):
        # another run or a rollback came first, so it is judged again
        return challenge_champion(warehouse, source, rows, predictor, test_days, seed)
    with (
        warehouse.write() as connection
    ):  # under the lock, so that a rollback to one of the files waits, and then looks for it again
        remove_unused_models(source, MODEL, _files(connection, source))
    return f"version {version} ({predictor}): {kind}, {verdict.reason}"


def _settled(warehouse: Warehouse, source: str, contest: Challenge, present: int, seed: int) -> tuple[str, Verdict]:
    """(kind of the event, verdict) of a challenger against the champion `present`, or 0 where there is none."""
    if not present:
        return "first", Verdict(True, None, None, None, "the first model of this source")
    try:
        champion = load_champion(warehouse, source)[1]
    except ValueError as error:  # its file is lost, or of another tracehouse, so it can never be compared again
        reason = f"version {present} cannot be used any more: {error}"
        return "first", Verdict(True, None, None, None, reason)
    verdict = contest.verdict(champion, trained_until(warehouse, source, present), seed)
    return ("promoted" if verdict.promote else "refused"), verdict


def roll_back(warehouse: Warehouse, source: str, version: int | None = None) -> tuple[int, int]:
    """Makes an earlier version champion again: `version`, or the champion before the present one. Returns (version that was
    champion, version that is). Raises ValueError when there is no such version, or its file has changed."""
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
        raise ValueError(f"source {source!r} has no run-time model: {why_no_model(warehouse, source)}")
    line = line_of_champions([champion for champion, _ in events])
    present = line[-1]
    if version is None and len(line) == 1:
        raise ValueError(
            f"source {source!r} has had no champion before version {present}: there is nothing to go back to"
        )
    target = line[-2] if version is None else version
    if target not in files:
        raise ValueError(f"source {source!r} has no version {target}. It has {', '.join(map(str, files))}")
    if target == present:
        raise ValueError(f"version {target} is the champion of source {source!r} already")
    _load(*files[target])
    event = {"kind": "rolled back", "version": target, "champion": target, "data_until": events[-1][1]}
    event |= {"reason": f"by hand, instead of version {present}"}
    event |= {"mae_gain_s": None, "mae_gain_low_s": None, "mae_gain_high_s": None}
    if not _append(warehouse, source, len(events), event, needed=files[target][0]):
        raise ValueError(
            f"the models of source {source!r} have changed this moment: see `tracehouse models`, and try again"
        )
    return present, target


def has_champion(warehouse: Warehouse, source: str) -> bool:
    """Whether a source has a run-time model: one of too few jobs has none."""
    with warehouse.read() as connection:
        return first_row(connection, "SELECT 1 FROM predictions.champions WHERE source = ?", [source]) is not None


def load_champion(warehouse: Warehouse, source: str) -> tuple[int, Predictor]:
    """(version, the predictor). Raises ValueError before there is one, and when its file has changed."""
    with warehouse.read() as connection:
        champion = first_row(
            connection, "SELECT version, file, sha256 FROM predictions.champions WHERE source = ?", [source]
        )
    if champion is None:
        raise ValueError(f"source {source!r} has no run-time model: {why_no_model(warehouse, source)}")
    version, file, sha256 = champion
    return int(version), _load(file, sha256)


def trained_until(warehouse: Warehouse, source: str, version: int) -> datetime:
    """The moment by which all jobs that a version learned from had ended, UTC."""
    with warehouse.read() as connection:
        row = first_row(
            connection,
            "SELECT trained_until FROM predictions.model_versions WHERE source = ? AND version = ?",
            [source, version],
        )
    assert row is not None
    return row[0]


def write_drift(warehouse: Warehouse, source: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Compares the newest jobs with those that the champion learned from. Returns the rows of predictions.model_drift."""
    version, champion = load_champion(warehouse, source)
    with warehouse.read() as connection:
        card = first_row(  # of the version that was loaded, since a rollback may just have named another champion
            connection,
            "SELECT trained_until, jobs_tested, mean_absolute_error_s FROM predictions.model_versions "
            "WHERE source = ? AND version = ?",
            [source, version],
        )
    assert card is not None
    learned_until, jobs_tested, error_s = card
    drift = champion_drift(rows, champion, learned_until, jobs_tested, error_s).with_columns(version=pl.lit(version))
    replace_partitions(warehouse, source, {"predictions.model_drift": drift})
    return drift


def _load(file: str, sha256: str) -> Predictor:
    """The predictor of a file that the warehouse names. Raises ValueError when the file has changed."""
    return predictor_from_bytes(read_model(file, sha256))


def _state(warehouse: Warehouse, source: str) -> tuple[int, int, int]:
    """(number of the last event, the champion, the newest version), each 0 where there is none."""
    with warehouse.read() as connection:
        row = first_row(
            connection,
            "SELECT max(event), arg_max(champion, event), "
            "(SELECT max(version) FROM predictions.model_versions WHERE source = $source) "
            "FROM predictions.model_events WHERE source = $source",
            {"source": source},
        )
    assert row is not None
    return row[0] or 0, row[1] or 0, row[2] or 0


def _seen_before(warehouse: Warehouse, source: str, card: dict[str, Any]) -> str | None:
    """The message when this very model was judged on these very jobs before. None when it was not."""
    same = ("sha256", "data_sha256", "trained_until", "tested_until", "jobs_tested")
    with warehouse.read() as connection:
        row = first_row(
            connection,
            "SELECT max(version) FROM predictions.model_versions WHERE source = ? AND "
            + " AND ".join(f"{name} = ?" for name in same),
            [source, *(card[name] for name in same)],
        )
    if row is None or row[0] is None:
        return None
    return f"nothing new: version {row[0]} was trained and judged on the same jobs"


def _files(connection: duckdb.DuckDBPyConnection, source: str) -> list[str]:
    """Files that are kept: of every version that was ever champion, and of the newest KEPT_VERSIONS."""
    rows = connection.execute(
        "SELECT file FROM predictions.model_versions WHERE source = $source AND (version > (SELECT max(version) FROM "
        "predictions.model_versions WHERE source = $source) - $kept OR version IN (SELECT champion FROM "
        "predictions.model_events WHERE source = $source))",
        {"source": source, "kept": KEPT_VERSIONS},
    ).fetchall()
    return [row[0] for row in rows]


def _append(
    warehouse: Warehouse,
    source: str,
    last: int,
    event: dict[str, Any],
    card: dict[str, Any] | None = None,
    needed: str | None = None,
) -> bool:
    """Writes an event, and the card of the version where that is new, both or neither. last: number of the event before it.
    needed: a model file that has to be there. Returns False, and writes nothing, when another event came in between or the
    file has been removed."""
    rows = {} if card is None else {"model_versions": card}

    def append(connection: duckdb.DuckDBPyConnection) -> bool:
        newest = first_row(connection, "SELECT max(event) FROM predictions.model_events WHERE source = ?", [source])
        if newest is not None and (newest[0] or 0) != last:
            return False
        if needed is not None and not (artefacts_folder() / needed).exists():
            return False
        for name, values in (rows | {"model_events": event | {"event": last + 1}}).items():
            columns = {"source": source} | values
            connection.execute(
                f"INSERT INTO predictions.{name} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                list(columns.values()),
            )
        return True

    return warehouse.transact(source, append)
