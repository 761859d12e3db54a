"""Tests of models/allocation: free, compiled, exact, window, window_file."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from compilation import source_hash
from models.allocation import compiled as module
from models.allocation.exact import flow_allocation, improved_starts, relaxed_arcs
from models.allocation.free import COLUMN_GAP, column_bound, counts_of_nodes, free_allocation
from models.allocation.leaves import hops_of_counts, idle_leaves
from models.allocation.scas import ring_costs, scas_allocation
from models.allocation.window import Window, cost_of_hops, sequential_allocation
from models.allocation.window_file import read_window, window_of_json
from simulator.topology.tree import fat_tree, hop_cost, pair_hops
from tests.models.allocation.windows import (
    PAPERS_TREE,
    check_allocation,
    integer_hop_cost,
    small_window,
    window_of_papers_size,
)

# columns: The bound of the column generation against the linear programme over all columns of small windows.


def programme_over_all_columns(window: Window) -> float:
    """Every way to take a job's nodes from the leaves is a column; every leaf is a row."""
    leaves = idle_leaves(window)
    kinds, jobs = np.unique(window.sizes, return_counts=True)
    columns = [
        (kind, counts)
        for counts in product(*(range(idle + 1) for idle in leaves.idle.tolist()))
        for kind, size in enumerate(kinds.tolist())
        if sum(counts) == size
    ]
    nodes = np.array([counts for _, counts in columns])
    hops = np.array([hops_of_counts(leaves.above, leaves.saved, leaves.farthest, counts) for counts in nodes])
    kind = np.array([kind for kind, _ in columns])
    solution = linprog(
        2.0 * hops / kinds[kind],
        A_ub=nodes.T,
        b_ub=leaves.idle,
        A_eq=kind[None, :] == np.arange(len(kinds))[:, None],
        b_eq=jobs,
    )
    return float(solution.fun)


def test_the_bound_is_that_of_all_columns() -> None:
    rng = np.random.default_rng(18)
    for seed in range(100):
        window = small_window(rng)
        if window.integer:
            continue
        leaves = idle_leaves(window)
        counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
        bound = column_bound(window, leaves, counts, seed)
        least = programme_over_all_columns(window)
        assert bound.bound <= least + 1e-6
        assert bound.bound == pytest.approx(least, rel=2 * COLUMN_GAP, abs=1e-6)
        assert (bound.prices >= 0).all() and (bound.counts.sum(axis=1) == window.sizes).all()


def test_the_bound_of_few_rounds_is_lower_and_still_one() -> None:
    rng = np.random.default_rng(19)
    window = window_of_papers_size(rng, 12)
    window = Window(window.tree, window.idle, window.sizes)
    leaves = idle_leaves(window)
    counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
    short, long = (column_bound(window, leaves, counts, 0, rounds) for rounds in (1, 20))
    assert short.rounds == 1 < long.rounds
    assert short.bound <= long.bound <= free_allocation(window, 0).cost + 1e-9


def test_the_bound_of_integer_costs_is_an_integer_below_them() -> None:
    rng = np.random.default_rng(20)
    for seed in range(20):
        window = window_of_papers_size(rng)
        window = Window(window.tree, window.idle, window.sizes, integer=True)
        leaves = idle_leaves(window)
        counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
        bound = column_bound(window, leaves, counts, seed).bound
        assert bound == round(bound) and bound <= free_allocation(window, seed).cost


def test_no_round_begins_behind_the_time_limit() -> None:
    window = window_of_papers_size(np.random.default_rng(19), 12)
    window = Window(window.tree, window.idle, window.sizes)
    leaves = idle_leaves(window)
    counts = counts_of_nodes(window, leaves, sequential_allocation(window).nodes)
    assert column_bound(window, leaves, counts, 0, seconds=0.0).rounds == 1


# exact: HiGHS against the dynamic programme, and what it says when its time is short.


def test_the_flow_and_the_dynamic_programme_agree_on_windows_of_the_papers_size() -> None:
    rng = np.random.default_rng(21)
    for _ in range(300):
        window = window_of_papers_size(rng)
        allocation = flow_allocation(window, 60.0)
        check_allocation(window, allocation)
        assert allocation.proven and allocation.cost == pytest.approx(scas_allocation(window).cost)


