"""Tests of simulator/pbs: placing, planning, preempting, queueing, requests, settings."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.pbs.limiting import is_soft_limit
from simulator.pbs.placing import find_nodes
from simulator.pbs.planning import PLANNED_STEP_S
from simulator.pbs.preempting import preempt_youngest
from simulator.pbs.queueing import eligible_time
from simulator.pbs.replaying import PbsReplayer, idle_pbs
from simulator.pbs.requests import PbsJob, Piece, node_amount, site_and_asks
from simulator.pbs.settings import (
    FIVE_YEARS,
    REQUEUED,
    SUSPENDED,
    PbsPhases,
    cycle_settings,
    formula_text,
    preemption_levels,
    queue_depths,
    sort_formula,
    unmodelled_formula,
)
from simulator.pbs.starting import start_pbs_job
from tests.simulator.busy import asking, pbs_site, starts_on
from traces.cluster.accounts import Limit
from traces.cluster.description import ClusterDescription, Node

# placing: Which nodes jobs get.

TWO_KINDS = PbsJob(0, (Piece(2, {"ncpus": 2}), Piece(1, {"ncpus": 1, "ngpus": 1})), 60)


@pytest.mark.parametrize(
    ("job", "nodes"),
    [
        (asking(0, 3, 60, 2), [0, 0, 1]),
        (asking(0, 3, 60, 2, arrangement="scatter"), [0, 1, 2]),
        (asking(0, 2, 60, 2, arrangement="pack"), [0, 0]),
        (asking(0, 3, 60, 2, arrangement="pack"), []),
        (asking(0, 1, 60, 1, mem=2048 * 1024), []),
        (asking(0, 2, 60, 1, ngpus=1), [0, 0]),
        (asking(0, 3, 60, 1, ngpus=1), []),
        (TWO_KINDS, []),
    ],
)
def test_chunks_go_to_the_first_nodes_with_room(job: PbsJob, nodes: list[int]) -> None:
    engine = idle_pbs(pbs_site(), [job], np.array([0]), PbsPhases())
    rows = find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, 0, (0, 60))
    assert engine.scratch.node[:rows].tolist() == nodes


def test_an_exclusive_job_has_its_node_alone() -> None:
    asked = [
        asking(0, 1, 60, 1, sharing="excl"),
        asking(0, 1, 60, 1),
        asking(0, 4, 60, 1, arrangement="scatter", sharing="excl"),
    ]
    engine = idle_pbs(pbs_site(), asked, np.zeros(3, dtype=np.int64), PbsPhases())
    for job, node in ((0, 0), (1, 1)):
        rows = find_nodes(
            engine.site, engine.asks, engine.tops, engine.scratch, engine.load, engine.jobs.ask[job], (0, 60)
        )
        assert rows == 1 and engine.scratch.node[0] == node
        start_pbs_job(engine, job, rows, 0)
    assert (
        find_nodes(engine.site, engine.asks, engine.tops, engine.scratch, engine.load, engine.jobs.ask[2], (0, 60)) == 0
    )


def of_models(*limits: Limit) -> ClusterDescription:
    """Two hosts with two GPUs each, of different models."""
    nodes = tuple(Node(f"g{k}", 8, gpus={"": 2}, features=(f"gpu_model={k}",)) for k in ("a100", "v100"))
    return replace(pbs_site(limits), nodes=nodes)


def gpus(submit_s: int, count: int, model: str = "") -> PbsJob:
    """A job of one chunk, such as `select=1:ngpus=1:gpu_model=a100`."""
    words = (f"gpu_model={model}",) if model else ()
    return PbsJob(submit_s, (Piece(1, {"ncpus": 1, "ngpus": count}, words),), 100, user="ann")


@pytest.mark.parametrize(
    ("asked", "starts"),
    [
        ([gpus(0, 2), gpus(1, 1, "a100")], [0, 50]),
        ([gpus(0, 2, "a100"), gpus(1, 1), gpus(2, 2, "v100")], [0, 1, 51]),
        ([gpus(0, 1), gpus(1, 1, "a100"), gpus(2, 2, "v100")], [0, 1, 2]),
        ([gpus(0, 1, "a100"), gpus(1, 2), gpus(2, 1)], [0, 1, 2]),
    ],
)
def test_a_gpu_of_a_model_is_one_of_its_host(asked: list[PbsJob], starts: list[int]) -> None:
    assert starts_on(of_models(), asked, [50] * len(asked)) == starts


def test_a_gpu_of_a_model_counts_once_in_a_limit() -> None:
    asked = [gpus(0, 1, "a100"), gpus(1, 1), gpus(2, 1, "v100")]
    for bound, last in ((2, 50), (3, 2)):
        limit = Limit("cluster", "", "running", "all", "gpu", bound)
        assert starts_on(of_models(limit), asked, [50] * 3) == [0, 1, last]


def test_free_processors_on_other_nodes_do_not_help() -> None:
    """Half of each node is free, which is eight processors, but no whole node."""
    asked = [asking(0, 4, 60, 2, arrangement="scatter"), asking(1, 1, 60, 4)]
    assert starts_on(pbs_site(), asked, [50, 10]) == [0, 50]


# planning: Plans for top jobs.


@pytest.mark.parametrize(("walltime", "start"), [(98, 2), (99, 40)])
def test_a_job_that_ends_when_the_top_job_begins_may_start(walltime: int, start: int) -> None:
    """The wide job is planned for second 100."""
    asked = [asking(0, 2, 100), asking(1, 4, 60), asking(2, 1, walltime)]
    assert starts_on(pbs_site(), asked, [30, 10, 10]) == ([0, 30, 2] if start == 2 else [0, 30, 40])


def test_ends_of_one_minute_count_as_one() -> None:
    """The top job could begin at second 70, but is planned for 110, the last end before the minute is over. So 105 s fit in front."""
    asked = [asking(0, 3, 70), asking(0, 1, 110), asking(1, 3, 60), asking(71, 1, 30, user="bob")]
    assert PLANNED_STEP_S == 60
    assert starts_on(pbs_site(), [*asked[:3]], [70, 110, 10]) == [0, 0, 70]


def test_a_depth_of_two_holds_two_plans() -> None:
    asked = [asking(0, 3, 100), asking(1, 4, 50), asking(2, 4, 50), asking(3, 1, 120)]
    assert starts_on(pbs_site(backfill_depth=1), asked, [100, 10, 10, 10])[3] == 120
    assert starts_on(pbs_site(backfill_depth=2), asked, [100, 10, 10, 10])[3] == 120
    assert starts_on(pbs_site(strict_ordering=False), asked, [100, 10, 10, 10])[3] == 3


def test_a_job_without_walltime_is_expected_in_five_years() -> None:
    """X3 of the recorded runs."""
    asked = [asking(0, 2, None), asking(1, 4, 60), asking(2, 1, 86400), asking(3, 1, None)]
    assert starts_on(pbs_site(), asked, [50, 10, 10, 10]) == [0, 50, 2, 60]


def test_a_job_that_can_never_run_takes_no_place() -> None:
    asked = [asking(0, 3, 100), asking(1, 5, 60), asking(2, 4, 60), asking(3, 1, 600)]
    assert starts_on(pbs_site(), asked, [100, 10, 10, 10]) == [0, -1, 100, 110]


def test_a_soft_walltime_is_what_pbs_plans_by() -> None:
    asked = [asking(0, 3, 1000, soft_walltime_s=100), asking(1, 4, 60), asking(2, 1, 98), asking(3, 1, 99)]
    assert starts_on(pbs_site(), asked, [100, 10, 10, 10]) == [0, 100, 2, 110]


def test_a_job_that_outlives_its_soft_walltime_is_planned_to_its_walltime() -> None:
    """The fourth core is kept for the second job until it is known that the first one lasts."""
    asked = [asking(0, 3, 1000, soft_walltime_s=100), asking(1, 4, 60), asking(2, 1, 300)]
    assert starts_on(pbs_site(), asked, [950, 10, 300]) == [0, 950, 602], "600 s later PBS looks again"


# preempting: Jobs of express queues take the nodes of others.

ASKED = [asking(0, 2, 100), asking(1, 1, 100), asking(2, 1, 100), asking(10, 2, 20, queue="express"), asking(11, 4, 50)]


@pytest.mark.parametrize(("order", "last"), [("SCR", 62), ("CR", 62), ("R", 70)])
def test_the_youngest_jobs_give_way_and_go_on(order: str, last: int) -> None:
    """The two jobs of one node ran 9 and 8 s. Suspended, they have the rest behind the express job, and requeued, all of it."""
    assert starts_on(pbs_site(preempt_order=order), ASKED, [40, 40, 40, 20, 10]) == [0, 1, 2, 10, last]


def test_preempted_jobs_are_counted() -> None:
    submit = np.array([job.submit_s for job in ASKED])
    ran = np.array([40, 40, 40, 20, 10])
    limit = np.array([job.time_s for job in ASKED])
    outcome = PbsReplayer(pbs_site(), ASKED).replay(
        Jobs(submit, ran, np.ones(5, dtype=np.int64), limit, limit), Cluster(16)
    )
    assert outcome.counts == {"never started": 0, "preempted": 2} and preempt_youngest is not None


def test_jobs_that_gave_way_may_be_deleted() -> None:
    """What waits for one of them goes on, and nothing of them comes back."""
    asked = [asking(0, 4, 100), asking(10, 4, 20, queue="express"), asking(11, 4, 50, dependencies=(("afterany", 0),))]
    submit, ran, limit = np.array([0, 10, 11]), np.array([40, 20, 10]), np.array([100, 20, 50])
    outcome = PbsReplayer(pbs_site(preempt_order="D"), asked).replay(
        Jobs(submit, ran, np.ones(3, int), limit, limit), Cluster(16)
    )
    assert outcome.schedule.start.tolist() == [0, 10, 30]
    assert outcome.counts == {"never started": 0, "deleted for others": 1}


SOFT = Limit("cluster", "", "running", "user", "cpu", 4, is_soft=True)


@pytest.mark.parametrize(
    ("preempt_prio", "starts"),
    [
        ("express_queue, normal_jobs", [0, 1, 100, 90]),
        ("express_queue, normal_jobs, server_softlimits", [0, 1, 101, 10]),
        ("express_queue, normal_jobs, queue_softlimits", [0, 1, 100, 90]),
    ],
)
def test_who_is_over_a_soft_limit_gives_way(preempt_prio: str, starts: list[int]) -> None:
    """Ann holds all nodes, more than what makes her jobs give way. Bob's job takes those of the younger one for ten seconds, by which that
    one ends later, and ann's further job starts. Else it starts where the first nodes are free."""
    asked = [asking(0, 2, 90), asking(1, 2, 90), asking(9, 4, 50), asking(10, 1, 20, user="bob")]
    assert is_soft_limit(SOFT)
    assert (
        starts_on(pbs_site((SOFT,), preempt_prio=preempt_prio, strict_ordering=False), asked, [90, 90, 10, 10])
        == starts
    )


