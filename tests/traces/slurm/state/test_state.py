"""Tests of traces/slurm/state: priorities, cycles."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.traces.slurm.configuration.slurm_configurations import kinds_of, written
from traces.cluster.notes import TextFile
from traces.slurm.configuration.folder import read_slurm_cluster
from traces.slurm.state.cycles import MEASURED_TEST_US, Cycles, Diagnosis, read_sdiag
from traces.slurm.state.priorities import PriorityRow, ShareRow, read_sprio, read_sshare

# priorities: sshare and sprio, of each version's columns.

SSHARE = """\
Account|User|RawShares|NormShares|RawUsage|NormUsage|EffectvUsage|FairShare|LevelFS|GrpTRESMins|TRESRunMins
root|||0.000000|6026||1.000000||||cpu=6006,mem=10456600
 physics||60|0.594059|3395|0.623932|0.623932||0.952122||cpu=5303
  physics|ann|1|0.250000|3395|0.623932|1.000000|0.142857|0.250000||cpu=5303
  physics|bert|parent|0.250000|0|0.000000|0.000000|0.285714|inf||cpu=0
"""
CLASSIC = """\
Account|User|RawShares|NormShares|RawUsage|EffectvUsage|FairShare|
physics|ann|1|0.250000|3395|1.000000|0.142857|
"""


def test_shares_of_a_tree_and_of_classic_fair_share() -> None:
    rows, faults = read_sshare(TextFile("sshare.txt", SSHARE))
    assert not faults and [row.account for row in rows] == ["root", "physics", "physics", "physics"]
    assert rows[1].fair_share is None and rows[2] == ShareRow(4, "physics", "ann", 3395.0, 0.142857)
    assert read_sshare(TextFile("sshare.txt", CLASSIC)) == ([ShareRow(2, "physics", "ann", 3395.0, 0.142857)], [])


def test_odd_lines_of_shares_are_named_and_the_rest_is_kept() -> None:
    odd = SSHARE + "  physics|carl|1|0.25|lots|0.0|0.0|0.3|inf||\n  physics|dora|1\n"
    rows, faults = read_sshare(TextFile("sshare.txt", odd))
    assert len(rows) == 4
    assert faults == [
        "sshare.txt:6: expected an account and a number as RawUsage, found '  physics|carl|1|0.25|lots|0.0|0.0|0.3|inf||'",
        "sshare.txt:7: expected 11 columns, found '  physics|dora|1'",
    ]
    text = "   Account       User  RawShares  NormShares\n---------- ---------- ---------- -----------\nroot 1\n"
    assert read_sshare(TextFile("s", text))[1] == [
        "s: expected a header with Account, User, RawUsage: print it with `sshare -a -l -P`"
    ]


def flush_right(*rows: str) -> str:
    """Lines whose words have a place of 12 letters each, as `sprio -l` prints them. A word -blank is none."""
    return "".join("".join(f"{word.replace('-blank', ''):>12}" for word in row.split()) + "\n" for row in rows)


OLD = flush_right(
    "JOBID PARTITION USER PRIORITY SITE AGE ASSOC FAIRSHARE JOBSIZE PARTITION QOS NICE TRES",
    "Weights -blank -blank -blank 1 1000 1 1000 500 500 2000 -blank -blank",
    "10 gpu ann 1278 0 7 0 143 35 100 1000 0 -blank",
    "11 cpu ann 1300 0 7 0 143 35 100 1000 -15 cpu=7,mem=8",
)
"""Of 20.02."""
NEW = flush_right(
    "JOBID PARTITION USER ACCOUNT PRIORITY SITE AGE ASSOC FAIRSHARE JOBSIZE PARTITION QOSNAME QOS NICE TRES",
    "10 gpu ann -blank 1278 0 7 0 143 35 100 normal 1000 0 -blank",
    "10 cpu ann physics 1178 0 7 0 143 35 0 normal 1000 0 -blank",
    "12 cpu ann physics 9000 0 0 0 0 0 0 normal 0 0 -blank",
)
"""Of 25.11, with a job without an account, in two partitions."""
COLLECTED = """\
JOBID|PARTITION|PRIORITY|AGE|ASSOC|FAIRSHARE|JOBSIZE|PARTITION|QOS|NICE|TRES
10|gpu|1278|7|0|143|35|100|1000|0|cpu=1000,gres/gpu=10
"""


def test_factors_of_each_version_and_of_the_collector() -> None:
    parts = {"age": 7, "assoc": 0, "fairshare": 143, "jobsize": 35, "partition": 100, "qos": 1000, "nice": 0}
    (first, second), faults = read_sprio(TextFile("sprio.txt", OLD))
    assert not faults and first == PriorityRow(3, "10", "gpu", 1278, parts | {"site": 0, "tres": 0})
    assert (second.factors["tres"], second.factors["nice"]) == (15, -15)
    rows, faults = read_sprio(TextFile("sprio.txt", NEW))
    assert not faults and [(row.job_id, row.partition) for row in rows] == [("10", "gpu"), ("10", "cpu"), ("12", "cpu")]
    assert rows[0].factors == parts | {"site": 0, "tres": 0} and [row.is_by_hand for row in rows] == [
        False,
        False,
        True,
    ]
    # a text of twenty letters may have been cut
    assert read_sprio(TextFile("sprio.txt", COLLECTED)) == ([PriorityRow(2, "10", "gpu", 1278, parts)], [])


def test_odd_lines_of_factors_are_named_and_the_rest_is_kept() -> None:
    rows, faults = read_sprio(TextFile("sprio.txt", COLLECTED + "11|gpu|0.00000029|1|0|0|0|0|0|0|\n12|gpu\n"))
    assert [row.job_id for row in rows] == ["10"]
    assert faults == [
        "sprio.txt:3: expected a job and whole numbers, as `sprio -l` prints them without -n, found "
        "'11|gpu|0.00000029|1|0|0|0|0|0|0|'",
        "sprio.txt:4: expected 11 columns, found '12|gpu'",
    ]


# cycles: sdiag, and what a cluster takes from it.

SDIAG = """\
*******************************************************
sdiag output at Mon Jan 01 02:13:20 2024 (1704075200)
Data since      Mon Jan 01 00:21:09 2024 (1704068480)
*******************************************************
Server thread count:  3
RPC queue enabled:    0

