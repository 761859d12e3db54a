"""Repairing by hand on the example of Figure 2, and against plain Python on random windows."""

from __future__ import annotations

import numpy as np
import pytest

from models.allocation.neural.repairing import RepairBatch, RepairView, repair_problem
from simulator.topology.hops import hop_cost
from simulator.topology.tree import fat_tree, regular_tree
from tests.models.allocation.neural.slow_repairing import SlowRepair, random_windows
from tests.models.allocation.windows import integer_hop_cost

FIGURE_2 = (np.arange(10), np.array([4, 4]))
"""Nodes 1 to 10 of the 4-ary fat tree are idle, which are 0 to 9 here; two jobs of four nodes."""


def test_job_2_of_figure_2_has_six_starts() -> None:
    tree = fat_tree(4)
    starts = []
    for first in range(6):
        batch = RepairBatch(repair_problem(tree, "paper"), [FIGURE_2], 10)
        assert batch.place(np.array([4])) == 0.0
        seen, choices = batch.look()
        assert choices.tolist() == [6] and (seen[0, :, 6:] == 0).all()
        reward = batch.place(np.array([first]))
        job_1, job_2 = batch.nodes_of(0)
        assert batch.done and job_1.tolist() == [4, 5, 6, 7]
        assert reward[0] == -(hop_cost(tree, job_1) + hop_cost(tree, job_2)) == -batch.costs()[0]
        starts.append((job_2 + 1).tolist())  # as the paper counts
    static = [[1, 2, 3, 4], [1, 2, 9, 10], [1, 2, 3, 10]]
    dynamic = [[2, 3, 4, 9], [3, 4, 9, 10], [1, 4, 9, 10]]
    assert sorted(starts) == sorted(static + dynamic)


def test_states_of_figure_2() -> None:
    leaf, pod = [0, 0, 1, 1, 4, 4], [0, 0, 0, 0, 2, 2]  # of nodes 0 to 3, 8 and 9
    paper = RepairBatch(repair_problem(fat_tree(4), "paper"), [FIGURE_2], 8)
    first_seen, choices = paper.look()
    assert choices.tolist() == [8] and first_seen.shape == (1, 4, 8)
    assert first_seen[0, 0] == pytest.approx(np.array([0, 0, 1, 1, 2, 2, 3, 3]) / 8)
    assert first_seen[0, 2:] == pytest.approx(np.full((2, 8), 0.1))  # 4 / 40, and one other job of 4 nodes
    paper.place(np.array([4]))
    seen, _ = paper.look()
    assert seen[0, 0] == pytest.approx(np.array([*leaf, 0, 0]) / 8)
    assert seen[0, 1] == pytest.approx(np.array([*pod, 0, 0]) / 4)
    assert seen[0, 2] == pytest.approx([0.1] * 6 + [0] * 2) and (seen[0, 3] == 0).all()  # no other job is left
    code = RepairBatch(repair_problem(fat_tree(4), "code", True), [(FIGURE_2[0], np.array([2, 3, 4]))], seen_nodes=12)
    seen, choices = code.look()
    assert choices.tolist() == [10] and seen.shape == (1, 5, 12)
    assert seen[0, 2].tolist() == [1] * 10 + [0] * 2
    assert seen[0, 3, 0] == pytest.approx(2 / 40) and seen[0, 4, 0] == pytest.approx(7 / 40)  # a sum, not a mean