def test_a_level_may_ask_for_two_reasons() -> None:
    site = pbs_site(preempt_prio='"express_queue, express_queue+server_softlimits, queue_softlimits"')
    assert preemption_levels(site.scheduler) == (1, 3, 4, 0) and cycle_settings(site.scheduler).lowest == 4


def test_preempted_jobs_come_before_queues_in_the_order_of_their_preemption() -> None:
    """The high queue's job was there first, and waits until the two that gave way have gone on."""
    asked = [asking(0, 4, 100), asking(1, 4, 50, queue="high"), asking(5, 4, 20, queue="express")]
    assert starts_on(pbs_site(by_queue=True), asked, [40, 10, 20]) == [0, 60, 5]


# queueing: The order of the queue.

WAITING = [asking(0, 4, 60), asking(1, 4, 50), asking(2, 4, 20, queue="high"), asking(3, 4, 30, priority=7)]


@pytest.mark.parametrize(
    ("settings", "starts"),
    [
        ({}, [0, 10, 20, 30]),
        ({"by_queue": True}, [0, 20, 10, 30]),
        ({"job_sort_key": '"walltime LOW"'}, [0, 30, 10, 20]),
        ({"job_sort_key": '"job_priority HIGH"'}, [0, 20, 30, 10]),
        ({"job_sort_formula": "queue_priority - walltime"}, [0, 30, 10, 20]),
        ({"job_sort_formula": "eligible_time"}, [0, 10, 20, 30]),
    ],
)
def test_orders(settings: dict[str, str | bool], starts: list[int]) -> None:
    assert starts_on(pbs_site(**settings), WAITING, [10, 10, 10, 10]) == starts


