"""Tests of assets/replaying/own/slurm: moment, standing."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.common.storage import open_warehouse
from assets.replaying.own.queue_causes import queue_causes
from assets.replaying.own.slurm.moment import (
    ComparedMoment,
    SlurmMoment,
    compared_moment,
    queue_file,
    read_moment,
)
from tests.assets.replaying.own.homes import CLUSTER, SUBMITTED, own_home
from tests.pipelines.command_line import succeed
from tests.shared import shared_file
from tracehouse.cli.commands.queue import queue_text
from tracehouse.queue import QueueAnswer, read_shares_and_priorities, read_snapshot, with_causes
from traces.catalogue.catalogue import load_catalogue
from traces.common.pseudonyms import pseudonym_of
from traces.queues import parse_queue
from traces.slurm.state.priorities import ShareRow

FAIR = (
    CLUSTER.replace("priority/basic", "priority/multifactor").replace(
        'selecttype = "select/cons_tres"',
        'selecttype = "select/cons_tres"\npriorityweightage = 1000\npriorityweightfairshare = 1000\nprioritymaxage = 1000\n'
        "prioritycalcperiod = 5",
    )
    + """
[[accounts]]
name = "physics"
[[members]]
users = ["ann", "bert"]
account = "physics"
"""
)
"""Ann has used the cluster and bert has not, so that he gets the better half of the fair shares."""
NOW = SUBMITTED + 2000
JOBS: list[dict[str, Any]] = [
    {
        "job_id": number, "job_state": ["PENDING"], "state_reason": "Priority", "user_name": user, "partition": "main",
        "account": "physics", "cpus": 8, "tres_req_str": "cpu=8,mem=100M,node=1", "time_limit": 60,
        "submit_time": NOW - 500, "start_time": 0,
    }
    for number, user in ((11, "ann"), (12, "bert"))
]  # fmt: skip
RUNNING = {**JOBS[0], "job_id": 10, "job_state": ["RUNNING"], "start_time": NOW - 600, "nodes": "n1", "cpus": 1}
SSHARE = """\
Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare
root|||0.0|900||1.0|
 physics||1|1.0|900|1.0|1.0|
  physics|ann|1|0.5|900|1.0|1.0|0.5
  physics|bert|1|0.5|0|0.0|0.0|0.7
  physics|carl|odd
