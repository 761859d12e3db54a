"""The command `tracehouse wait`."""

from typing import Any

import click

from models.waits.clock import OF_ITS_OWN
from tracehouse.cli.errors import plain_errors
from tracehouse.cli.json_output import json_text
from tracehouse.cli.parameters.amounts import DurationType
from tracehouse.cli.parameters.names import complete_backfilling, complete_policies
from tracehouse.cli.parameters.sources import source_argument
from tracehouse.text.tables import duration
from traces.catalogue.catalogue import load_catalogue


@click.command()
@source_argument("A source that is in the warehouse.")
@click.option("--procs", "-n", type=click.IntRange(min=1), help="Processors of the new job.")
@click.option(
    "--walltime",
    "-t",
    type=DurationType(),
    metavar="DURATION",
    help="Requested time of the new job: 4h, 4:00:00, or seconds.",
)
@click.option("--user", "-u", help="User who submits it. The same user's waiting and past jobs say much about it.")
@click.option("--queue", "--partition", help="Queue of the new job, where the cluster's own scheduler is described.")
@click.option("--gpus", type=click.IntRange(min=0), help="GPUs of the new job, there.")
@click.option("--account", help="Account of the new job, there. Default: that of the user's last job.")
@click.option("--qos", help="QOS of the new job, there. Default: that of the user's last job.")
@click.option("--soonest", is_flag=True, help="Also which requests near that of the new job would start earlier.")
@click.option("--job", "job_id", metavar="ID", help="A job that waits at that time, instead of a new one.")
@click.option(
    "--at",
    "at",
    metavar="TIME",
    help="When: local time of the cluster such as '2004-03-01 08:00', or a second of "
    "the log's own clock. Default: the last submission of a log that still grows, else a busy moment, drawn.",
)
@click.option(
    "--samples", type=click.IntRange(10, 10_000), default=200, show_default=True, help="Replays of the queue."
)
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, show_default=True, help="Of the drawn run times and moment."
)
@click.option(
    "--policy",
    "-p",
    shell_complete=complete_policies,
    help="Order of the queue in place of the site's own, as in `tracehouse replay`.",
)
@click.option(
    "--backfill",
    "-b",
    shell_complete=complete_backfilling,
    help="Backfilling in place of the site's own, as there.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object, times in seconds.")
@plain_errors
def wait(
    source: str,
    procs: int | None,
    walltime: int | None,
    user: str | None,
    queue: str | None,
    gpus: int | None,
    account: str | None,
    qos: str | None,
    soonest: bool,
    job_id: str | None,
    at: str | None,
    samples: int,
    seed: int,
    policy: str | None,
    backfill: str | None,
    as_json: bool,
) -> None:
    """How long would a job wait? The distribution of its start, at a moment of the log.

    The queue of that moment is replayed many times with run times drawn from what was predicted for each job, as `tracehouse queue`
    does it. The answer is corrected by past queues, or over a row of processors by past jobs that were submitted in like
    circumstances. Only what was known at that moment is used, so a question can be about any moment of the past. Once the waits of the
    source are scored (`tracehouse run`), the errors of such answers are printed below that for a new job. Beside them are those of the
    median of similar jobs and of "every job starts at once".

    \b
    tracehouse wait hpc2n --procs 16 --walltime 4h --user 17
    tracehouse wait hpc2n --job 230511 --at "2004-03-01 08:00"
    """
    from assets.waits.loading import NewJob
    from tracehouse.predictions import QueueSettings, WaitQuestion, answer_wait

    of_new = {
        "procs": procs,
        "walltime": walltime,
        "user": user,
        "queue": queue,
        "gpus": gpus,
        "account": account,
        "qos": qos,
    }
    given = [name for name, value in of_new.items() if value is not None]
    given += ["soonest"] if soonest else []
    if job_id is not None and given:
        raise ValueError(f"--job is about a job of the log: leave --{given[0]} out")
    if job_id is None and (procs is None or walltime is None):
        raise ValueError("give --procs and --walltime of the new job, or --job ID of one that waits")
    new = None if procs is None or walltime is None else NewJob(procs, walltime, user, queue, gpus, account, qos)
    settings: QueueSettings = {"samples": samples, "seed": seed}
    settings |= {name: word for name, word in (("policy", policy), ("backfill", backfill)) if word is not None}  # type: ignore[typeddict-item]
    result = answer_wait(load_catalogue().source(source).name, WaitQuestion(at, job_id, new, soonest), settings)
    click.echo(json_text(result) if as_json else wait_text(result))