def test_they_agree_on_small_windows_where_jobs_lie_across_the_end() -> None:
    rng = np.random.default_rng(22)
    for _ in range(200):
        window = small_window(rng)
        allocation = flow_allocation(window, 60.0)
        check_allocation(window, allocation)
        assert allocation.proven and allocation.cost == pytest.approx(scas_allocation(window).cost)


def test_many_jobs_have_a_proven_optimum() -> None:
    rng = np.random.default_rng(23)
    window = Window(PAPERS_TREE, np.sort(rng.permutation(1000)[:500]), np.sort(rng.integers(1, 41, 20)))
    allocation = flow_allocation(window, 60.0)
    check_allocation(window, allocation)
    assert allocation.proven and allocation.cost < sequential_allocation(window).cost


def test_short_of_time_there_is_an_allocation_and_a_bound() -> None:
    rng = np.random.default_rng(24)
    window = Window(PAPERS_TREE, np.sort(rng.permutation(1000)[:950]), np.sort(rng.integers(1, 41, 40)))
    allocation = flow_allocation(window, 1e-6)
    check_allocation(window, allocation)
    assert allocation.gap is not None and 0.0 < allocation.gap < 0.1 and not allocation.proven
    assert allocation.cost < sequential_allocation(window).cost


def test_no_assignment_with_an_arc_costs_less_than_its_bound() -> None:
    """Arcs that are left out cannot be those of an optimum: the arcs of one have bounds that are not above its cost."""
    rng = np.random.default_rng(25)
    for _ in range(300):
        window = small_window(rng)
        sizes, kind, jobs = np.unique(window.sizes, return_inverse=True, return_counts=True)
        costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)
        least = scas_allocation(window)
        bound, at_least = relaxed_arcs(costs, sizes, jobs, sequential_allocation(window).cost, 50)
        starts = np.searchsorted(window.idle, [nodes[0] for nodes in least.nodes])
        assert bound <= least.cost + 1e-9 and (at_least[kind, starts] <= least.cost + 1e-9).all()


def test_the_search_before_keeps_jobs_apart_and_its_costs_true() -> None:
    rng = np.random.default_rng(26)
    for seed in range(50):
        window = window_of_papers_size(rng, 15)
        sizes, kind = np.unique(window.sizes, return_inverse=True)
        costs = ring_costs(window.tree.switch, window.tree.hops, window.idle, sizes, window.integer)
        ring, starts = improved_starts(costs, sizes, kind, 500, seed)
        assert sorted(ring.tolist()) == sorted(kind.tolist())
        assert (starts[:-1] + sizes[ring[:-1]] <= starts[1:]).all() and starts[-1] + sizes[ring[-1]] <= len(window.idle)
        assert costs[ring, starts].sum() <= sequential_allocation(window).cost + 1e-9


def test_a_limit_that_is_none_is_refused() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([2]))
    with pytest.raises(ValueError, match="more than 0 seconds"):
        flow_allocation(window, 0.0)


def test_a_window_without_jobs() -> None:
    window = Window(PAPERS_TREE, np.arange(3), np.array([], dtype=np.int64))
    assert flow_allocation(window, 1.0).proven


# window: Windows that make no sense are refused, and so are allocations that are none.

TREE = fat_tree(4)
IDLE = np.array([0, 1, 4, 5, 9])