@pytest.mark.parametrize(("view", "integer"), [("paper", False), ("code", True), ("code", False)])
def test_random_windows_agree_with_plain_python(view: RepairView, integer: bool) -> None:
    tree, rng = regular_tree((5, 3, 4), (1, 3, 5)), np.random.default_rng(1)
    windows = random_windows(tree, rng, 40, 9)
    batch = RepairBatch(repair_problem(tree, view, integer), windows, 20)
    slow = [SlowRepair(tree, idle, sizes, view, integer) for idle, sizes in windows]
    to_place = [list(range(len(sizes))) for _, sizes in windows]
    for _ in range(6):
        started = [list(jobs) for jobs in to_place]
        while not batch.done:
            seen, choices = batch.look()
            first = (rng.random(len(windows)) * choices).astype(np.int64)
            rewards = batch.place(first)
            for w, one in enumerate(slow):
                if not to_place[w]:
                    assert choices[w] == 0 and rewards[w] == 0 and (seen[w] == 0).all()
                    continue
                assert choices[w] == min(20, len(one.queue))
                np.testing.assert_allclose(seen[w], one.look(to_place[w], 20), atol=1e-6)
                one.place(to_place[w].pop(0), int(first[w]))
                expected = 0.0 if to_place[w] else -sum(one.cost(job) for job in started[w])
                assert rewards[w] == pytest.approx(expected)
        for w, one in enumerate(slow):
            assert [nodes.tolist() for nodes in batch.nodes_of(w)] == [sorted(nodes) for nodes in one.nodes]
            assert batch.costs()[w] == pytest.approx(sum(one.cost(job) for job in range(len(one.sizes))))
        descending = bool(rng.integers(2))
        batch.destroy(rng, 2, descending)
        for w, one in enumerate(slow):
            to_place[w] = batch.arrays.to_place[w, : batch.arrays.ends[w]].tolist()
            assert 1 <= len(to_place[w]) <= min(2, len(one.sizes))
            assert to_place[w] == sorted(to_place[w], key=lambda job: (-one.sizes[job] if descending else 0, job))
            for job in to_place[w]:
                one.remove(job)


def test_costs_are_those_of_the_topology() -> None:
    tree, rng = regular_tree((5, 3, 4)), np.random.default_rng(2)
    windows = random_windows(tree, rng, 20, 12)
    for integer, cost in ((False, hop_cost), (True, integer_hop_cost)):
        batch = RepairBatch(repair_problem(tree, "paper", integer), windows)
        batch.place_in_sequence()
        for w in range(len(windows)):
            assert batch.costs()[w] == pytest.approx(sum(cost(tree, nodes) for nodes in batch.nodes_of(w)))
            taken = np.concatenate(batch.nodes_of(w))  # the head of Q, in the order of the jobs
            assert taken.tolist() == windows[w][0][: len(taken)].tolist()


def test_all_jobs_may_be_destroyed_and_none_twice() -> None:
    tree, rng = regular_tree((5, 3, 4)), np.random.default_rng(3)
    batch = RepairBatch(repair_problem(tree, "paper"), random_windows(tree, rng, 30, 5))
    batch.place_in_sequence()
    copied = batch.rows(np.array([3, 3, 0]))
    numbers = set()
    for _ in range(20):
        batch.destroy(rng, 3)
        numbers |= set(batch.arrays.ends.tolist())
        with pytest.raises(ValueError, match="only an assignment of all jobs"):
            batch.destroy(rng, 3)
        batch.place_in_sequence()
    assert numbers == {1, 2, 3}
    assert copied.done and copied.costs()[0] == copied.costs()[1]  # it keeps its state
    copied.begin_empty()
    assert copied.costs().sum() == 0 < batch.costs().sum()


def test_what_cannot_be_is_refused() -> None:
    problem = repair_problem(fat_tree(4), "paper")
    with pytest.raises(ValueError, match="do not fit on 3 idle"):
        RepairBatch(problem, [(np.arange(3), np.array([4]))])
    batch = RepairBatch(problem, [FIGURE_2, FIGURE_2])
    for wrong in (10, -1):
        with pytest.raises(ValueError, match="window 1: Q has no entry"):
            batch.place(np.array([0, wrong]))
    assert batch.arrays.placed.tolist() == [0, 0]
    with pytest.raises(ValueError, match="at least two levels"):
        repair_problem(regular_tree((8,)), "paper")
