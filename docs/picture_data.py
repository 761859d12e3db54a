"""What the teaching pictures of docs/images show, as JSON, from the definitions, the bundled logs and the warehouse.

`docs/draw_pictures.py` draws it and keeps its hash. `tests/test_pictures.py` computes it again.
"""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args, get_type_hints

import duckdb
import polars as pl

import sql
import tracehouse
from assets.features.tables import write_job_features
from assets.ingest.generated import generated_log
from assets.policies.registry import ChallengeResult
from models.judging.verdict import DOMINATES
from models.scheduling.learning.training_run import Split
from models.scheduling.options import LearningMethod, Recipe
from traces.catalogue.catalogue import load_catalogue
from warehouse.schema import column_comments

JSON = dict[str, Any]

IMAGES = Path(__file__).resolve().parent / "images"
KEPT_WALK = IMAGES / "job-row.json"
"""The values of the walk of a job row. Its predictions need minutes of training, so a test cannot compute them."""

LONG_WAIT_S = 3600
"""What the heat map calls a long wait."""
SHORT_JOB_S = 3600
"""What the Gantt calls a short job."""
GANTT_SOURCE, GANTT_WINDOW, GANTT_PROCS = "birch", (4880, 40), 320
"""A third of the cluster, so that 40 jobs fill it."""
HEAT_SOURCE = "larch"
WALK_SOURCE, WALK_RUN = "birch", ("saf-easy", "SAF", "easy")
"""The source, and one of the runs that every pipeline run saves: its name, policy and backfilling."""
WALK_JOB = 3036
"""Index of the job whose row is followed."""
LINE_SHOWN = 122
"""Characters of its line of the log."""
RESULTS = Path(__file__).resolve().parent / "results.json"
REACT_TABLE, REACT_CHANGE = "users_react, archive logs", "10 % fewer processors"
REACT_LOGS = ("KTH-SP2", "CTC-SP2", "HPC2N")
PREDICTIONS, RUN_JOBS = "predictions.runtime_predictions", "replay.run_jobs"

WALK_COLUMNS = {
    "raw.pbs_records": (
        "record_type",
        "job_id",
        "queue",
        "etime_s",
        "start_s",
        "end_s",
        "procs",
        "requested_walltime_s",
    ),
    "core.jobs": ("job_index", "submit_time", "start_time", "wait_s", "runtime_s", "procs", "queue", "status"),
    "features.job_features": (
        "hour_of_day",
        "user_jobs_ended",
        "user_median_runtime_s",
        "last_two_runtime_s",
        "alike_jobs_ended",
        "jobs_waiting",
    ),
    PREDICTIONS: ("predictor", "runtime_p10_s", "predicted_runtime_s", "runtime_p90_s"),
    RUN_JOBS: ("run", "start_time", "wait_s", "procs", "backfilled"),
    "marts.waits_by_size": ("month", "size_class", "jobs", "median_wait_s", "average_wait_s"),
}
"""What is shown of every table, in the order of the walk."""


def asset_groups() -> JSON:
    """The assets of every group, and arrows between groups. An arrow that a longer way implies is left out."""
    from pipelines.definitions import build_definitions  # loading it builds them for the home of the moment

    graph = build_definitions().resolve_asset_graph()
    groups: dict[str, list[str]] = {}
    parents: dict[str, set[str]] = {}
    for key in sorted(graph.materializable_asset_keys):
        node = graph.get(key)
        groups.setdefault(node.group_name, []).append(key.to_user_string())
        above = {graph.get(parent).group_name for parent in node.parent_keys & graph.materializable_asset_keys}
        parents.setdefault(node.group_name, set()).update(above - {node.group_name})

    def ancestors(group: str) -> set[str]:
        return parents[group].union(*(ancestors(parent) for parent in parents[group]))

    arrows = [
        [parent, group]
        for group in sorted(groups)
        for parent in sorted(parents[group])
        if not any(parent in ancestors(other) for other in parents[group])
    ]
    return {"groups": dict(sorted(groups.items())), "arrows": arrows}


def wait_heat_map() -> JSON:
    """Jobs, and the share of them that waited long, by weekday and hour of the submission; rows Monday to Sunday, columns 0 to 23 h."""
    log = tracehouse.load_log(HEAT_SOURCE)
    submitted = log.jobs["submit_time"]
    rows = log.query(
        f"""SELECT weekday, hour_of_day, count(*) AS jobs, count_if(wait_s > {LONG_WAIT_S})::BIGINT AS long_waits
        FROM marts.job_facts WHERE source = '{HEAT_SOURCE}' GROUP BY ALL"""
    )
    jobs, waited = ([[0] * 24 for _ in range(7)] for _ in range(2))
    for weekday, hour, count, long_waits in rows.iter_rows():
        jobs[weekday - 1][hour], waited[weekday - 1][hour] = count, long_waits
    days = round((submitted.max() - submitted.min()) / timedelta(days=1))
    return {"source": HEAT_SOURCE, "days": days, "long_wait_s": LONG_WAIT_S, "jobs": jobs, "long_waits": waited}