@pytest.mark.parametrize(
    ("idle", "sizes", "message"),
    [
        ([0, 1, 1], [2], "sort them, and remove those named twice"),
        ([3, 2], [2], "ascending"),
        ([-1, 2], [2], "not all in the tree, whose nodes are 0 to 15"),
        ([2, 16], [2], "remove the others, or give a larger tree"),
        ([2, 3], [2, 0], "a job needs at least 1 node, got 0"),
        ([2, 3], [2, 1], "the jobs need 3 nodes, 2 are idle: leave jobs to the next window"),
        ([[2, 3]], [2], "plain lists"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused_with_the_remedy(idle: list, sizes: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Window(TREE, np.array(idle), np.array(sizes))


def test_a_window_may_have_no_jobs_and_no_idle_nodes() -> None:
    window = Window(TREE, np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    allocation = window.allocation([], 0.0, 0.0)
    check_allocation(window, allocation)
    assert allocation.proven and allocation.gap == 0.0


@pytest.mark.parametrize("integer", [False, True])
def test_the_cost_is_the_sum_over_jobs(integer: bool) -> None:
    window = Window(TREE, IDLE, np.array([1, 3]), integer)
    nodes = [np.array([4]), np.array([0, 1, 9])]
    cost = integer_hop_cost if integer else hop_cost
    assert window.cost_of(nodes) == pytest.approx(sum(cost(TREE, job) for job in nodes))
    for job in nodes:
        assert cost_of_hops(pair_hops(TREE, job), len(job), integer) == pytest.approx(cost(TREE, job))


def test_a_bound_gives_a_gap_and_a_proof() -> None:
    window = Window(TREE, IDLE, np.array([2, 2]))
    nodes = [np.array([0, 1]), np.array([5, 9])]  # 2 hops each way in a leaf, 6 across pods
    assert window.allocation(nodes, 0.0).gap is None
    assert window.allocation(nodes, 0.0, 4.0).gap == pytest.approx(0.5)
    proven = window.allocation(nodes, 0.0, 8.0 + 1e-12)
    assert proven.proven and proven.gap == 0.0 and not window.allocation(nodes, 0.0, 7.9).proven


def test_an_allocation_that_is_none_is_refused() -> None:
    window = Window(TREE, IDLE, np.array([2, 2]))
    right = window.allocation([np.array([0, 1]), np.array([4, 5])], 0.0)
    check_allocation(window, right)
    for nodes, message in [
        (([0, 1], [4]), r"jobs of \[2, 2\] nodes were given \[2, 1\]"),
        (([0, 1], [1, 4]), "node 1 has two jobs"),
        (([0, 0], [4, 5]), "node 0 has two jobs"),
        (([0, 1], [4, 6]), "node 6 is not idle"),
    ]:
        with pytest.raises(ValueError, match=message):
            check_allocation(window, replace(right, nodes=tuple(np.array(job) for job in nodes)))
    with pytest.raises(ValueError, match=r"the nodes cost 4\.0, not 3\.0"):
        check_allocation(window, replace(right, cost=3.0))


# window_file: Window files: what is read, and a message with the remedy for each fault.

WINDOW_FILE_TREE = {"nodes_per_leaf": 2, "leaves_per_pod": 3, "pods": 2}
GOOD = {"tree": WINDOW_FILE_TREE, "idle": [0, 1, 5], "jobs": [2, 1]}
TOPOLOGY = "SwitchName=s0 Nodes=n[1-3]\nSwitchName=s1 Nodes=n[4-5]\nSwitchName=top Switches=s[0-1]\n"


def test_a_tree_as_an_object(tmp_path: Path) -> None:
    (tmp_path / "w.json").write_text(json.dumps(GOOD | {"idle": [5, 0, 1.0]}))
    window = read_window(tmp_path / "w.json")
    assert window.idle.tolist() == [0, 1, 5] and window.sizes.tolist() == [2, 1] and not window.integer
    assert window.tree.hops.tolist() == [2, 4, 6]
    assert [window.tree.switches(level) for level in range(3)] == [6, 2, 1] and window.tree.nodes == 12


def test_hops_may_be_given() -> None:
    document = GOOD | {"tree": WINDOW_FILE_TREE | {"hops": [0, 7, 7]}}
    assert window_of_json(json.dumps(document).encode(), "w", Path()).tree.hops.tolist() == [0, 7, 7]


def test_a_tree_as_a_text_and_no_jobs() -> None:
    window = window_of_json(b'\xef\xbb\xbf{"tree": "16x8x4", "idle": [], "jobs": []}', "w", Path())
    assert window.tree.nodes == 512 and len(window.sizes) == 0


def test_a_topology_lies_beside_the_window_and_has_names(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    (tmp_path / "w.json").write_text('{"tree": "topology.conf", "idle": ["n5", "n[1-2]"], "jobs": [3]}')
    window = read_window(tmp_path / "w.json")
    assert [window.tree.name_of(node) for node in window.idle] == ["n1", "n2", "n5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"^w:1:1: not JSON \(Expecting value\): expected a window such as .* Correct it there$"),
        (b'{"tree": "4x2",\n "idle": [0 1]}', r"^w:2:13: not JSON \(Expecting ',' delimiter\)"),
        (b'{"tree": "4x2",\n "idle": [0, \xff]}', r"^w:2: byte 0xff is no UTF-8 text: .* Save it as UTF-8"),
        (b"[" * 100_000, r"^w: brackets within brackets without end"),
        (b'{"jobs": [NaN]}', r"^w: NaN is no number of JSON: expected a whole number"),
        (b'{"jobs": [' + b"9" * 5000 + b"]}", r"^w: .*4300 digits"),
        (b'{"jobs": [1], "jobs": [2]}', r'^w: the key "jobs" comes 2 times: expected it once'),
        (b"[1, 2]", r'^w: the window is \[1, 2\]: expected an object with "tree", "idle", "jobs"'),
    ],
)
def test_what_is_no_window(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        window_of_json(content, "w", Path())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"job": [1]}, r'unknown key "job" of the window: .* Did you mean "jobs"\?'),
        ({"zzz": [1]}, r'unknown key "zzz" of the window: expected "tree", "idle", "jobs"\. Take it out'),
        ({"jobs": [2, 2]}, r'"jobs" need 4 nodes together: expected at most 3, as many as are idle\. Take jobs out'),
        ({"jobs": [1, 13]}, r'"jobs": job 2 needs 13 nodes: expected at most 12, as many as the tree has\. Make it'),
        ({"jobs": [0]}, r'the size of job 1 in "jobs" is 0: expected a whole number from 1 on\. Correct it'),
        ({"jobs": [1, -2]}, r"the size of job 2 .* is -2: expected"),
        ({"jobs": [1.5]}, r"the size of job 1 .* is 1.5: expected"),
        ({"jobs": [True]}, r"the size of job 1 .* is true: expected"),
        ({"jobs": ["2"]}, r'the size of job 1 .* is "2": expected'),
        ({"jobs": [None]}, r"the size of job 1 .* is null: expected"),
        ({"jobs": [10**30]}, r"job 1 needs 1000000000000000000000000000000 nodes: expected at most 12"),
        ({"jobs": [1e999]}, r"Infinity is no number of JSON"),
        ({"jobs": 2}, r'"jobs" is 2: expected a list of sizes'),
        ({"idle": [0, 5, 1, 5]}, r'"idle": node 5 comes twice: expected different nodes\. Take one out'),
        ({"idle": [0, 12]}, r'"idle": node 12 is not in the tree: expected 0 to 11\. Take it out'),
        ({"idle": [-1]}, r'"idle": node -1 is not in the tree: expected 0 to 11'),
        ({"idle": ["n1"]}, r'number 1 of "idle" is "n1": expected a whole number\.'),
        ({"idle": [0, False]}, r'number 2 of "idle" is false: expected'),
        ({"idle": {"0": 1}}, r'"idle" is {"0": 1}: expected a list of numbers of nodes'),
        ({"tree": 7}, r'"tree" is 7: expected a text such as "16x8x4"'),
        ({"tree": "4x0"}, r"every level of a tree needs at least 1 switch or node, got \(4, 0\)"),
        ({"tree": "4x"}, r"cannot read the tree '4x': write nodes per leaf x leaves per pod x pods"),
        ({"tree": "2000x2000"}, r'"tree" has more than 1,000,000 nodes'),
        (
            {"tree": "x.conf"},
            r'"tree" is "x.conf", and there is no such file in .*: expected a text such as "16x8x4", or',
        ),
        ({"tree": "n" * 5000}, r'"tree" is "n{56}\.\.\., and there is no such file'),
        ({"tree": WINDOW_FILE_TREE | {"pods": 0}}, r'"pods" is 0: expected a whole number from 1 on'),
        ({"tree": WINDOW_FILE_TREE | {"pods": 10**20}}, r'"tree" has more than 1,000,000 nodes'),
        ({"tree": WINDOW_FILE_TREE | {"pod": 2}}, r'unknown key "pod" of the tree: .* Did you mean "pods"\?'),
        ({"tree": {"pods": 2}}, r'the tree has no "nodes_per_leaf": expected'),
        (
            {"tree": WINDOW_FILE_TREE | {"hops": [2, 4]}},
            r'"hops" is \[2, 4\]: expected 3 numbers, one a level, such as \[2, 4, 6\]',
        ),
        ({"tree": WINDOW_FILE_TREE | {"hops": 2}}, r'"hops" is 2: expected 3 numbers'),
        (
            {"tree": WINDOW_FILE_TREE | {"hops": [2, 6, 4]}},
            r'"hops" is \[2, 6, 4\]: expected numbers that do not decrease',
        ),
        (
            {"tree": WINDOW_FILE_TREE | {"hops": [2, 4, 5.5]}},
            r'number 3 of "hops" is 5.5: expected a whole number from 0 to',
        ),
        ({"tree": WINDOW_FILE_TREE | {"hops": [-1, 4, 6]}}, r'number 1 of "hops" is -1: expected'),
        ({"tree": WINDOW_FILE_TREE | {"hops": [2, 4, True]}}, r'number 3 of "hops" is true: expected'),
    ],
)
def test_faults(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message) as error:
        window_of_json(json.dumps(GOOD | changes).encode(), "my.json", tmp_path)
    assert str(error.value).startswith("my.json: ")


@pytest.mark.parametrize("key", GOOD)
def test_every_key_is_needed(key: str) -> None:
    document = {name: value for name, value in GOOD.items() if name != key}
    with pytest.raises(ValueError, match=f'^w: the window has no "{key}": expected "tree", "idle", "jobs"'):
        window_of_json(json.dumps(document).encode(), "w", Path())


@pytest.mark.parametrize(
    ("idle", "message"),
    [
        (["n1", "n9"], r'"idle": node "n9" is not in the tree: expected names such as "n\d"\. Correct it'),
        ([1], r'number 1 of "idle" is 1: expected the name of a node in quotation marks, such as "n1"'),
        (["n[1-2]", "n2"], r'"idle": node n2 comes twice'),
        (["n[1-"], r'number 1 of "idle": unclosed bracket'),
        ("n1", r'"idle" is "n1": expected a list of names of nodes'),
    ],
)
def test_faults_of_names(idle: Any, message: str, tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY)
    with pytest.raises(ValueError, match=message):
        window_of_json(json.dumps({"tree": "topology.conf", "idle": idle, "jobs": [1]}).encode(), "w", tmp_path)


def test_a_fault_of_the_topology_has_its_line(tmp_path: Path) -> None:
    (tmp_path / "topology.conf").write_text(TOPOLOGY.replace("Nodes=n[4-5]", "Node=n4"))
    with pytest.raises(ValueError, match=r"^w: .*topology\.conf:2: unknown key Node="):
        window_of_json(b'{"tree": "topology.conf", "idle": [], "jobs": []}', "w", tmp_path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"none\.json: no such file\. Correct the path, or write"):
        read_window(tmp_path / "none.json")
    with pytest.raises(ValueError, match="is a folder"):
        read_window(tmp_path)


# compiled: The solvers' own compiler.


def test_a_change_of_the_simulator_compiles_the_solvers_again() -> None:
    project = Path(module.__file__).parents[2]
    folders = [project / name for name in ("compilation", "models/allocation", "simulator")]
    assert module._COMPILER.source_hash == source_hash(*folders)


def test_functions_compute_what_they_say_compiled_or_not() -> None:
    @module.compiled
    def tripled(x):
        return 3 * x

    assert tripled(14) == tripled.py_func(14) == 42
