"""Run-time prediction and what it is worth, on archive logs.

    python -m studies prediction [features] [predictors] [single] [waits] [starts]

features: how long features take. predictors: every predictor as in operation (fitted monthly on what had ended), and the one
chosen for each log on the other logs. single: the time of one prediction. waits: EASY with predictions, one configuration for
each log, chosen on the other logs, beside its rivals, with intervals over shaken and over resampled logs. starts: predicted waits
of single jobs in the second half of each log whose waits are real, beside every rival. The neighbours were chosen on the first half of
HPC2N, the mean and the moved intervals on the first halves of all three. All together take more than an hour.
"""

from __future__ import annotations

import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import polars as pl

from assets.features.tables import runtime_rows, write_job_features, write_similar_jobs
from assets.ingest.canonical_jobs import write_jobs
from assets.ingest.update import update_raw_log
from assets.predictions.waits import load_wait_source
from models.runtime import search
from models.runtime.calibration import calibrated
from models.runtime.named import PREDICTORS, SERVING, make_predictor
from models.runtime.predictor import runtimes
from models.runtime.prequential import fallback_jobs, periods_of, prediction_rows, prequential
from models.runtime.scores import gain_interval, score
from models.waits.scoring import predict_history
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.metrics.metrics import bounded_slowdown
from studies.judging.agreement import SHARED
from studies.predicting.prediction_tables import (
    FIRST_FIVE,
    chosen_uses_table,
    every_wait_table,
    predictors_table,
    uses_table,
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
CHOOSING_SHAKES = 2
DRAWS = 20
WAITS = 4000
"""Jobs of each log whose waits are predicted."""


def main() -> None:
    parts = sys.argv[1:] or ["features", "predictors", "single", "waits", "starts"]
    with tempfile.TemporaryDirectory(prefix="tracehouse-") as folder:
        warehouse = Warehouse(Path(folder) / "w.duckdb")
        for name, (file, procs) in LOGS.items():
            source = Source(name.lower(), "swf", FOLDER / f"{file}.swf.gz", procs)
            update_raw_log(warehouse, source)
            write_jobs(warehouse, source.name)
            _features(warehouse, name, "features" in parts)
        rows = {name: runtime_rows(warehouse, name.lower()) for name in LOGS}
        if "predictors" in parts:
            predictors(rows)
        if "single" in parts:
            _single(rows["HPC2N"])
        if "waits" in parts:
            waits({name: log_of(rows[name], LOGS[name][1]) for name in LOGS})
        if "starts" in parts:
            told = {name: starts(warehouse, name.lower(), rows[name]) for name in REAL_WAITS}
            print(f"\nwaits of single jobs\n\n{waits_table(told)}")
            print(f"\nevery score of waits\n\n{every_wait_table(told)}")


def _features(warehouse: Warehouse, name: str, shown: bool) -> None:
    source = name.lower()
    for again in ("first", "again") if shown else ("first",):
        wall, cpu = time.perf_counter(), time.process_time()
        jobs = write_job_features(warehouse, source)
        middle = time.perf_counter()
        write_similar_jobs(warehouse, source)
        end = time.perf_counter()
        if shown:
            print(
                f"features {name:<9} {jobs:>8,} jobs, {again}: job_features {middle - wall:5.2f} s, similar_jobs "
                f"{end - middle:5.2f} s, together {time.process_time() - cpu:5.2f} CPU-s",
                flush=True,
            )


def predictors(rows: dict[str, pl.DataFrame]) -> None:
    """Prints scores of every predictor on every log, and the leave-one-log-out choice."""
    scores: dict[str, dict[str, dict[str, float]]] = {name: {} for name in rows}
    by_job: dict[str, dict[str, np.ndarray]] = {name: {} for name in rows}
    print(f"\n{'log':<9} {'predictor':<19} {'mean error, s':>13} {'median':>8} {'MAPE':>8} {'accuracy':>8} {'under':>6} "
          f"{'pinball':>8} {'50 %':>6} {'80 %':>6} {'90 %':>6} {'fallback':>8} {'CPU-s':>7} {'wall':>7}")  # fmt: skip
    for name, frame in rows.items():
        true = runtimes(frame)
        for predictor in PREDICTORS:
            wall, cpu = time.perf_counter(), time.process_time()
            predicted = calibrated(prequential(frame, predictor), frame)
            found = score(predicted, true)
            fallback = fallback_jobs(predictor, periods_of(frame)).sum()
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
    chosen = {name: candidates[search.choose(merits, leave_out=name)] for name in rows}
    for name in rows:
        print(f"\n{name}, gains of {chosen[name]} in mean error, 95 %, users resampled")
        users = rows[name]["user_name"].fill_null("").to_numpy()
        for b in FIRST_FIVE:
            gain, low, high = gain_interval(by_job[name][chosen[name]], by_job[name][b], users, seed=1)
            print(f"  over {b}: {gain:,.0f} s, {low:,.0f} to {high:,.0f}")
    print(f"\nmean absolute error, s\n\n{predictors_table(scores, chosen)}")


def _single(frame: pl.DataFrame) -> None:
    """The time of one prediction, from a row of features to point and quantiles."""
    fitted = frame[:20_000]
    for name in ("similar_jobs", "xgboost", "stack"):
        predictor = make_predictor(name)
        predictor.fit(fitted)
        singles = [frame[k : k + 1] for k in range(20_000, 20_300)]
        for one in singles[:20]:
            predictor.predict(one)
        wall, cpu = time.perf_counter(), time.process_time()
        for one in singles:
            predictor.predict(one)
        wall, cpu = (
            (now - then) / len(singles) for now, then in ((time.perf_counter(), wall), (time.process_time(), cpu))
        )
        print(f"one prediction by {name}: {1e3 * cpu:.2f} ms of CPU time, {1e3 * wall:.2f} ms")


def log_of(frame: pl.DataFrame, procs: int) -> search.SearchLog:
    """A log as configurations are tried on it; jobs ordered as replays have them."""
    submit = (frame["submit_time"].dt.epoch("s") - frame["submit_time"].dt.epoch("s")[0]).to_numpy()
    requested = frame["requested_walltime_s"].fill_null(-1).to_numpy()
    kinds = frame.select("user_name", "executable", "requested_walltime_s", "requested_procs")
    return search.SearchLog(submit, frame["runtime_s"].to_numpy(), frame["procs"].to_numpy(), requested, kinds, procs)


def orders_without_cap() -> list[search.Configuration]:
    """The grid of orders from which these tables were chosen, without guards."""
    bodies = [f"{c}*estimate" for c in (3, 10, 30)]
    bodies += [f"{c}*estimate*sqrt(sqrt(procs))" for c in (2, 5, 15)]
    bodies += [f"{c}*estimate*sqrt(procs)" for c in (1, 3, 10)]
    return [
        search.Configuration(f"formula:-(submit + {body})", backfill, f"live:{statistic}", factor)
        for body in bodies
        for backfill in ("easy", "easy-sjbf")
        for statistic in ("mean", "slowdown")
        for factor in (0.5, 1.0)
    ]


def waits(logs: dict[str, search.SearchLog]) -> None:
    """Prints, for each log and family, the configuration chosen on the other logs and what it gives, beside its rivals."""
    easy: dict[str, list[search.ReplayOutcome]] = {}
    trials: dict[str, list[search.SearchLog]] = {}
    for name, log in logs.items():
        trials[name] = [log, *(search.shaken(log, seed) for seed in range(CHOOSING_SHAKES))]
        easy[name] = [search.try_configuration(trial, search.EASY) for trial in trials[name]]
    families = {
        "FCFS order": [each for each in search.backfilling_configurations() if each.admit_by == "estimate"],
        "any order": orders_without_cap(),
    }
    chosen: dict[str, dict[str, search.Configuration]] = {name: {} for name in logs}
    for family, configurations in families.items():
        merits: dict[str, list[float]] = {name: [] for name in logs}
        for configuration in configurations:
            for name in logs:
                outcomes = _many(trials[name], configuration)
                merits[name].append(
                    float(np.mean([search.merit(a, b) for a, b in zip(outcomes, easy[name], strict=True)]))
                )
        for name in logs:
            chosen[name][family] = configurations[search.choose(merits, leave_out=name)]
        ranked = np.argsort(np.mean(list(merits.values()), axis=0))[:5]
        print(
            f"\n{family}: {len(configurations)} configurations; the best over all four logs (for reading, not for the table)"
        )
        for k in ranked:
            each = ", ".join(f"{name} {values[k]:+.2f}" for name, values in merits.items())
            print(f"  {configurations[k]}: {each}")
    one_user(logs["HPC2N"])
    _compare(logs, chosen)


def _compare(logs: dict[str, search.SearchLog], chosen: dict[str, dict[str, search.Configuration]]) -> None:
    """Prints the tables of what was chosen for each log, beside its rivals."""
    outcomes: dict[str, dict[str, search.ReplayOutcome]] = {name: {} for name in logs}
    spreads: dict[str, dict[str, str]] = {name: {} for name in logs}
    ratios: dict[str, dict[str, str]] = {name: {} for name in logs}
    for name, log in logs.items():
        print(f"\n{name}: {'; '.join(f'{family}: {each}' for family, each in chosen[name].items())}", flush=True)
        shakes = [search.shaken(log, 100 + seed) for seed in range(DRAWS)]
        others = [search.resampled(log, 200 + seed) for seed in range(DRAWS)]
        references = _many(others, search.EASY)
        rules = search.PREDICTION_RIVALS | {f"predicted, {family}": each for family, each in chosen[name].items()}
        for rule, configuration in rules.items():
            outcomes[name][rule] = outcome = search.try_configuration(log, configuration)
            low, high = np.percentile([x.bounded_slowdown for x in _many(shakes, configuration)], [2.5, 97.5])
            spreads[name][rule] = f"{outcome.bounded_slowdown:.1f} ({low:.1f} to {high:.1f})"
            resampled = _many(others, configuration)
            shares = [a.bounded_slowdown / b.bounded_slowdown for a, b in zip(resampled, references, strict=True)]
            low, high = np.percentile(shares, [2.5, 97.5])
            ratios[name][rule] = f"{np.mean(shares):.2f} ({low:.2f} to {high:.2f})"
            print(f"  {rule}: {spreads[name][rule]}", flush=True)
    mine = tuple(rule for rule in outcomes["HPC2N"] if rule.startswith("predicted, "))
    print(f"\nbounded slowdown\n\n{uses_table(spreads)}")
    print(f"\nchosen uses\n\n{chosen_uses_table(outcomes, ratios, mine)}")


def starts(warehouse: Warehouse, source: str, frame: pl.DataFrame) -> pl.DataFrame:
    """The predicted waits of WAITS jobs of the second half, with run times predicted as in operation."""
    begin = time.process_time()
    found = calibrated(prequential(frame, SERVING), frame)
    rows = prediction_rows(frame["job_index"], found, SERVING).with_columns(version=pl.lit(None, dtype=pl.Int64))
    replace_partitions(warehouse, source, {"predictions.runtime_predictions": rows})
    told = predict_history(load_wait_source(warehouse, source).history, 0.5, WAITS, seed=1)
    print(f"{told.height:,} waits of the second half of {source}: {time.process_time() - begin:.0f} CPU-s", flush=True)
    return told


def one_user(log: search.SearchLog) -> None:
    """How much of HPC2N's slowdown hangs on one user: all other run times known exactly, that user's at one value for all."""
    users = log.users
    counts = np.bincount(users, weights=bounded_slowdown(_easy_wait(log), log.runtime))
    worst = users == counts.argmax()
    print(
        f"\nHPC2N, the user with most of EASY's slowdown: {worst.sum():,} of {len(users):,} jobs. SJF + EASY with exact "
        "estimates of all other jobs, and for that user's"
    )
    known = {
        "exact": log.runtime,
        "their median": np.median(log.runtime[worst]),
        "their mean": log.runtime[worst].mean(),
        "1 h": 3600,
    }
    for label, value in known.items():
        estimate = np.maximum(np.where(worst, value, log.runtime), 1).astype(np.int64)
        limit = np.maximum(np.maximum(log.requested, log.runtime), estimate)
        jobs = Jobs(log.submit, log.runtime, log.procs, estimate, limit)
        wait = replay(jobs, log.cluster_procs, "SJF", "easy", correction="doubling").start - log.submit
        slowdown = bounded_slowdown(wait, log.runtime)
        print(
            f"  {label:<13} {slowdown.mean():>6.1f}, of which that user's jobs {slowdown[worst].sum() / len(slowdown):.1f}"
        )


def _easy_wait(log: search.SearchLog) -> np.ndarray:
    return replay(log.jobs("requested"), log.cluster_procs, "FCFS", "easy").start - log.submit


def _many(logs: list[search.SearchLog], configuration: search.Configuration) -> list[search.ReplayOutcome]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda log: search.try_configuration(log, configuration), logs))