def gantt() -> JSON:
    """The same jobs under FCFS without and with EASY: seconds since the first submission, processors, who was backfilled."""
    log = tracehouse.load_log(GANTT_SOURCE)
    schedules: dict[str, list[JSON]] = {}
    for backfill in ("none", "easy"):
        jobs = tracehouse.replay(log, "FCFS", backfill, window=GANTT_WINDOW, procs=GANTT_PROCS, cluster="").jobs.join(
            log.jobs.select("job_index", "submit_time"), on="job_index"
        )
        first = jobs["submit_time"].min()
        schedules[backfill] = jobs.select(
            submit=(pl.col("submit_time") - first).dt.total_seconds(),
            start=(pl.col("start_time") - first).dt.total_seconds(),
            runtime="runtime_s",
            procs="procs",
            backfilled="backfilled",
        ).to_dicts()
    about = {"source": GANTT_SOURCE, "window": list(GANTT_WINDOW), "short_job_s": SHORT_JOB_S}
    return about | {"cluster_procs": GANTT_PROCS, "schedules": schedules}


def policy_life() -> JSON:
    """What happens to a policy, and the words and shares that the code has for it."""
    split = Split.by_shares(1000, 1)
    ends = [part.scored.stop // 10 for part in (split.learn, split.choose, split.confirm)]
    learned, chosen, confirmed = ends
    shares = {"learned": learned, "chosen": chosen - learned, "judged": confirmed - chosen, "compared": 100 - confirmed}
    return {
        "shares": shares,
        "methods": list(get_args(LearningMethod)),
        "starts_from": Recipe().start,
        "cautious": Recipe().cautious,
        "events": list(get_args(get_type_hints(ChallengeResult)["kind"])),
        "meaning_of_events": column_comments(sql.load("policies.policy_events"))["kind"],
        "takes_over": DOMINATES,
        "meaning_of_champion": column_comments(sql.load("policies.learned_policies"))["champion"],
    }


def job_row() -> JSON:
    """The values of one job in every table that it passes, of a home in which the source has run."""
    return _walk(tracehouse.load_log(WALK_SOURCE), {})


def job_row_again() -> JSON:
    """As job_row, computed in a home where nothing has run, but for the prediction, which is as it was kept."""
    log = tracehouse.load_log(WALK_SOURCE)
    write_job_features(log.warehouse, WALK_SOURCE)
    kept = {table["table"]: table["values"] for table in json.loads(KEPT_WALK.read_text())["tables"]}
    return _walk(log, {PREDICTIONS: kept[PREDICTIONS]})


def _walk(log: tracehouse.Log, rows: dict[str, dict[str, Any]]) -> JSON:
    """rows: of tables that are not read, by name of the column."""
    with log.warehouse.read() as connection:
        job = _row(connection, "core.jobs", f"job_index = {WALK_JOB}")
        facts = _row(connection, "marts.job_facts", f"job_index = {WALK_JOB}")
        where = {
            "raw.pbs_records": f"file = '{job['file']}' AND line = {job['line']}",
            "marts.waits_by_size": f"month = '{facts['month']}' AND size_class = '{facts['size_class']}'",
        }
        for table in WALK_COLUMNS.keys() - rows.keys() - {RUN_JOBS}:
            rows[table] = _row(connection, table, where.get(table, f"job_index = {WALK_JOB}"))
    name, policy, backfill = WALK_RUN
    replayed = tracehouse.replay(log, policy, backfill, cluster="").jobs.row(
        by_predicate=pl.col("job_index") == WALK_JOB, named=True
    )
    rows[RUN_JOBS] = replayed | {"run": name}
    tables = [
        {"table": table, "values": {column: _plain(rows[table][column]) for column in columns}}
        for table, columns in WALK_COLUMNS.items()
    ]
    line = _line_of_log(job["file"], job["line"])
    return {"source": WALK_SOURCE, "line_number": job["line"], "file": job["file"], "line": line, "tables": tables}


def _row(connection: duckdb.DuckDBPyConnection, table: str, where: str) -> dict[str, Any]:
    rows = connection.sql(f"FROM {table} WHERE source = '{WALK_SOURCE}' AND {where}").pl()
    if rows.height != 1:
        raise ValueError(f"{table} has {rows.height} rows where {where}: run `tracehouse run {WALK_SOURCE}` first")
    return rows.row(0, named=True)


def _line_of_log(file: str, number: int) -> str:
    """How the line of the generated log begins. It names its user, who is a pseudonym in the tables."""
    folder = generated_log(load_catalogue().sources[WALK_SOURCE])
    return f"{(folder / file).read_text().splitlines()[number - 1][:LINE_SHOWN]} ..."


def _plain(value: Any) -> Any:
    """A value as JSON has it. Seconds of predictions and means are shown as whole numbers."""
    if isinstance(value, bool | int | str) or value is None:
        return value
    return round(value) if isinstance(value, float) else str(value)


def users_react() -> JSON:
    """What a smaller machine does to the mean wait of archive logs, open and closed, and the share of the jobs that follow, all in percent:
    from the stored table of docs/results/users-react.md."""
    lines = json.loads(RESULTS.read_text())[REACT_TABLE]["lines"]
    head, _, *rows = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    logs = {}
    for row in (dict(zip(head, each, strict=True)) for each in rows):
        if row["log"] in REACT_LOGS:
            opened, closed = (int(part) for part in row[REACT_CHANGE].removesuffix(" %").split("/"))
            logs[row["log"]] = {"open": opened, "closed": closed, "follow": int(row["follow"].removesuffix(" %"))}
    return {"change": REACT_CHANGE, "logs": logs}


DATA = {
    "asset-groups": asset_groups,
    "wait-heat-map": wait_heat_map,
    "gantt": gantt,
    "policy-life": policy_life,
    "job-row": job_row,
    "users-react": users_react,
}
"""Name of each picture -> what it shows."""
