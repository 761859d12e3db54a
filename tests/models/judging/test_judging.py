"""Tests of models/judging: intervals, chance, machine, panel."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.judging.chance import CAPS_S, ORDERS_OF_A_CAP, ChanceCloud, RandomOrder, cloud_around, random_orders
from models.judging.intervals import BLOCKS, Blocks, block_edges, cut_into_blocks, started_everywhere
from models.judging.judge import beside_cloud, judge, takes_over
from models.judging.machine import Machine, SizeOverTime, in_use, parse_size_over_time, partitions_of, sizes_in_use
from models.judging.panel import Replayed, paid_by, panel_of, scored_after, wide_jobs
from models.judging.verdict import DOMINATES, LIKE_CHANCE, NO_VERDICT
from simulator.engine.replay import replay
from simulator.jobs.cluster import FOREVER
from simulator.jobs.jobs import Jobs, jobs_from_log
from simulator.jobs.schedule import CANCELLED, Schedule
from simulator.policies.registry import Policy, parse_policy
from tests.models.judging.bursts import PROCS, bursts
from tests.simulator.busy import busy_jobs

# blocks: Blocks hold every job that counts once, in order, and their means are those of a plain loop.


def members(blocks: Blocks) -> list[list[int]]:
    """The jobs of each block, found job by job."""
    edges, parts, place = blocks.edges.tolist(), [[] for _ in range(len(blocks))], 0
    for job, counts in enumerate(blocks.counted.tolist()):
        if counts:
            parts[sum(edge <= place for edge in edges) - 1].append(job)
            place += 1
    return parts


@settings(deadline=None)
@given(st.lists(st.booleans(), min_size=1, max_size=120), st.integers(1, 40))
def test_every_job_that_counts_is_in_one_block_and_sizes_differ_by_one(counted: list[bool], count: int) -> None:
    if not any(counted):
        counted[0] = True
    blocks = cut_into_blocks(np.array(counted), count)
    parts = members(blocks)
    assert [job for part in parts for job in part] == [job for job, counts in enumerate(counted) if counts]
    sizes = [len(part) for part in parts]
    assert sizes == blocks.sizes.tolist() and max(sizes) - min(sizes) <= 1 and min(sizes) >= 1
    assert len(blocks) == min(count, sum(counted))


def test_larger_blocks_are_spread() -> None:
    assert np.diff(block_edges(22, 4)).tolist() == [5, 6, 5, 6]
    assert len(cut_into_blocks(np.ones(1000, dtype=np.bool_))) == BLOCKS == 16


@settings(deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 60), st.integers(1, 16))
def test_means_and_percentiles_are_those_of_a_loop(seed: int, jobs: int, count: int) -> None:
    random = np.random.default_rng(seed)
    counted = random.random(jobs) < 0.7
    counted[random.integers(jobs)] = True
    values, weights = random.lognormal(size=(3, jobs)), random.integers(0, 3, jobs).astype(np.float64)
    values[:, ~counted] = np.nan
    weights[~counted] = np.nan
    blocks = cut_into_blocks(counted, count)
    for b, part in enumerate(members(blocks)):
        for policy, row in enumerate(values[:, part]):
            assert blocks.means(values)[policy, b] == pytest.approx(row.mean())
            area = weights[part]
            expected = (row @ area) / area.sum() if area.sum() else row.mean()
            assert blocks.means(values, weights)[policy, b] == pytest.approx(expected)
            assert blocks.percentiles(values, 99)[policy, b] == pytest.approx(np.percentile(row, 99))
    np.testing.assert_array_equal(blocks.means(values)[1], blocks.means(values[1]))
    np.testing.assert_array_equal(blocks.percentiles(values, 50)[1], blocks.percentiles(values[1], 50))


def test_equal_weights_change_nothing_and_negative_ones_are_refused() -> None:
    values = np.arange(10.0)
    blocks = cut_into_blocks(np.ones(10, dtype=np.bool_), 3)
    np.testing.assert_allclose(blocks.means(values, np.full(10, 0.25)), blocks.means(values))
    with pytest.raises(ValueError, match="negative, got -1"):
        blocks.means(values, np.where(values == 4, -1.0, 1.0))


def test_a_job_cancelled_in_one_replay_counts_for_no_policy() -> None:
    # One processor. The long first job holds it, and the third job gives up at 50 s unless it is served first.
    submit = np.array([0, 1, 2])
    runtime = np.array([10, 100, 5])
    cancel = np.array([10**9, 10**9, 50])
    jobs = Jobs(submit, runtime, np.array([1, 1, 1]), runtime, runtime, cancel=cancel)
    starts = np.array([replay(jobs, 1, policy, "none").start for policy in ("FCFS", "SJF")])
    assert starts[:, 2].tolist() == [CANCELLED, 10]
    counted = started_everywhere(starts)
    assert counted.tolist() == [True, True, False]
    assert started_everywhere(starts[1]).all()
    waits = (starts - submit).astype(np.float64)
    assert cut_into_blocks(counted, 1).means(waits).tolist() == [[4.5], [7.0]]


def test_no_job_is_refused() -> None:
    with pytest.raises(ValueError, match="no job to judge"):
        cut_into_blocks(np.zeros(5, dtype=np.bool_))
    with pytest.raises(ValueError, match="at least 1, got 0"):
        cut_into_blocks(np.ones(5, dtype=np.bool_), 0)


# chance: A lottery that beats the incumbent does not dominate, and a rule that knows something still does.


@pytest.fixture(scope="module")
def incumbent() -> Replayed:
    return bursts()


def under(incumbent: Replayed, policy: str | Policy) -> Replayed:
    return Replayed(incumbent.jobs, PROCS, replay(incumbent.jobs, PROCS, policy, "easy"), incumbent.scored)


@pytest.fixture(scope="module")
def cloud(incumbent: Replayed) -> ChanceCloud:
    return cloud_around(incumbent, lambda order: under(incumbent, order).schedule, random_orders(len(incumbent.jobs)))


def test_a_planted_random_order_never_dominates(incumbent: Replayed, cloud: ChanceCloud) -> None:
    """Orders of other seeds than those of the cloud. Without the cloud most of them would."""
    planted = [RandomOrder(cap_s, seed) for cap_s in CAPS_S for seed in range(1000, 1005)]
    judged = [judge([under(incumbent, order.policy)], [incumbent]) for order in planted]
    assert sum(each.verdict.word == DOMINATES for each in judged) > len(judged) // 2
    beside = [beside_cloud(each, cloud) for each in judged]
    assert {each.verdict.word for each in beside} & {DOMINATES} == set()
    assert any(each.verdict.word == LIKE_CHANCE for each in beside)
    assert not any(takes_over(each, cloud=lambda: cloud) for each in judged)


def test_a_rule_that_knows_the_requests_is_beyond_the_cloud(incumbent: Replayed, cloud: ChanceCloud) -> None:
    """It would dominate, were it not on a log on which most lotteries do."""
    alone = judge([under(incumbent, parse_policy("WFP3"))], [incumbent])
    judgement = beside_cloud(alone, cloud)
    assert (alone.verdict.word, str(judgement.verdict)) == (DOMINATES, NO_VERDICT) and not judgement.verdict.payers
    assert not takes_over(alone, accept_trade=True, cloud=lambda: cloud)
    few = ChanceCloud(cloud.orders[:3], cloud.ratios[:3])
    assert few.carries_verdict and str(beside_cloud(alone, few).verdict) != NO_VERDICT
    assert judgement.verdict.share_as_good == pytest.approx(1 / (1 + len(cloud.ratios)))


def test_a_log_on_which_every_lottery_dominates_carries_no_verdict(cloud: ChanceCloud) -> None:
    assert set(cloud.dominating) == set(CAPS_S)
    assert not cloud.carries_verdict
    mean, low, high = cloud.spread("wait")
    assert low < mean < high < 1.0


def test_the_same_seed_gives_the_same_order_and_large_logs_get_fewer(incumbent: Replayed) -> None:
    order = RandomOrder(3600, 7).policy
    assert order.fixed is not None
    first, again = (order.fixed(incumbent.jobs, PROCS) for _ in range(2))
    assert np.array_equal(first, again) and 0 <= (first - incumbent.jobs.submit).min() < 3600
    assert len(random_orders(1000)) == len(CAPS_S) * ORDERS_OF_A_CAP
    assert len(random_orders(2_000_000)) >= 20


# machine: Machines of a log, and replays on them.

JOBS = jobs_from_log(np.array([0, 0, 0]), np.array([10, 10, 10]), np.array([2, 2, 2]), np.array([10, 10, 10]))


def test_jobs_share_all_processors() -> None:
    assert Machine(4).replay(JOBS, "FCFS", "none").start.tolist() == [0, 0, 10]
    assert Machine(4).cluster.procs == 4 and not len(Machine(4).cluster.outages)


def test_a_size_over_time() -> None:
    grew = Machine(6, SizeOverTime((2, 6), (5,)))
    assert grew.replay(JOBS, "FCFS", "none").start.tolist() == [0, 5, 5]
    assert len(grew.cluster.outages) == 1


def test_queues_that_own_processors() -> None:
    owned = Machine(4, None, (("gpu", 2),))
    assert owned.replay(JOBS, "FCFS", "none", pl.Series(["gpu", "gpu", None])).start.tolist() == [0, 10, 0]
    with pytest.raises(ValueError, match="the queues own 5 processors, the cluster has 4"):
        Machine(4, None, (("gpu", 5),)).replay(JOBS, "FCFS", "none", pl.Series(["gpu"] * 3))


def test_the_partition_of_a_queue() -> None:
    queues = pl.Series(["gpu", None, "long", "debug"])
    assert partitions_of(queues, {"gpu": 4, "debug": 2}).tolist() == [0, 2, 2, 1]
    assert partitions_of(queues, {}).tolist() == [0, 0, 0, 0]
    assert partitions_of(pl.Series([None, None], dtype=pl.Utf8), {"gpu": 4}).tolist() == [1, 1]


# panel: The panel of a replay is what the definitions say, job by job.

PANEL_PROCS = 32


def test_measures_are_those_of_the_scored_jobs_alone() -> None:
    jobs = busy_jobs(400, load=1.2, seed=3)
    schedule = replay(jobs, PANEL_PROCS, "SAF")
    scored = scored_after(400, 150)
    panel = panel_of(jobs, schedule, PANEL_PROCS, scored)
    wait = (schedule.start - jobs.submit)[150:]
    run, procs = jobs.runtime[150:], jobs.procs[150:]
    slowdown = np.maximum(1, (wait + run) / np.maximum(run, 10))
    area = (run * procs).astype(float)
    assert panel.bounded_slowdown == pytest.approx(slowdown.mean())
    assert panel.wait_s == pytest.approx(wait.mean())
    assert panel.p99_wait_s == pytest.approx(np.percentile(wait, 99))
    assert panel.max_wait_s == wait.max()
    assert panel.area_wait_s == pytest.approx((wait * area).sum() / area.sum())
    assert panel.wide_wait_s == pytest.approx(wait[procs > PANEL_PROCS / 4].mean())
    assert 0 < panel.lost_capacity < 1


def test_a_quarter_of_the_cluster_is_not_wide_yet() -> None:
    times = np.array([0, 0, 0])
    jobs = Jobs(times, times + 5, np.array([1, 8, 9]), times + 5, times + 5)
    assert wide_jobs(jobs, PANEL_PROCS).tolist() == [False, False, True]
    narrow = panel_of(jobs, Schedule(times, times > 0), PANEL_PROCS, np.array([True, True, False]))
    assert narrow.wide_wait_s is None


def test_jobs_that_were_cancelled_do_not_count() -> None:
    jobs = busy_jobs(200, load=3.0, seed=5, cancelled_share=0.3)
    schedule = replay(jobs, PANEL_PROCS, "SJF")
    assert not schedule.started.all()
    panel = panel_of(jobs, schedule, PANEL_PROCS, scored_after(200, 0))
    assert panel.wait_s == pytest.approx((schedule.start - jobs.submit)[schedule.started].mean())


def test_nobody_to_score_is_an_error() -> None:
    jobs = busy_jobs(20, load=1.0, seed=1)
    with pytest.raises(ValueError, match="no job to measure"):
        panel_of(jobs, replay(jobs, PANEL_PROCS), PANEL_PROCS, scored_after(20, 20))


# payers: Who pays: counts of jobs, users and classes, by hand.


def test_jobs_users_and_the_worst_class_are_counted() -> None:
    """Two users with enough jobs and one with too few, serial jobs that lose and wide ones that gain."""
    user = np.repeat([0, 1, 2], [60, 60, 5])
    procs = np.repeat([1, 40, 40], [60, 60, 5])
    runtime = np.full(125, 9 * 3600)
    theirs = np.full(125, 10_000)
    ours = np.concatenate([np.full(60, 15_000), np.full(60, 5_000), np.full(5, 50_000)])
    paid = paid_by(np.stack([ours, theirs]), user, procs, runtime, 100)
    assert (paid.later, paid.earlier) == (65 / 125, 60 / 125)
    assert (paid.users, paid.users_worse, paid.users_better) == (2, 1, 1)
    assert (paid.worst_class, paid.worst_jobs) == ("serial, over 8 h", 60)
    assert paid.worst_ratio == pytest.approx(15_060 / 10_060)
    assert "52.0% of the jobs start over an hour later, 48.0% earlier; of 2 users 1 wait longer, 1 less" in str(paid)


def test_a_user_whose_wait_hardly_changes_neither_pays_nor_gains() -> None:
    waits = np.stack([np.full(40, 130), np.full(40, 100)])
    paid = paid_by(waits, np.zeros(40, np.int64), np.ones(40, np.int64), np.full(40, 60), 100)
    assert (paid.users, paid.users_worse, paid.worst_class) == (1, 0, "")


# size_over_time: Sizes of a cluster are read off what was in use.

GREW = SizeOverTime((48, 64), (86_400,))
DAY_S = 86_400


def full(*levels: tuple[int, int], length: int = 1000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Start, end and processors of one job after another: (jobs, processors of each)."""
    procs = np.repeat([procs for _, procs in levels], [jobs for jobs, _ in levels])
    start = length * np.arange(len(procs))
    return start, start + length, procs


