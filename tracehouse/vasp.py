"""Folders of VASP runs: adding them, and how long runs still need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from assets.common.progress import progress_bar
from assets.common.storage import open_warehouse
from assets.common.writing.locks import declares
from assets.predictions.stored_runs import load_two_sources
from models.remaining.evaluation import REMAINING_RIVALS
from models.remaining.score_tables import systems_of, transfer_scores
from tracehouse.ingesting import load_declared
from traces.catalogue.catalogue import inbox_name, load_catalogue
from traces.catalogue.editing import add_vasp_source, refuse_another
from warehouse import first_row

if TYPE_CHECKING:
    import polars as pl


def ingest_runs(
    path: Path, name: str | None, time_zone: str | None, accounting: str | None, replace: bool
) -> dict[str, Any]:
    """Adds a folder of VASP runs to the catalogue and reads it. Returns what `tracehouse vasp ingest --json` prints."""
    name = name or inbox_name(path.resolve())
    config = {"ops": {"raw__vasp_runs": {"config": {"replace": replace}}}}
    with declares(name):
        if not replace:
            refuse_another("vasp", name, path)
        former = add_vasp_source(name, path, time_zone, accounting, replace)
        load_declared("vasp_ingest", name, former, config, "vasp")
    return _ingest_summary(name)


def _ingest_summary(name: str) -> dict[str, Any]:
    """The outcome of the folders of a source, as `tracehouse vasp ingest --json` prints it."""
    with open_warehouse().read() as connection:

        def counts(column: str, table: str) -> dict[str, int]:
            query = f"SELECT {column}, count(*) FROM {table} WHERE source = ? GROUP BY ALL ORDER BY ALL"
            return dict(connection.execute(query, [name]).fetchall())

        outcomes = counts("outcome", "raw.vasp_folders")
        states, reasons = counts("state", "raw.vasp_runs"), counts("reason", "raw.vasp_rejects")
    accepted, rejected = outcomes.get("accepted", 0), outcomes.get("rejected", 0)
    return {
        "source": name,
        "folders": accepted + rejected,
        "accepted": accepted,
        "rejected": rejected,
        "runs_by_state": states,
        "rejects_by_reason": reasons,
    }


def evaluate_transfer(train: str, test: str, predictor: str, seed: int) -> dict[str, Any]:
    """What `tracehouse vasp evaluate --json` prints. Raises ValueError for one folder that is both,
    and for too few finished runs."""
    catalogue = load_catalogue()
    train, test = catalogue.vasp_source(train).name, catalogue.vasp_source(test).name
    if train == test:
        raise ValueError(
            f"--train and --test are both {train!r}: expected two different folders, since a run is not judged by a predictor that learned "
            "from it. predictions.remaining_time_scores has the cross-validation within one folder"
        )
    runs, learned, judged, repeated = load_two_sources(open_warehouse(), train, test)
    names = ["inputs_only", predictor]
    with progress_bar("fits", len(REMAINING_RIVALS) + len(names)) as bar:
        try:
            scores = transfer_scores(runs, learned, judged, names, seed, bar.update)
        except ValueError as error:
            counts = f"--train {train}: {len(learned)} finished runs, --test {test}: {len(judged)}"
            raise ValueError(f"{error} ({counts}{f', {repeated} more are in {train}' if repeated else ''})") from None
    return {
        "train": train,
        "test": test,
        "seed": seed,
        "trained_runs": len(learned),
        "trained_systems": systems_of(runs, learned),
        "judged_runs": len(judged),
        "judged_systems": systems_of(runs, judged),
        "repeated_runs": repeated,
        "scores": scores.to_dicts(),
    }


def remaining_times(source: str) -> pl.DataFrame:
    """Rows of predictions.remaining_times, shortest first. Raises ValueError before there is a model."""
    with open_warehouse().read() as connection:
        rows = connection.sql(
            "SELECT * FROM predictions.remaining_times WHERE source = $source ORDER BY remaining_p50_s, folder",
            params={"source": source},
        ).pl()
        models = first_row(
            connection, "SELECT count(*) FROM predictions.remaining_time_models WHERE source = ?", [source]
        )
    if models == (0,):
        raise ValueError(f"nothing predicted for {source!r} yet: `tracehouse vasp run {source}`")
    return rows
