"""Run-time prediction and predicted waits, on archive logs.

    python -m studies prediction [predictors] [starts]

predictors: every predictor as in operation (fitted monthly on what had ended), online regressions next to them, and the one chosen for
each log on the other logs. starts: predicted waits of single jobs in the second half of each log whose waits are real, beside every rival.
The neighbours were chosen on the first half of HPC2N, the mean and the moved intervals on the first halves of all three. What predictions
are worth to a scheduler is in `python -m studies uses`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from assets.features.tables import runtime_rows, write_job_features, write_similar_jobs
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.waits.loading import load_site_waits
from models.runtime.calibration import calibrated
from models.runtime.named import PREDICTORS, SERVING
from models.runtime.predictor import runtimes
from models.runtime.prequential import fallback_jobs, periods_of, prediction_rows, prequential
from models.runtime.scores import gain_interval, score
from models.waits.scoring import predict_history
from studies.judging.agreement import SHARED
from studies.predicting.online import ONLINE
from studies.predicting.prediction_tables import (
    FIRST_FIVE,
    every_wait_table,
    predictors_table,
    waits_table,
)
from traces.catalogue.sources import Source
from warehouse import Warehouse, replace_partitions

LOGS = {
    "KTH-SP2": ("KTH-SP2-1996-2.1-cln", 100),
    "CTC-SP2": ("CTC-SP2-1996-3.1-cln", 338),
    "SDSC-SP2": ("SDSC-SP2-1998-derived", 128),
    "HPC2N": ("HPC2N-2002-2.2-cln", 240),
}
FOLDER = SHARED / "traces" / "swf"
REAL_WAITS = ("KTH-SP2", "CTC-SP2", "HPC2N")
"""The waits of SDSC-SP2 are simulated."""
WAITS = 4000
"""Jobs of each log whose waits are predicted."""


def main() -> None:
    parts = sys.argv[1:] or ["predictors", "starts"]
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        warehouse = Warehouse(Path(folder) / "w.duckdb")
        for name, (file, procs) in LOGS.items():
            source = Source(name.lower(), "swf", FOLDER / f"{file}.swf.gz", procs)
            update_raw_log(warehouse, source)
            write_jobs(warehouse, source.name)
            write_job_features(warehouse, source.name)
            write_similar_jobs(warehouse, source.name)
        rows = {name: runtime_rows(warehouse, name.lower()) for name in LOGS}
        if "predictors" in parts:
            predictors(rows)
        if "starts" in parts:
            told = {name: starts(warehouse, name.lower(), rows[name]) for name in REAL_WAITS}
            print(f"\nwaits of single jobs\n\n{waits_table(told)}")
            print(f"\nevery score of waits\n\n{every_wait_table(told)}")


def predictors(rows: dict[str, pl.DataFrame]) -> None:
    """Prints scores of every predictor on every log, and the leave-one-log-out choice."""
    scores: dict[str, dict[str, dict[str, float]]] = {name: {} for name in rows}
    by_job: dict[str, dict[str, np.ndarray]] = {name: {} for name in rows}
    print(f"\n{'log':<9} {'predictor':<19} {'mean error, s':>13} {'median':>8} {'MAPE':>8} {'accuracy':>8} {'under':>6} "
          f"{'pinball':>8} {'50 %':>6} {'80 %':>6} {'90 %':>6} {'fallback':>8} {'CPU-s':>7} {'wall':>7}")  # fmt: skip
    for name, frame in rows.items():
        true = runtimes(frame)
        for predictor in (*FIRST_FIVE, *(name for name in PREDICTORS if name not in FIRST_FIVE)):
            wall, cpu = time.perf_counter(), time.process_time()
            if predictor in ONLINE:  # they learn from every job when it ends, and need no periods
                predicted, fallback = calibrated(ONLINE[predictor]().predict(frame), frame), 0
            else:
                predicted = calibrated(prequential(frame, predictor), frame)
                fallback = fallback_jobs(predictor, periods_of(frame)).sum()
            found = score(predicted, true)
            by_job[name][predictor] = np.abs(predicted.point - true)
            wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
            scores[name][predictor] = found
            print(
                f"{name:<9} {predictor:<19} {found['mean_absolute_error_s']:>13,.0f} {found['median_absolute_error_s']:>8,.0f} "
                f"{found['mean_absolute_percentage_error']:>8.1f} {found['mean_accuracy']:>8.3f} "
                f"{found['underestimated_share']:>6.2f} {found['pinball_loss_s']:>8,.0f} {found['coverage_50']:>6.3f} "
                f"{found['coverage_80']:>6.3f} {found['coverage_90']:>6.3f} {fallback:>8,} {cpu:>7.1f} {wall:>7.1f}",
                flush=True,
            )
    errors = {name: {each: score["mean_absolute_error_s"] for each, score in of.items()} for name, of in scores.items()}
    candidates = [predictor for predictor in PREDICTORS if predictor not in FIRST_FIVE]
    merits = {
        name: [float(np.log(of[c] / min(of[b] for b in FIRST_FIVE))) for c in candidates] for name, of in errors.items()
    }
    chosen = {name: candidates[choose(merits, leave_out=name)] for name in rows}
    for name in rows:
        print(f"\n{name}, gains of {chosen[name]} in mean error, 95 %, users resampled")
        users = rows[name]["user_name"].fill_null("").to_numpy()
        for b in FIRST_FIVE:
            gain, low, high = gain_interval(by_job[name][chosen[name]], by_job[name][b], users, seed=1)
            print(f"  over {b}: {gain:,.0f} s, {low:,.0f} to {high:,.0f}")
    print(f"\nmean absolute error, s\n\n{predictors_table(scores, chosen)}")


def choose(merits: Mapping[str, Sequence[float]], leave_out: str) -> int:
    """The index of the predictor with the least mean merit over all logs but one. merits: by log, one for each predictor."""
    kept = [values for name, values in merits.items() if name != leave_out]
    return int(np.argmin(np.mean(kept, axis=0)))


def starts(warehouse: Warehouse, source: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The predicted waits of WAITS jobs of the second half, with run times predicted as in operation."""
    begin = time.process_time()
    found = calibrated(prequential(frame, SERVING), frame)
    rows = prediction_rows(frame["job_index"], found, SERVING).with_columns(version=pl.lit(None, dtype=pl.Int64))
    replace_partitions(warehouse, source, {"predictions.runtime_predictions": rows})
    told = predict_history(load_site_waits(warehouse, source).log.history, 0.5, WAITS, seed=1)
    print(f"{told.height:,} waits of the second half of {source}: {time.process_time() - begin:.0f} CPU-s", flush=True)
    return told