def test_within_a_second_jobs_end_then_others_start() -> None:
    """In whatever order they come, and a job of no length uses nothing."""
    start, end, procs = np.array([100, 0, 100, 100]), np.array([200, 100, 150, 100]), np.array([3, 4, 1, 4])
    moments, used = in_use(start, end, procs)
    assert list(zip(moments.tolist(), used.tolist(), strict=True)) == [(0, 4), (100, 4), (150, 3), (200, 0)]


def test_text_there_and_back() -> None:
    twice = SizeOverTime((48, 64, 32), (86_400, 90_000))
    assert GREW.text == "48 until 86400, then 64" and twice.text == "48 until 86400, 64 until 90000, then 32"
    assert [parse_size_over_time(each.text) for each in (GREW, twice)] == [GREW, twice]
    for text in ("", "64", "then 64", "48 until 5, 64", "48 until x, then 64"):
        with pytest.raises(ValueError, match="expected sizes such as"):
            parse_size_over_time(text)


def test_what_is_missing() -> None:
    assert GREW.most == 64 and GREW.missing == [(0, 86_400, 16)]
    twice = SizeOverTime((48, 64, 32), (86_400, 90_000))
    assert twice.missing == [(0, 86_400, 16), (90_000, None, 32)]
    lost = twice.cluster.outages
    assert lost.end.tolist() == [86_400, FOREVER] and lost.procs.tolist() == [16, 32]
    assert lost.announced.tolist() == lost.start.tolist() == [0, 90_000]