Jobs pending:   9

Main schedule statistics (microseconds):
	Last cycle:   37500
	Max cycle:    833820
	Total cycles: 528
	Mean cycle:   58928
	Mean depth cycle:  22
	Cycles per minute: 4
	Last queue length: 9

Main scheduler exit:
	End of job queue:528

Backfilling stats (WARNING: data obtained in the middle of backfilling execution.)
	Total backfilled jobs (since last slurm start): 37
	Total cycles: 160
	Last cycle when: Mon Jan 01 02:05:28 2024 (1704074728)
	Last cycle: 101580
	Max cycle:  1782900
	Mean cycle: 182000
	Last depth cycle: 9
	Last depth cycle (try sched): 8
	Depth Mean: 14
	Depth Mean (try depth): 13
	Last queue length: 9

Latency for 1000 calls to gettimeofday(): 31440 microseconds
"""


def test_cycles_of_backfill() -> None:
    diagnosis, faults = read_sdiag(TextFile("sdiag.txt", SDIAG))
    cycles = diagnosis.backfill
    assert not faults and (cycles.mean_us, cycles.max_us, cycles.cycles) == (182_000, 1_782_900, 160)
    assert (cycles.mean_depth, cycles.mean_tested, cycles.last_tested) == (14, 13, 8)
    assert diagnosis.lines["mean_us"] == 28
    assert (diagnosis.test_us, diagnosis.between_s) == (14_000, 42.0)
    few, _ = read_sdiag(TextFile("sdiag.txt", SDIAG.replace("Total cycles: 160", "Total cycles: 3")))
    assert few.test_us is None and few.between_s is None
    # 20.02 does not say how many it tried
    old, _ = read_sdiag(TextFile("sdiag.txt", SDIAG.replace("	Depth Mean (try depth): 13\n", "")))
    assert old.test_us == 13_000


def test_odd_lines_of_sdiag_are_named() -> None:
    odd, faults = read_sdiag(TextFile("sdiag.txt", SDIAG.replace("Mean cycle: 182000", "Mean cycle: often")))
    assert faults == ["sdiag.txt:28: expected a whole number as Mean cycle, found 'often'"] and odd.test_us is None
    assert read_sdiag(TextFile("s", "Jobs pending: 3\n"))[1] == [
        "s: expected what `sdiag` prints, found neither its main scheduler nor its backfill"
    ]
    # nothing takes a value of the main scheduler, so that an odd one is no fault
    _, faults = read_sdiag(TextFile("s", SDIAG.replace("Mean cycle:   58928", "Mean cycle:   often")))
    assert not faults
    main_alone = SDIAG.partition("Backfilling stats")[0]
    assert read_sdiag(TextFile("s", main_alone)) == (Diagnosis(1704075200, 1704068480, Cycles(), {}), [])


def test_a_cluster_has_what_its_cycles_take(tmp_path: Path) -> None:
    assert MEASURED_TEST_US not in read_slurm_cluster(written(tmp_path), "").description.scheduler.values
    (tmp_path / "sdiag.txt").write_text(SDIAG)
    (tmp_path / "sprio.txt").write_text(NEW)
    described = read_slurm_cluster(sorted(tmp_path.iterdir()), "")
    assert described.description.scheduler.values[MEASURED_TEST_US] == 14_000
    places = {remark.place: remark.where for remark in described.remarks if remark.file == "sdiag.txt"}
    assert places == {f"scheduler.{MEASURED_TEST_US}": "sdiag.txt:28"}
    (remark,) = (remark for remark in described.remarks if remark.file == "sprio.txt")
    assert remark.kind == "no effect" and "tracehouse queue SOURCE FOLDER --why" in remark.effect


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("Depth Mean (try depth): 13", "Depth Mean (try depth): 700", "bf_max_job_test allows 500 jobs"),
        ("Total cycles: 160", "Total cycles: 672", "a cycle began every 10 s, and bf_interval is 30 s"),
        ("Max cycle:  1782900", "Max cycle:  95000000", "a cycle took 95 s, and bf_max_time is 30 s"),
    ],
)
def test_what_the_settings_do_not_allow_is_named(tmp_path: Path, before: str, after: str, said: str) -> None:
    (tmp_path / "slurm.conf").write_text("ClusterName=c\nNodeName=n[1-2] CPUs=4\nPartitionName=p Nodes=ALL\n")
    (tmp_path / "sdiag.txt").write_text(SDIAG.replace(before, after))
    described = read_slurm_cluster(sorted(tmp_path.iterdir()), "")
    effects = kinds_of(described.remarks, "assumed").values()
    assert [effect for effect in effects if said in effect and "That of the configuration is taken" in effect]
