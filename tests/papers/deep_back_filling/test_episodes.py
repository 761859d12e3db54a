"""Tests of papers/deep_back_filling: episodes, way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import torch

from assets.common.trace import Trace, load_trace
from assets.replaying.running.replayers import check_settings, choose_policy, way_of
from assets.replaying.running.run import ReplayRun, engine_version, replay_run
from assets.replaying.running.settings import Outage, RunSettings
from papers.compiled import RULES_HASH
from papers.deep_back_filling.episodes import WAIT_CAP_S, PlacingBatch, PlacingRules, PlacingSight
from papers.deep_back_filling.networks import play_episodes
from papers.deep_back_filling.placing_file import PlacingAgent, placing_to_bytes
from papers.deep_back_filling.trials import agent_of, new_network
from simulator.engine.replay import replay
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import CANCELLED
from tests.papers.deep_back_filling.small import small_options
from tests.simulator.busy import PROCS, busy_jobs
from tests.tiny import busy_log, warehouse_of

# episodes: Episodes of Deep Back-Filling, step by step beside a slow one that is written from the protocol alone.

WINDOWS = [(4, 0), (3, 1), (2, 3), (0, 5), (40, 20)]
LONGEST_S = 8000
Act = Callable[[PlacingSight], np.ndarray]


class SlowEpisode:
    """One episode in plain Python: the queue is a list, and each event is looked for among all jobs."""

    def __init__(self, jobs: Jobs, first: int, rules: PlacingRules) -> None:
        self.jobs, self.rules, self.first = jobs, rules, first
        self.next, self.now = first, -1
        self.queue: list[int] = []
        self.start: dict[int, int] = {}
        self.most_queue = self.most_wait = 0.0
        self.advance()

    @property
    def over(self) -> bool:
        return len(self.start) >= self.rules.placed

    def running(self) -> list[int]:
        return [job for job, start in self.start.items() if start + self.jobs.runtime[job] > self.now]

    def free(self) -> int:
        return PROCS - int(sum(self.jobs.procs[job] for job in self.running()))

    def advance(self) -> None:
        """Time goes on to the next completion or arrival; one job arrives at a time."""
        last = self.first + self.rules.later
        arrival = [self.jobs.submit[self.next]] if self.next < last else []
        self.now = int(min(arrival + [self.start[job] + self.jobs.runtime[job] for job in self.running()]))
        if self.next < last and self.jobs.submit[self.next] == self.now:
            self.queue.append(self.next)
            self.next += 1
        self.most_queue = max(self.most_queue, len(self.queue))
        self.most_wait = max(self.most_wait, self.wait())

    def wait(self) -> float:
        return float(sum(self.now - self.jobs.submit[job] for job in self.queue))

    def window(self) -> list[int | None]:
        """The job of each slot."""
        front, back = self.rules.front, self.rules.back
        head = self.queue[:front]
        tail = self.queue[len(head) :][::-1][:back]
        return [*head, *[None] * (front - len(head)), *tail, *[None] * (back - len(tail))]

    def fits(self) -> list[bool]:
        return [job is not None and self.jobs.procs[job] <= self.free() for job in self.window()]

    def features(self) -> list[float]:
        cores = [0.0] * self.free()
        for job in self.running():
            end = self.start[job] + self.jobs.estimate[job]
            end = end if end > self.now else self.start[job] + self.jobs.limit[job]
            cores += [(end - self.now) / LONGEST_S] * int(self.jobs.procs[job])
        numbers = sorted(cores)
        for job in self.window():
            if job is None:
                numbers += [0.0, 0.0, 0.0]
            else:
                wait = min((self.now - self.jobs.submit[job]) / WAIT_CAP_S, 1.0)
                numbers += [self.jobs.procs[job] / PROCS, self.jobs.estimate[job] / LONGEST_S, wait]
        return numbers

    def step(self, action: int) -> float:
        """The reward."""
        window, fits = self.window(), self.fits()
        if not (action < len(window) and fits[action]):
            if self.next < self.first + self.rules.later or self.running():
                idle, queue, wait = self.free() / PROCS, len(self.queue), self.wait()
                shares = [idle, queue / (self.most_queue or 1), wait / (self.most_wait or 1)]
                self.advance()
                return -sum(weight * share for weight, share in zip(self.rules.weights, shares, strict=True))
            action = fits.index(True)  # nothing would ever happen: the first that fits is placed
        job = window[action]
        assert job is not None
        self.queue.remove(job)
        self.start[job] = self.now
        return 0.0


def acting_randomly(seed: int, slots: int) -> Act:
    rng = np.random.default_rng(seed)
    return lambda sight: rng.integers(0, slots + 1, len(sight.asking))


def always_forward(slots: int) -> Act:
    return lambda sight: np.full(len(sight.asking), slots)


def first_that_fits(sight: PlacingSight) -> np.ndarray:
    return np.where(sight.fits.any(axis=1), sight.fits.argmax(axis=1), sight.fits.shape[1])


def played(batch: PlacingBatch, first: np.ndarray, act: Act) -> tuple[np.ndarray, int]:
    """Start times, and the steps of the longest episode."""
    sight, steps = batch.reset(first), 0
    while sight.asking.any():
        sight = batch.step(act(sight))
        steps += 1
    return batch.start.copy(), steps


@pytest.mark.parametrize(("front", "back"), WINDOWS)
def test_episodes_are_those_of_the_slow_one(front: int, back: int) -> None:
    jobs = busy_jobs(300, load=1.4)
    weights = (0.2, 0.3, 0.5)
    rules = PlacingRules(front, back, placed=50, later=100, weights=weights, longest_s=LONGEST_S)
    first = np.array([0, 60, 190])
    batch = PlacingBatch(jobs, PROCS, len(first), rules)
    slow = [SlowEpisode(jobs, position, rules) for position in first.tolist()]
    sight = batch.reset(first)
    act = acting_randomly(front, rules.slots)
    for _ in range(1000):
        assert [not one.over for one in slow] == sight.asking.tolist()
        if not sight.asking.any():
            break
        for e in np.flatnonzero(sight.asking):
            assert np.allclose(sight.features[e], slow[e].features(), atol=1e-6)
            assert sight.fits[e].tolist() == slow[e].fits()
        action = act(sight)
        rewards = [0.0 if one.over else one.step(int(a)) for one, a in zip(slow, action, strict=True)]
        sight = batch.step(action)
        assert np.allclose(sight.reward, rewards)
    for e, one in enumerate(slow):
        for k, start in enumerate(batch.start[e]):
            assert start == one.start.get(one.first + k, CANCELLED)


def test_slots_hold_no_job_twice_and_the_end_newest_first() -> None:
    jobs = busy_jobs(400, load=3.0, seed=4)
    jobs = Jobs(jobs.submit, jobs.runtime, jobs.procs, np.arange(400) + 5000, np.arange(400) + 5000)
    front, back = 3, 4
    batch = PlacingBatch(jobs, PROCS, 1, PlacingRules(front, back, 120, 300, longest_s=1))  # an estimate names its job
    head_only = PlacingBatch(jobs, PROCS, 1, PlacingRules(front + back, 0, 120, 300, longest_s=1))
    sight, plain = batch.reset(np.array([20])), head_only.reset(np.array([20]))
    lengths, act = set(), acting_randomly(2, front)  # slots at the front are the same jobs in both
    while sight.asking[0]:
        names, in_order = (one.features[0, PROCS + 1 :: 3].astype(int) for one in (sight, plain))
        seen = names[names > 0]
        lengths.add(len(seen))
        assert len(set(seen.tolist())) == len(seen)
        assert (np.diff(names[:front][names[:front] > 0]) > 0).all()
        assert (np.diff(names[front:][names[front:] > 0]) < 0).all()
        assert np.array_equal(names[:front], in_order[:front])
        if len(seen) < front + back:
            assert set(seen.tolist()) == set(in_order[in_order > 0].tolist())
        if len(seen) <= front:
            assert np.array_equal(names, in_order)
        action = act(sight)
        action[action == front] = front + back
        sight, plain = batch.step(action), head_only.step(action)
    assert lengths == set(range(front + back + 1))


def test_reward_by_hand() -> None:
    """Four processors. Three jobs: at 0 on 3, at 10 on 2 and at 20 on 1; all last 100 s."""
    jobs = Jobs(*(np.array(column) for column in ([0, 10, 20], [100] * 3, [3, 2, 1], [100] * 3, [100] * 3)))
    weights = (0.5, 0.25, 0.125)
    batch = PlacingBatch(jobs, 4, 1, PlacingRules(2, 0, placed=3, later=3, weights=weights))
    forward = 2
    sight = batch.reset(np.array([0]))
    assert np.allclose(sight.features[0], [0, 0, 0, 0, 0.75, 1, 0, 0, 0, 0])
    rewards = []
    for action in (
        0,  # second 0: the first job starts
        forward,  # all but one processor in use, nobody waits and nobody has waited: L is 0, its maximum 1
        0,  # second 10: the job of 2 does not fit. L is 1 of 1, W 0 of 0
        1,  # second 20: the job of 1 fits
        forward,  # no processor idles, L is 1 of 2, W 10 of 10
        forward,  # second 100: 3 of 4 idle, L is 1 of 2, W 90 of 90; at 120 the job of 1 ends
        0,  # second 120
    ):
        assert sight.asking[0]
        sight = batch.step(np.array([action]))
        rewards.append(float(sight.reward[0]))
    assert not sight.asking[0]
    expected = [0, -0.5 / 4, -0.5 / 4 - 0.25, 0, -0.125 - 0.125, -0.375 - 0.125 - 0.125, 0]
    assert rewards == pytest.approx(expected)
    assert batch.start.tolist() == [[0, 120, 20]]


@pytest.mark.parametrize("seed", [1, 2, None])
def test_every_agent_comes_to_the_end(seed: int | None) -> None:
    jobs = busy_jobs(400)
    rules = PlacingRules(2, 2, placed=80, later=200)
    batch = PlacingBatch(jobs, PROCS, 3, rules)
    act = always_forward(4) if seed is None else acting_randomly(seed, 4)
    start, steps = played(batch, np.array([0, 100, 200]), act)
    assert ((start != CANCELLED).sum(axis=1) == 80).all()
    assert steps <= 200 + 3 * 80
    if seed is None:  # it never places a job while anything may still happen, and then one after another
        assert steps == 199 + 2 * 80 - 1
        assert (start[start != CANCELLED] >= np.repeat(jobs.submit[[199, 299, 399]], 80)).all()


def test_the_first_that_fits_gives_the_rules_schedule() -> None:
    jobs = busy_jobs(500)
    first = np.array([0, 77, 250])
    batch = PlacingBatch(jobs, PROCS, len(first), PlacingRules(200, 0, placed=150, later=250))
    start, _ = played(batch, first, first_that_fits)
    for e, position in enumerate(first.tolist()):
        alone = replay(jobs.window(position, 250), PROCS, "FCFS", "pick:by=first,from=all").start
        placed = start[e] != CANCELLED
        assert placed.sum() == 150
        assert np.array_equal(start[e][placed], alone[placed])
        assert alone[~placed].min() >= start[e].max()


def test_later_jobs_change_nothing_before_they_come() -> None:
    jobs = busy_jobs(300)
    other = busy_jobs(300, seed=9)
    kept = 150
    mixed = {}
    for name in ("runtime", "procs", "estimate", "limit"):
        mixed[name] = np.concatenate([getattr(jobs, name)[:kept], getattr(other, name)[kept:]])
    changed = Jobs(np.concatenate([jobs.submit[:kept], jobs.submit[kept:] + 500]), **mixed)
    rules = PlacingRules(3, 3, placed=290, later=300, longest_s=LONGEST_S)
    one, two = (PlacingBatch(trace, PROCS, 1, rules) for trace in (jobs, changed))
    seen, of_changed = one.reset(np.array([0])), two.reset(np.array([0]))
    act, same = acting_randomly(3, 6), 0
    while np.array_equal(seen.features, of_changed.features) and np.array_equal(seen.fits, of_changed.fits):
        assert np.array_equal(seen.reward, of_changed.reward)
        same += 1
        action = act(seen)
        seen, of_changed = one.step(action), two.step(action)
    started = one.start[0, :kept] != CANCELLED
    assert same > 250 and started.sum() > 100
    assert max(one.start.max(), two.start.max()) <= jobs.submit[kept]  # nothing differs before


def test_threads_change_nothing() -> None:
    jobs, first = busy_jobs(400), np.arange(300) % 250
    batches = [PlacingBatch(jobs, PROCS, 300, PlacingRules(2, 1, 20, 100, threads=threads)) for threads in (1, 2)]
    (one, steps), (two, same) = (played(batch, first, acting_randomly(1, 3)) for batch in batches)
    assert steps == same and np.array_equal(one, two)


def test_what_cannot_be_stepped_is_said() -> None:
    jobs = busy_jobs(100)
    with pytest.raises(ValueError, match="at least one slot"):
        PlacingBatch(jobs, PROCS, 1, PlacingRules(0, 0, 10, 50))
    with pytest.raises(ValueError, match="placed must be"):
        PlacingBatch(jobs, PROCS, 1, PlacingRules(1, 0, 60, 50))
    with pytest.raises(ValueError, match="1 to 100 jobs"):
        PlacingBatch(jobs, PROCS, 1, PlacingRules(1, 0, 10, 101))
    batch = PlacingBatch(jobs, PROCS, 2, PlacingRules(3, 0, 10, 50))
    with pytest.raises(ValueError, match="must begin between 0 and 50"):
        batch.reset(np.array([0, 51]))
    with pytest.raises(ValueError, match="one start per episode"):
        batch.reset(np.array([0]))
    batch.reset(np.array([0, 1]))
    assert batch.first.tolist() == [0, 1]
    with pytest.raises(ValueError, match="episode 1: expected a slot below 3"):
        batch.step(np.array([3, 4]))
    with pytest.raises(ValueError, match="one action per episode"):
        batch.step(np.array([3]))


def test_episodes_begin_again_by_themselves() -> None:
    jobs, rules = busy_jobs(300, load=1.4), PlacingRules(4, 2, placed=50, later=100)
    several, alone = PlacingBatch(jobs, PROCS, 3, rules), PlacingBatch(jobs, PROCS, 1, rules)
    several.reset(np.array([0, 60, 190]))
    for _ in range(30):
        several.step(np.zeros(3, dtype=np.int64))
    before = [column.copy() for column in several.step(np.full(3, rules.slots))]
    sight, beside = several.reset(np.array([7, 120, 7]), np.array([False, True, False])), alone.reset(np.array([120]))
    assert several.first.tolist() == [0, 120, 190] and not sight.reward.any()
    for now, old, single in list(zip(sight, before, beside, strict=True))[:3]:
        assert np.array_equal(now[[0, 2]], old[[0, 2]]) and np.array_equal(now[1], single[0])
    while beside.asking[0]:
        action = first_that_fits(beside)
        sight, beside = several.step(np.array([0, action[0], 0])), alone.step(action)
        assert sight.reward[1] == beside.reward[0]
    assert np.array_equal(several.start[1], alone.start[0])


# way: `--backfill FILE` with an agent that decides all starts: its replay is its episode, and what is refused beside
# it.

LOG_PROCS = 16
OPTIONS = small_options(front=3, back=2, longest_s=90_000)


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Trace:
    return load_trace(warehouse_of(tmp_path_factory.mktemp("placing"), busy_log(150)), "mine")


@pytest.fixture
def agent(tmp_path: Path) -> str:
    """The file of an agent that nobody has trained."""
    torch.manual_seed(5)
    path = tmp_path / "agent.json"
    path.write_bytes(placing_to_bytes(agent_of(new_network(LOG_PROCS, OPTIONS), LOG_PROCS, OPTIONS, {})))
    return str(path)


def run_of(trace: Trace, **settings: object) -> ReplayRun:
    checked = check_settings(RunSettings(**settings))  # type: ignore[arg-type]
    return replay_run(trace, checked, choose_policy(checked, None, "mine"))


@pytest.mark.parametrize("estimates", ["requested", "actual"])
@pytest.mark.parametrize(("first", "length"), [(0, 150), (40, 60)])
def test_the_starts_are_those_of_its_episode(trace: Trace, agent: str, first: int, length: int, estimates: str) -> None:
    run = run_of(trace, backfill=agent, window=f"{first}:{length}", estimates=estimates)
    torch.manual_seed(5)
    actor = new_network(LOG_PROCS, OPTIONS).actor
    rules = PlacingRules(3, 2, length, length, longest_s=90_000)
    batch = PlacingBatch(trace.jobs(estimates), LOG_PROCS, 1, rules)
    play_episodes(actor, batch, np.array([first]), None)
    assert np.array_equal(run.schedule.start, batch.start[0])
    assert run.schedule.started.all() and run.policy.agent_sha256 is not None and run.policy.text == "FCFS"
    other = run_of(trace, backfill="pick:by=shortest,from=all,window=3-2", window=f"{first}:{length}")
    assert not np.array_equal(run.schedule.start, other.schedule.start)
    assert run.settings.portable_backfill == "agent.json" and run.metrics()["average_wait_s"] > 0
    assert run.engine == f"{engine_version()}+{RULES_HASH}" and other.engine == engine_version()


def test_what_is_refused_beside_it(trace: Trace, agent: str) -> None:
    for settings, said in (
        ({"policy": "SAF"}, "decides all starts by itself, .*: leave --policy out"),
        ({"inspector": "unfit"}, "leave --inspector out"),
        ({"reserve_by": "requested"}, "leave --reserve-by out"),
        ({"admit_by": "requested"}, "leave --admit-by out"),
        ({"correction": "doubling"}, "leave --correction out"),
        ({"warm_start": True, "window": "50:50"}, "leave --warm-start out"),
        ({"cancelled": True}, "leave --cancelled out"),
        ({"outages": [Outage(start=5, end=50, procs=1)]}, "leave --outages out"),
        ({"estimates": "live"}, "use actual or predicted"),
        ({"procs": 20}, "made for a cluster of 16 processors and a window of the first 3 and the last 2 waiting jobs. This "),
        ({"rules": "rlscheduler"}, "not one of the RLScheduler rules"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            run_of(trace, backfill=agent, **settings)


def test_a_log_without_requests_needs_other_estimates(trace: Trace, agent: str) -> None:
    rows = trace.rows.with_columns(requested_walltime_s=pl.lit(0, dtype=trace.rows["requested_walltime_s"].dtype))
    without = replace(trace, rows=rows)
    with pytest.raises(
        ValueError, match=r"no job of the log has one\. Let it know the run times with --estimates actual"
    ):
        run_of(without, backfill=agent)
    assert run_of(without, backfill=agent, estimates="actual").schedule.started.all()


def test_other_files_and_rules_are_not_its(tmp_path: Path, agent: str) -> None:
    for backfill in ("easy", str(tmp_path / "none.json")):
        assert way_of(RunSettings(backfill=backfill)).replayer is not PlacingAgent
    Path(agent).write_bytes(Path(agent).read_bytes()[:300])
    with pytest.raises(ValueError, match=r"agent.json: not an agent's file, or one that is cut short"):
        choose_policy(RunSettings(backfill=agent), None, "mine")