def test_eligible_time_has_what_was_kept_and_what_runs() -> None:
    engine = idle_pbs(pbs_site(), [asking(0, 1, 60)], np.array([0]), PbsPhases())
    engine.waiting.eligible[0], engine.waiting.since[0] = 5, 10
    assert eligible_time(engine.waiting, 0, 30) == 25


# requests: Requests as arrays.

ORDER = np.arange(4)


def test_jobs_that_ask_for_the_same_are_one_ask() -> None:
    asked = [asking(0, 2, 60), asking(5, 2, 90), asking(9, 2, 60, sharing="excl")]
    site, asks, ask = site_and_asks(pbs_site(), asked, ORDER)
    assert ask.tolist() == [0, 0, 1] and asks.total.tolist() == [[8], [8]] and asks.chunks.tolist() == [2, 2]
    assert site.amounts.tolist() == [[4]] * 4


def test_words_and_hosts_narrow_the_nodes() -> None:
    asked = [PbsJob(0, (Piece(1, {"ncpus": 1}, ("vnode=n2",)), Piece(1, {"ncpus": 1}, ("fast=true",))))]
    site, asks, _ = site_and_asks(pbs_site(), asked, ORDER)
    assert site.usable[asks.mask].tolist() == [[False, False, True, False], [False] * 4]