def wait_text(answer: dict[str, Any]) -> str:
    """answer: what `tracehouse wait --json` prints."""
    asked = (
        f"job {answer['job']}"
        if answer["job"] is not None
        else "a new job" + (f" of {answer['user']}" if answer["user"] else "")
    )
    limit = f", {duration(answer['requested_walltime_s'])} requested" if answer["requested_walltime_s"] else ""
    size = f"{answer['procs']:,} processors" + (f" and {answer['gpus']:,} GPUs" if answer["gpus"] else "")
    size += f" of {answer['queue']}" if answer["queue"] else ""
    zone = answer["time_zone"]
    lines = [
        f"{answer['source']} at {answer['at']} "
        + (f"({zone})" if zone else f"of {OF_ITS_OWN}")
        + (f": {answer['moment']}; --at asks about another" if answer["moment"] else ""),
        f"  machine  {answer['busy_procs']:,} of {answer['cluster_procs']:,} processors busy, {answer['running_jobs']:,} jobs running, "
        f"{answer['waiting_jobs']:,} waiting",
        f"  job      {asked}: {size}{limit}"
        + (f", has waited {duration(answer['waited_s'])}" if answer["job"] is not None else ""),
        "",
        f"  {'chance':>8}  {'waits at most':<14}  starts by" + ("" if zone else f", of {OF_ITS_OWN}"),
    ]
    for p in (10, 25, 50, 75, 90):
        lines.append(f"  {p:>6} %  {duration(answer[f'wait_p{p}_s']):<14}  {answer[f'start_p{p}']}")
    alone = (
        f"the replays alone say {duration(answer['replay_p50_s'])} "
        f"({duration(answer['replay_p10_s'])} to {duration(answer['replay_p90_s'])})"
    )
    if answer["told_by"] == "replay":
        how = "from the replays alone: too few past jobs or queues tell how far they are right"
    elif answer["told_by"] == "corrected":
        how = f"corrected by {answer['neighbours']:,} jobs of past queues; {alone}"
    else:
        how = f"from {answer['neighbours']} past jobs submitted in like circumstances; {alone}"
    lines += [
        "",
        f"  8 in 10 such jobs wait {duration(answer['wait_p10_s'])} to {duration(answer['wait_p90_s'])}; {how}.",
        f"  The predicted mean wait is {duration(answer['wait_mean_s'])}, and half of them wait {duration(answer['wait_p50_s'])} at most.",
    ]
    lines.append(f"  Replayed under {answer['replayed']}.")
    if answer["basis"] is not None:
        lines.append(f"  {answer['basis'][0].upper()}{answer['basis'][1:]}.")
    if answer["similar_mean_s"] is not None:
        lines.append(
            "  For comparison, recent jobs of its classes of size and request waited "
            f"{duration(answer['similar_p50_s'])} in the median, {duration(answer['similar_mean_s'])} on average."
        )
    lines += _soonest_lines(answer["soonest"])
    return "\n".join(lines + ([] if answer["job"] is not None else _score_lines(answer)))


def _soonest_lines(requests: list[dict[str, Any]]) -> list[str]:
    """Requests near the one that is asked for, the soonest first. Empty where none was looked for."""
    if not requests:
        return []
    rows = []
    for row in requests:
        where = ", ".join(f"{name} {row[name]}" for name in ("queue", "qos") if row[name])
        size = f"{row['procs']:,} processors, {duration(row['requested_walltime_s'])}" + (f", {where}" if where else "")
        ends = [None if row[f"start_{p}_s"] is None else duration(row[f"start_{p}_s"]) for p in ("p50", "p10", "p90")]
        starts = "never" if ends[0] is None else f"{ends[0]} ({ends[1]} to {ends[2] or 'never'})"
        rows.append((row["request"], size, starts))
    wide = [max(len(row[k]) for row in rows) for k in range(2)]
    none = [] if len(rows) > 1 else ["  No request near it starts earlier."]
    said = [f"  {words:<{wide[0]}}  {size:<{wide[1]}}  {starts}" for words, size, starts in rows]
    return ["", "  In the same replays, which are not corrected by the past, it starts after:", *said, *none]


def _score_lines(answer: dict[str, Any]) -> list[str]:
    """How good such answers were on jobs of the past, beside the rivals. Empty where they are not scored."""
    scores = {row["predictor"]: row for row in answer["scores"]}
    told_by = "replay" if answer["told_by"] == "replay" else "calibrated"
    shown = {told_by: "this answer", "similar_median": "median of similar jobs", "zero": "starts at once"}
    if not scores.keys() >= shown.keys():
        return []
    jobs = scores["zero"]["jobs"]
    lines = [
        "",
        f"  {f'on {jobs:,} jobs of the log':<24}  {'median error':<14}  {'mean error':<14}  in its 80 % interval",
    ]
    for predictor, label in shown.items():
        row = scores[predictor]
        median, mean = (duration(row[f"{kind}_absolute_error_s"]) for kind in ("median", "mean"))
        lines.append(f"  {label:<24}  {median:<14}  {mean:<14}  {row['coverage_80']:.0%}")
    return lines
