"""Tests of assets/replaying/running: on_nodes, grade."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from assets.common.trace import Trace, load_trace
from assets.replaying.running.grade import SourceGrade, grade_of, grade_text, held_back_text
from assets.replaying.running.on_nodes import (
    PLACEMENT_METRICS,
    ground_of,
    placed_jobs,
    placement_metrics,
    read_tree,
)
from assets.replaying.running.replayers import check_settings, choose_policy
from assets.replaying.running.run import ReplayRun, replay_run
from assets.replaying.running.settings import NodeSettings, RunSettings
from simulator.jobs.words import PLACES, TOGETHER
from tests.tiny import busy_log, swf_line, warehouse_of
from warehouse import Warehouse, replace_partition

# on_nodes: Replays on nodes: settings that are refused, what is measured, and who ran where.

TREE = "4x2x8"


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("busy"), busy_log(120)), "mine")


def run_on(trace: Trace, settings: dict | None = None, **nodes) -> ReplayRun:
    checked = check_settings(RunSettings(**(settings or {})))
    return replay_run(trace, checked, choose_policy(checked, None, "mine"), NodeSettings(**{"topology": TREE} | nodes))


RULES = tuple(place for place in PLACES if place != TOGETHER)


@pytest.mark.parametrize("place", RULES)
def test_placing_moves_no_start(trace: Trace, place: str) -> None:
    run, plain = (
        run_on(trace, place=place),
        replay_run(trace, RunSettings(), choose_policy(RunSettings(), None, "mine")),
    )
    assert run.schedule.start.tolist() == plain.schedule.start.tolist()
    assert run.metrics() == plain.metrics() and plain.placement_metrics() == {}
    metrics = run.placement_metrics()
    assert tuple(metrics) == PLACEMENT_METRICS and all(np.isfinite(list(metrics.values())))
    assert metrics["average_hop_cost"] >= metrics["average_compact_hop_cost"] > 0
    assert 0 <= metrics["one_leaf_share"] <= metrics["fits_one_leaf_share"] <= 1
    assert metrics["one_leaf_share"] <= metrics["one_pod_share"] and 0 <= metrics["fragmentation"] <= 1


def test_the_semantics_define_every_metric_in_the_order_in_which_it_is_printed() -> None:
    section = (
        (Path(__file__).resolve().parents[4] / "docs" / "reference" / "semantics" / "nodes.md")
        .read_text()
        .split("## Metrics of a placement\n")[1]
    )
    rows = [line.split(" | ") for line in section.split("\n## ")[0].splitlines() if line.startswith("| ")]
    assert tuple(row[0].strip("| ") for row in rows[1:]) == PLACEMENT_METRICS and all(len(row) == 3 for row in rows)


def test_jobs_of_a_queue_that_was_there_count_in_no_metric(trace: Trace) -> None:
    run = run_on(trace, place="contiguous")
    assert run.ground is not None and run.placement is not None
    placed = run.placement
    late = placement_metrics(run.ground.units, placed, run.all_jobs, waiting=60)
    assert late["average_hop_cost"] == pytest.approx(placed.hop_cost[60:].mean())
    assert late["scattered_jobs"] == placed.scattered[60:].sum() < run.placement_metrics()["scattered_jobs"]


def test_better_rules_cost_less(trace: Trace) -> None:
    costs = {place: run_on(trace, place=place).placement_metrics()["average_hop_cost"] for place in RULES}
    assert costs["tree"] < costs["first"] < costs["random"]
    assert run_on(trace, place="random", placing_seed=2).placement_metrics()["average_hop_cost"] != costs["random"]


def test_whole_nodes_and_periods_move_starts(trace: Trace) -> None:
    plain = run_on(trace)
    assert (trace.cluster_procs % 2) == 0
    whole = run_on(trace, nodes="whole", procs_per_node=2)
    assert whole.placement is not None and whole.placement.size.tolist() == (-(-trace.rows["procs"] // 2)).to_list()
    periods = run_on(trace, period=60)
    assert (periods.schedule.start % 60 == 0).all() and periods.schedule.start.tolist() != plain.schedule.start.tolist()
    waits = [run.metrics()["average_wait_s"] for run in (plain, periods)]
    assert waits[1] >= waits[0]


def test_jobs_and_nodes_are_chosen_together(trace: Trace) -> None:
    run, again, patient = (
        run_on(trace, topology="2x2x4", place=TOGETHER, period=600, guard=guard) for guard in (None, None, 1)
    )
    assert run.placement is not None and patient.placement is not None
    assert run.schedule.start.tolist() == again.schedule.start.tolist() != patient.schedule.start.tolist()
    assert (run.schedule.start % 600 == 0).all() and (run.schedule.start >= run.jobs.submit).all()
    assert run.placement.size.tolist() == run.jobs.procs.tolist()
    assert run.schedule.backfilled.any() and run.metrics()["average_wait_s"] > 0
    whole = run_on(trace, topology="2x2x4", place=TOGETHER, period=600, nodes="whole", procs_per_node=2)
    assert whole.placement is not None and whole.placement.size.tolist() == (-(-trace.rows["procs"] // 2)).to_list()


def test_switches_buy_compactness_with_waits(trace: Trace) -> None:
    plain, waiting = run_on(trace), run_on(trace, switches="1@12h")
    assert waiting.placement_metrics()["one_leaf_share"] >= plain.placement_metrics()["one_leaf_share"]
    assert run_on(trace, switches="1@0").schedule.start.tolist() == plain.schedule.start.tolist()


def test_who_ran_where(trace: Trace) -> None:
    run = run_on(trace, procs_per_node=4, topology="2x4x2")
    assert run.ground is not None and run.placement is not None
    table = placed_jobs(run.ground, run.placement)
    assert table.height == len(run.jobs) and table["units"].to_list() == run.jobs.procs.tolist()
    first = table.row(0, named=True)
    assert first["nodes"].startswith("n[0") or first["nodes"] == "n0"
    assert (table["hop_cost"] + 1e-9 >= table["compact_hop_cost"]).all()


def test_hops_weigh_the_levels(trace: Trace) -> None:
    """Twice the hops cost twice as much, and with no hops but between pods a job of one pod costs nothing."""
    plain, double, far = (run_on(trace, hops=hops) for hops in (None, "4,8,12", "0,0,1"))
    assert plain.placement is not None and double.placement is not None and far.placement is not None
    assert (double.placement.hops == 2 * plain.placement.hops).all()
    assert ((far.placement.hops == 0) == (far.placement.pods == 1)).all() and far.placement.pods.max() > 1


def test_a_tree_in_a_file(trace: Trace, tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text(
        "".join(f"SwitchName=s{k} Nodes=c[{4 * k}-{4 * k + 3}]\n" for k in range(16))
        + "SwitchName=top Switches=s[0-15]\n"
    )
    assert read_tree(str(path)).nodes == 64
    run = run_on(trace, topology=str(path))
    assert run.ground is not None and run.placement is not None
    assert placed_jobs(run.ground, run.placement)["nodes"].str.starts_with("c").all()


@pytest.mark.parametrize(
    ("settings", "nodes", "message"),
    [
        ({}, {"topology": "8by4"}, "nodes per leaf x leaves per pod"),
        ({}, {"topology": "2x2"}, "give a tree of"),
        ({}, {"hops": "2,4"}, "hops '2,4': expected 3 whole numbers"),
        ({}, {"place": "best"}, "unknown place 'best'; expected one of first"),
        ({}, {"nodes": "half"}, "unknown nodes 'half'"),
        ({}, {"switches": "1"}, "1@2h"),
        ({}, {"switches": "1@1h", "place": "first"}, "leave --place out"),
        ({}, {"switches": "1@1h", "period": 60}, "leave --switches or --every out"),
        ({}, {"nodes": "whole", "procs_per_node": 7}, "whole number of nodes"),
        ({}, {"place": TOGETHER}, "give --every"),
        ({}, {"guard": 5}, "--guard goes with --place looking-ahead"),
        ({}, {"place": TOGETHER, "period": 60, "guard": 0}, "at least 1 period"),
        ({"policy": "SJF"}, {"place": TOGETHER, "period": 60}, "leave --policy out"),
        ({"backfill": "none"}, {"place": TOGETHER, "period": 60}, "leave --backfill out"),
        ({"reserve_by": "requested"}, {"place": TOGETHER, "period": 60}, "leave --reserve-by out"),
        ({"warm_start": True}, {"place": TOGETHER, "period": 60}, "--every cannot be combined"),
        ({}, {"place": TOGETHER, "period": 60, "switches": "1@1h"}, "leave --switches or --every out"),
        ({}, {"place": TOGETHER, "period": 60, "procs_per_node": 2}, "add --nodes whole"),
        ({}, {"place": TOGETHER, "period": 60, "topology": "64"}, "all nodes are below one switch"),
        ({"warm_start": True}, {"period": 60}, "--every cannot be combined"),
        ({"inspector": "unfit"}, {"switches": "1@1h"}, "--switches cannot be combined"),
        ({"estimates": "live"}, {"switches": "1@1h"}, "--switches cannot be combined"),
        ({"rules": "rlscheduler"}, {}, "--rules standard"),
        ({"backfill": "conservative"}, {"switches": "1@1h"}, "leave --switches out"),
    ],
)
def test_what_is_refused(trace: Trace, settings: dict, nodes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        run_on(trace, settings, **nodes)


def test_a_missing_file_of_a_tree() -> None:
    with pytest.raises((ValueError, OSError), match=r"none\.conf"):
        check_settings(RunSettings(), NodeSettings(topology="none.conf"))


def test_processors_of_a_node_are_those_of_the_source() -> None:
    assert ground_of(NodeSettings(topology="4x4"), 32, 2.0).procs_per_node == 2
    assert ground_of(NodeSettings(topology="4x8"), 32, 1.5).procs_per_node == 1
    assert ground_of(NodeSettings(topology="4x8", procs_per_node=4), 32, 2.0).remarks != []


# grade: The grade of a source in one line.


def warehouse_with(folder: Path, grade: str | None) -> Warehouse:
    warehouse = Warehouse(folder / "w.duckdb")
    columns = {"part": "all", "value": "", "jobs": 9, "logged_wait_s": 7200.0, "replayed_wait_s": 3600.0}
    columns |= {"logged_median_wait_s": 600.0, "replayed_median_wait_s": 600.0, "logged_p95_wait_s": 9000.0}
    columns |= {"replayed_p95_wait_s": 90_000.0, "rank_correlation": 1.0, "distance": 0.0}
    why = None if grade else "hardly anybody waited"
    with warehouse.write() as connection:
        replace_partition(
            connection,
            "replay.fidelity",
            "mine",
            pl.DataFrame(
                [
                    columns | {"grade": grade, "no_grade_because": why},
                    columns
                    | {
                        "part": "size",
                        "value": "serial",
                        "grade": "A",
                        "no_grade_because": None,
                        "replayed_wait_s": 7200.0,
                    },
                ],
            ),
        )
        same = {"backfill": "easy", "procs": 4, "jobs": 5, "factor": 2.0, "semantics": 5}
        fitted = [{"place": k, "policy": name} | same for k, name in ((1, "SAF"), (2, "FCFS"))]
        replace_partition(connection, "replay.configurations", "mine", pl.DataFrame(fitted))
    return warehouse


def test_a_grade_says_what_it_means_and_what_fits_best(tmp_path: Path) -> None:
    said = grade_text(warehouse_with(tmp_path, "C"), "mine")
    assert said is not None and said.startswith(
        "grade C: if users submit at the log's times, predicted changes of the mean wait are within a factor of 2 of"
    )
    assert said.endswith(
        "(mean wait of the graded jobs 2.0 h in the log, 1.0 h in the replay of what fits it best, SAF with backfilling easy); "
        "A for the median and D for the 95th percentile"
    )


def test_a_part_has_its_own_grade_and_says_which_jobs_it_is_about(tmp_path: Path) -> None:
    warehouse = warehouse_with(tmp_path, "C")
    grade = grade_of(warehouse, "mine", ("size", "serial"))
    assert grade is not None and grade.words.startswith("grade A for size serial: ")
    assert grade.letters == {"mean": "A", "median": "A", "p95": "D"}
    assert grade_of(warehouse, "mine", ("queue", "gpu")) is None


def test_a_grade_is_capped_where_jobs_follow_their_users_jobs(tmp_path: Path) -> None:
    """Jobs run for 100 s. Of ten jobs the last two, three or five come 32 minutes after the end of one of the same user."""
    runs, lasts = {}, {5: 1920, 3: 1920, 2: 1921}
    for following in (2, 3, 5):
        lines = [swf_line(n, 0, 0, 100, 1, 200, user=n) for n in range(1, 11 - following)]
        lines += [swf_line(10 + n, 100 + lasts[following], 0, 100, 1, 200, user=n) for n in range(1, following + 1)]
        warehouse = warehouse_of(tmp_path / str(following), "".join(lines))
        graded = {"part": "all", "value": "", "jobs": 9, "grade": "A", "no_grade_because": None}
        graded |= {
            f"{log}_{figure}wait_s": 60.0 for log in ("logged", "replayed") for figure in ("", "median_", "p95_")
        }
        with warehouse.write() as connection:
            rows = pl.DataFrame([graded | {"rank_correlation": 1.0, "distance": 0.0}])
            replace_partition(connection, "replay.fidelity", "mine", rows)
        runs[following] = grade_of(warehouse, "mine")
    assert [grade and grade.reacting.following for grade in runs.values()] == [0.0, 0.3, 0.5]
    letters = ["".join(grade.letters.values()) for grade in runs.values() if grade is not None]
    assert letters == ["AAA", "BDC", "CDC"]
    assert all(grade is not None and grade.resemblance == "A" for grade in runs.values())
    assert runs[5] is not None and runs[5].words.endswith("C for the mean, D for the median, C for the 95th percentile")


def test_without_a_grade_the_reason_is_given(tmp_path: Path) -> None:
    warehouse = warehouse_with(tmp_path, None)
    assert grade_text(warehouse, "mine") == "no grade: hardly anybody waited"
    assert grade_text(warehouse, "other") is None


def test_a_grade_of_the_own_scheduler_is_not_that_of_an_order() -> None:
    own = SourceGrade("A", None, 7200.0, 7200.0, None, None, "pbs", "none", 8)
    assert own.is_of("pbs") and not own.is_of("pbs:SAF") and not own.is_of("FCFS") and not own.is_of("slurm")
    assert own._replace(grade=None).is_of("SAF")  # nobody waited, and that is why there is no grade
    assert own._replace(policy="SAF").is_of("FCFS")  # of an order, on the same row of processors


def test_a_poor_grade_says_where_jobs_waited_beside_idle_processors() -> None:
    said = held_back_text("D", 0.53, 0.11)
    assert said.startswith(
        ". For 53% of the waited time enough processors for the waiting job were idle (11% in the replay)"
    )
    assert held_back_text("D", 0.15, 0.11) == held_back_text("B", 0.53, 0.11) == held_back_text("C", None, None) == ""
    assert "(0% in the replay)" in held_back_text("C", 0.5, None)  # nobody waited in the replay