def test_a_job_without_walltime_plans_for_five_years() -> None:
    assert asking(0, 1, None).time_s == FIVE_YEARS
    assert node_amount(pbs_site().nodes[0], "ngpus") == 2


def test_an_unknown_reservation_is_an_error() -> None:
    with pytest.raises(ValueError, match="R9"):
        site_and_asks(pbs_site(), [asking(0, 1, 60, reservation="R9")], ORDER)


# settings: Settings of PBS.


def test_defaults_are_those_of_pbs() -> None:
    settings = cycle_settings(pbs_site(by_queue=True, strict_ordering=False).scheduler)
    assert settings.strict == 0 and settings.by_queue == 1 and settings.depth == 1 and settings.iteration == 600
    assert settings.preempt_way == SUSPENDED and settings.decay_time == 86400 and settings.express_priority == 150


def test_settings_are_read_as_the_files_write_them() -> None:
    site = pbs_site(fairshare_decay_time="00:01:00", preempt_order="R", fair_share="True", backfill_depth=3)
    settings = cycle_settings(site.scheduler)
    assert (
        settings.decay_time == 60
        and settings.preempt_way == REQUEUED
        and settings.fair_share == 1
        and settings.depth == 3
    )
    assert queue_depths(site) == (-1, -1, -1)


@pytest.mark.parametrize(
    ("text", "is_modelled"),
    [
        ("eligible_time - min(walltime*sqrt(ncpus), 720)", True),
        ("queue_priority + 2*job_priority", True),
        ("fairshare_perc", False),
    ],
)
def test_formulas_are_replayed_or_named(text: str, is_modelled: bool) -> None:
    scheduler = pbs_site(job_sort_formula=f'"{text}"').scheduler
    assert formula_text(scheduler) == text
    assert (unmodelled_formula(scheduler) == "") == is_modelled
    if is_modelled:
        assert sort_formula(scheduler) is not None
