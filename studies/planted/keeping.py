"""Planted clusters side by side in processes, each kept once it is done, so that a stopped study goes on where it was."""

from __future__ import annotations

import hashlib
import io
import json
import os
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import polars as pl

from assets.common.progress import progress_bar
from assets.common.storage import data_folder, write_whole
from simulator.compiled import SOURCE_HASH
from studies.planted.clusters import PlantedCluster, rule_words
from studies.planted.effects import effect_rows, predictor_of
from studies.planted.identified import cluster_of, identified, recovery_of
from studies.planted.planting import planted_log

CODE = Path(__file__).parent
SOURCES = (CODE, CODE.parents[1] / "models" / "identification", CODE.parents[1] / "traces" / "synthetic")
"""Folders of what decides a result, beside the simulator."""
NOT_DECIDING = ("keeping.py", "calibration.py", "planted_rules.py", "planted_grades.py")
WORKERS, NICE = 2, 19
KEPT = "--kept"
"""Option of a study that takes what is kept alone."""
IDENTIFIED, PLAIN = "identified", "plain"
"""Predictors: the identified cluster, and FCFS with EASY without any rule, which a what-if takes where nothing was identified."""


@dataclass(frozen=True)
class PlantedResult:
    """facts: of the planted and the identified cluster, and the score of the recovery. effects: as studies.planted.effects has them."""

    facts: dict[str, Any]
    effects: pl.DataFrame


def code_key() -> str:
    """A text that changes with the code that decides the results, or what TRACEHOUSE_PLANTED says, to go on with those of other code."""
    if named := os.environ.get("TRACEHOUSE_PLANTED"):
        return named
    digest = hashlib.sha256(SOURCE_HASH.encode())
    for folder in SOURCES:
        for file in sorted(folder.glob("*.py")):
            if file.name not in NOT_DECIDING:
                digest.update(file.name.encode() + file.read_bytes())
    return digest.hexdigest()[:12]


def planted_results(series: int, numbers: Iterable[int], of: int, kept_alone: bool = False) -> Iterator[PlantedResult]:
    """The results of planted clusters in the order of their numbers. What is not kept yet is computed, or left out."""
    folder = data_folder() / "planted" / code_key()
    folder.mkdir(parents=True, exist_ok=True)
    wanted = list(numbers)
    missing = [number for number in wanted if not _file(folder, series, of, number).exists()]
    if kept_alone:
        wanted = [number for number in wanted if number not in missing]
    elif missing:
        with (
            ProcessPoolExecutor(
                WORKERS, get_context("spawn"), os.nice, (NICE,)
            ) as pool,  # a fork may hold a lock of a thread
            progress_bar(f"planted clusters of series {series}", len(missing)) as bar,
        ):
            running = [pool.submit(keep_result, folder, series, number, of) for number in missing]
            for each in as_completed(running):
                each.result()
                bar.update()
    for number in wanted:
        facts = json.loads(_file(folder, series, of, number).read_text())
        yield PlantedResult(facts, pl.read_parquet(_file(folder, series, of, number).with_suffix(".parquet")))


def keep_result(folder: Path, series: int, number: int, of: int) -> None:
    """Computes one result and keeps it in the folder."""
    result = result_of(number, series, of)
    file = _file(folder, series, of, number)
    table = io.BytesIO()
    result.effects.write_parquet(table)
    write_whole(file.with_suffix(".parquet"), table.getvalue())
    write_whole(file, json.dumps(result.facts, indent=1).encode())


def result_of(number: int, series: int, of: int) -> PlantedResult:
    """Plants a cluster, identifies it from its log, and compares."""
    planted = planted_log(number, series, of)
    began = time.process_time()
    identification, predictor = identified(planted)
    seconds = time.process_time() - began
    cluster = cluster_of(identification, planted.workload)
    score = recovery_of(planted, cluster)
    facts = {
        "number": number,
        "kind": planted.kind,
        "counts": planted.counts,
        "scope": planted.scope,
        "engine": planted.cluster.engine,
        "jobs": len(planted.start),
        "changed": planted.changed,
        "mean_wait_s": float((planted.start - planted.workload.jobs.submit).mean()),
        "planted": [f"{planted.cluster.policy}, {planted.cluster.backfill}", *rule_words(planted.cluster)],
        "identified": [f"{cluster.policy}, {cluster.backfill}", *rule_words(cluster)],
        "sentences": [rule.sentence for rule in identification.rules],
        "has_kind": score.kind,
        "has_value": score.value,
        "surplus": list(score.surplus),
        "seconds": seconds,
        "replays": identification.replays,
    }
    plain = predictor_of(PlantedCluster(planted.workload.procs), planted.workload)
    return PlantedResult(facts, effect_rows(planted, {IDENTIFIED: predictor, PLAIN: plain}))


def _file(folder: Path, series: int, of: int, number: int) -> Path:
    return folder / f"{series}-{of}-{number:03}.json"