@pytest.mark.parametrize(
    ("procs", "ends"), [((64,), ()), ((64, 64), (5,)), ((64, 32), ()), ((1, 2, 3), (9, 5)), ((1, 2), (0,))]
)
def test_numbers_that_do_not_go_together(procs: tuple[int, ...], ends: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="expected"):
        SizeOverTime(procs, ends)


def test_in_use() -> None:
    moments, used = in_use(np.array([0, 5, 5]), np.array([5, 9, 7]), np.array([4, 2, 1]))
    assert moments.tolist() == [0, 5, 7, 9] and used.tolist() == [4, 3, 2, 0]
    assert not len(in_use(*(np.zeros(0, dtype=np.int64),) * 3)[0])


def test_sizes_to_the_second() -> None:
    jobs = full((300, 40), (700, 64))
    assert sizes_in_use(*jobs, 1_000_000) == SizeOverTime((40, 64), (300_000,))
    # the last job on more than 32 processors has started at 299,000
    jobs = full((300, 64), (200, 32), (500, 50))
    assert sizes_in_use(*jobs, 1_000_000) == SizeOverTime((64, 32, 50), (299_001, 500_000))


def test_one_size_is_no_change() -> None:
    assert sizes_in_use(*full((1000, 64)), 1_000_000) is None
    assert sizes_in_use(*full((500, 64), (20, 32), (480, 64)), 1_000_000) is None  # too short
    assert sizes_in_use(*full((500, 64), (500, 63)), 1_000_000) is None  # too little
    assert sizes_in_use(*(np.zeros(0, dtype=np.int64),) * 3, 1_000_000) is None
    assert sizes_in_use(*full((30, 64), length=1), 30) is None
    assert sizes_in_use(*full((500, 64), (500, 32), length=100), 100_000) is None  # half a day each


def test_what_ended_before_the_log_begins_was_in_use_too() -> None:
    """An accounting tool that is asked for some days knows of earlier jobs only those that still ran: these are no smaller cluster."""
    start, end, procs = full((400, 39))
    earlier = np.arange(0, 500_000, 20_000)  # they run until the end
    start = np.concatenate([earlier, 600_000 + start])
    end = np.concatenate([np.full(len(earlier), 1_000_000), 600_000 + end])
    procs = np.concatenate([np.ones(len(earlier), np.int64), procs])
    assert sizes_in_use(start, end, procs, 1_000_000) is None
    first = np.array([0]), np.array([10]), np.array([1])  # a short job at the beginning: the log is whole
    whole = (np.concatenate(pair) for pair in zip(first, (start, end, procs), strict=True))
    assert sizes_in_use(*whole, 1_000_000) is not None


def test_what_comes_later_does_not_count() -> None:
    assert sizes_in_use(*full((500, 64), (500, 32)), 500_000) is None