"""
SPRIO = """\
JOBID|PARTITION|PRIORITY|AGE|FAIRSHARE|PARTITION|QOS|NICE
11|main|1000|500|500|0|0|0
12|main|1213|500|713|0|0|0
13|main|700|0|0|0|0|0
14|other|700|200|500|0|0|0
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of a moment, of the source `mine` whose ann has run a job."""
    own_home(tmp_path / "home", [(0, 0, 900, 100)], monkeypatch, FAIR)
    now = tmp_path / "now"
    now.mkdir()
    (now / "squeue.json").write_text(json.dumps({"jobs": [RUNNING, *JOBS], "last_update": NOW}))
    (now / "sshare.txt").write_text(SSHARE)
    (now / "priorities").write_text(SPRIO)
    return now


def compared(folder: Path) -> ComparedMoment:
    """Names are pseudonyms in the warehouse, and so they are in what is read."""
    source = load_catalogue().source("mine")
    (snapshot, moment), shares = read_snapshot(source, str(folder)), read_shares_and_priorities(source, str(folder))
    assert shares is not None and moment.second == NOW
    return compared_moment(shares, queue_causes(open_warehouse(), "mine", snapshot, NOW).state)


def test_shares_and_factors_stand_next_to_those_that_are_computed(folder: Path) -> None:
    result = compared(folder)
    assert result.lines == [
        "sshare.txt:6: expected 8 columns, found '  physics|carl|odd'",
        "sshare: from its own usage and the cluster's shares, the factors of 1 of 2 users are computed the same; from the log's jobs, "
        "those of 1 are within 0.05",
        "sprio: of 2 jobs, 1 have the same priority factors as computed; different are fairshare of 1; 1 have a priority that somebody "
        "has set; 1 line is of a job that does not wait in that partition of the queue",
    ]
    assert result.shares is not None and result.factors is not None
    ann, bert = result.shares.to_dicts()
    assert (ann["computed"], ann["log_computed"], bert["computed"], bert["log_computed"]) == (0.5, 0.5, 1.0, 1.0)
    assert 5690 < ann["log_usage"] <= 900 + 8 * 600 and bert["log_usage"] == 0.0
    same, other = result.factors.to_dicts()
    assert (same["computed"], same["computed_age"], same["computed_fairshare"], same["differing"]) == (
        1000,
        500,
        500,
        [],
    )
    assert (other["fairshare"], other["computed_fairshare"], other["differing"]) == (713, 1000, ["fairshare"])


def test_the_answer_has_them_below_the_jobs(folder: Path) -> None:
    source = load_catalogue().source("mine")
    snapshot, _ = read_snapshot(source, str(folder))
    answer = QueueAnswer(pl.DataFrame(schema={"job": pl.Utf8}), [])
    answer = with_causes(answer, "mine", snapshot, NOW, read_shares_and_priorities(source, str(folder)))
    assert read_shares_and_priorities(source, str(folder / "squeue.json")) is None
    text = queue_text(answer, "table", None)
    assert "fair shares of now" in text and "priority factors that differ" in text
    assert "fairshare 713 computed 1,000" in text and "from the log" in text
    shown = json.loads(queue_text(answer, "json", None))
    assert list(shown) == ["moment", "lines", "jobs", "shares", "factors"] and shown["factors"][1]["differing"] == [
        "fairshare"
    ]
    plain = with_causes(QueueAnswer(answer.rows, []), "mine", snapshot, NOW)
    assert list(json.loads(queue_text(plain, "json", None))) == ["moment", "lines", "jobs"]


def test_names_are_replaced_as_those_of_the_log_are() -> None:
    moment = SlurmMoment([ShareRow(1, "physics", "", 1.0, None), ShareRow(2, "physics", "ann", 1.0, 0.5)], None)
    hidden = moment.with_pseudonyms(("user",), b"key").shares
    assert hidden == [moment.shares[0], ShareRow(2, "physics", pseudonym_of(b"key", "user", "ann"), 1.0, 0.5)]  # type: ignore[index]


def test_without_factors_nothing_is_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    own_home(tmp_path / "basic", [(0, 0, 900, 100)], monkeypatch)
    assert compared(folder).lines[-1] == "sshare and sprio are not compared: jobs are in the order of submission"
    nobody = compared_moment(SlurmMoment([], None), None)
    assert nobody.lines == ["sshare and sprio are not compared: no job waits under a Slurm of its own"]


def test_a_folder_has_one_queue(folder: Path) -> None:
    assert queue_file(folder).name == "squeue.json"
    (folder / "squeue.json").rename(folder / "a.json")
    assert queue_file(folder).name == "a.json"
    (folder / "b.json").write_text("{}")
    with pytest.raises(ValueError, match=r"expected one file of the queue, such as squeue.json, found a.json, b.json"):
        queue_file(folder)
    for path in (folder / "sshare.txt", folder / "priorities"):
        path.unlink()
    assert read_moment(folder) is None


def test_a_recorded_run_has_the_shares_and_factors_that_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """83 minutes into a run under Fair Tree: all that follows is by its accounting, its configuration and its queue."""
    run = shared_file("golden", "slurm24", "T1-fair", "run1")
    texts = {path.name.removesuffix(".gz"): gzip.decompress(path.read_bytes()).decode() for path in run.glob("*.gz")}
    begin = json.loads(texts["meta.json"])["T0"]
    block = next(each for each in texts["snapshots.txt"].split("### ") if float(each.split("\n")[0] or 0) > 4980)
    head, _, rest = block.partition("\n## squeue\n")
    (queue, rest), now = rest.split("## sprio\n"), int(begin + float(head))
    priorities, shares = rest.split("## sshare\n")
    states = {words[0]: words for words in (line.split("|") for line in queue.splitlines())}
    rows = list(csv.DictReader(texts["sacct.psv"].splitlines(), delimiter="|"))
    jobs = [_entry(row, states[row["JobID"]]) for row in rows if row["JobID"] in states]
    now_folder, names = (
        tmp_path / "now",
        [name for name in texts if name.endswith((".conf", ".dump", "g.txt", "s.txt"))],
    )
    now_folder.mkdir()
    (now_folder / "squeue.json").write_text(json.dumps({"jobs": jobs, "last_update": now}))
    header = "JOBID|PRIORITY|AGE|FAIRSHARE|JOBSIZE|PARTITION|PARTITION|QOS"
    kept = [[*words[:5], "", *words[5:7]] for words in (line.split("|") for line in priorities.splitlines())]
    (now_folder / "sprio.txt").write_text("\n".join([header, *("|".join(words) for words in kept)]))
    columns = (
        "Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins"
    )
    (now_folder / "sshare.txt").write_text(f"{columns}\n{shares}")
    monkeypatch.setenv("TRACEHOUSE_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("TRACEHOUSE_SOURCES", raising=False)
    over = [row for row in rows if row["End"].isdigit() and int(row["End"]) <= now]
    log = ["|".join(rows[0]), *("|".join(row[name] or "" for name in rows[0]) for row in over)]
    (tmp_path / "log.psv").write_text("\n".join(log) + "\n")
    for name in names:
        (tmp_path / name).write_text(texts[name])
    succeed("ingest", tmp_path / "log.psv", "--name", "mine", "--format", "slurm", "--keep-names", "--time-zone", "UTC")
    succeed("cluster", "import", *(tmp_path / name for name in names), "--name", "two", "--source", "mine")
    snapshot = parse_queue((now_folder / "squeue.json").read_text(), "queue", "UTC")
    moment = read_moment(now_folder)
    assert moment is not None and len(moment.priorities or ()) == 57
    result = compared_moment(moment, queue_causes(open_warehouse(), "mine", snapshot, now).state)
    assert result.factors is not None and result.shares is not None
    assert result.factors.height == 57 and not result.factors["differing"].list.len().sum()
    assert (result.factors["priority"] - result.factors["computed"]).abs().max() <= 20  # they grow by 8 a minute
    assert (
        result.shares.height == 7 and (result.shares["fair_share"] - result.shares["log_computed"]).abs().max() < 1e-5
    )  # type: ignore[operator]


def _entry(row: dict[str, str], state: list[str]) -> dict[str, Any]:
    """A job of squeue. state: its line of the snapshot."""
    return {
        "job_id": int(row["JobIDRaw"]), "job_state": [state[2]], "state_reason": state[4], "user_name": row["User"],
        "account": row["Account"], "partition": row["Partition"], "qos": row["QOS"], "cpus": int(row["ReqCPUS"]),
        "node_count": int(row["NNodes"]), "tres_req_str": row["ReqTRES"], "time_limit": int(row["TimelimitRaw"]),
        "submit_time": int(row["Submit"]), "eligible_time": int(row["Eligible"]) if row["Eligible"].isdigit() else 0,
        "start_time": int(state[7]) if state[2] == "RUNNING" else 0, "nodes": state[9], "priority": int(state[3]),
    }  # fmt: skip
