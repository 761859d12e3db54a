"""Tests of simulator/topology: switch_graph, switches."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simulator.engine.replay import NeverStarts, OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import Jobs
from simulator.jobs.schedule import Placement, Schedule
from simulator.topology.choosing import Units, node_units
from simulator.topology.placement import place_schedule
from simulator.topology.slurm_tree import CONF_WORDS
from simulator.topology.switch_graph import Faults, SwitchDefinition, switch_definition, tree_of_switches
from simulator.topology.switches import Switches, SwitchReplayer, least_leaves, parse_switches
from simulator.topology.tree import SwitchTree, regular_tree
from tests.shared import size
from tests.simulator.busy import PROCS, busy_jobs
from tests.simulator.oracle_placing import random_placing_case
from tests.simulator.oracle_switches import oracle_switches
from tests.simulator.topology.test_placement import as_lists, units_of_case

# switch_graph: Trees of switches that are defined in any order, against walks in the definitions.

FILE = Path("topology.conf")


def tree_of(*definitions: SwitchDefinition) -> SwitchTree:
    return tree_of_switches(definitions, CONF_WORDS, Faults(FILE))


def leaf(name: str, *nodes: str, line: int = 1) -> SwitchDefinition:
    return SwitchDefinition(name, line, (), nodes)


def switch(name: str, *children: str, line: int = 1) -> SwitchDefinition:
    return SwitchDefinition(name, line, children, ())


def test_nodes_come_as_the_lists_name_them() -> None:
    tree = tree_of(
        leaf("b", "n9", "n2"), switch("top", "pod", "c"), leaf("c", "x"), switch("pod", "b", "a"), leaf("a", "n5")
    )
    assert tree.node_names == ("n9", "n2", "n5", "x")
    assert tree.switch_names == (("b", "a", "c"), ("pod", "c"), ("top",))
    assert tree.switch.tolist() == [[0, 0, 1, 2], [0, 0, 0, 1], [0] * 4]
    assert tree.hops.tolist() == [2, 4, 6]


def test_one_leaf_is_a_tree() -> None:
    assert tree_of(leaf("s", "a", "b")).switch.tolist() == [[0, 0]]


def test_any_depth() -> None:
    depth = 3000
    chain = [switch(f"s{k}", f"s{k + 1}", f"l{k}") for k in range(depth)]
    tree = tree_of(*chain, *(leaf(f"l{k}", f"n{k}") for k in range(depth)), leaf(f"s{depth}", "deepest"))
    assert (tree.levels, tree.nodes) == (depth + 1, depth + 1)
    assert tree.node_names[:2] == ("deepest", f"n{depth - 1}") and tree.node_names[-1] == "n0"


@st.composite
def random_trees(draw: st.DrawFn) -> list[SwitchDefinition]:
    """Switches in any order. A switch gets as children some of those that have no parent yet."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    free = [f"leaf{k}" for k in range(int(rng.integers(1, 12)))]
    definitions = [leaf(name, *(f"{name}-{k}" for k in range(int(rng.integers(1, 4))))) for name in free]
    while len(free) > 1:
        children = list(rng.permutation(free)[: int(rng.integers(1, len(free) + 1))])
        if len(children) == len(free) or len(definitions) < 30:
            free = [name for name in free if name not in children] + [f"switch{len(definitions)}"]
            definitions.append(switch(free[-1], *map(str, children)))
    return [definitions[k] for k in rng.permutation(len(definitions))]


@settings(deadline=None, max_examples=60)
@given(random_trees())
def test_hops_follow_the_height_of_the_lowest_common_switch(definitions: list[SwitchDefinition]) -> None:
    tree = tree_of(*definitions)
    by_name = {definition.name: definition for definition in definitions}
    parent = {child: definition.name for definition in definitions for child in definition.switches}

    def height(name: str) -> int:
        return 1 + max((height(child) for child in by_name[name].switches), default=-1)

    def above(name: str) -> list[str]:
        return [name, *(above(parent[name]) if name in parent else [])]

    leaf_of = {node: definition.name for definition in definitions for node in definition.nodes}
    assert sorted(tree.node_names) == sorted(leaf_of)
    for one in range(tree.nodes):
        for other in range(one):
            path = above(leaf_of[tree.node_names[other]])
            common = next(name for name in above(leaf_of[tree.node_names[one]]) if name in path)
            level = int(np.argmax(tree.switch[:, one] == tree.switch[:, other]))
            assert level == height(common)
            assert tree.switch_names[level][tree.switch[level, one]] == common
    for level in range(tree.levels):
        assert len(tree.switch_names[level]) == tree.switches(level)


@pytest.mark.parametrize(
    ("definitions", "message"),
    [
        (
            [leaf("a", "n1"), leaf("a", "n2", line=4)],
            "topology.conf:4: switch a is defined again: expected one definition. Join it with that of line 1",
        ),
        (
            [switch("top", "a", "b7", "b8"), leaf("a", "n1")],
            "topology.conf:1: Switches= of top names b[7-8], which the file does not define: "
            "expected a definition of each. Add them, or correct the list",
        ),
        (
            [switch("top", "a", "b"), switch("b", "a", line=3), leaf("a", "n1")],
            "topology.conf:3: switch a under b and under top of line 1: expected one switch above each. "
            "Take from one of the two",
        ),
        (
            [switch("top", "a", "b"), leaf("a", "n1", "n2", "n3"), leaf("b", "n3", "n2", "n4", line=9)],
            "topology.conf:9: nodes n[2-3] under b and under a of line 1: expected one switch above each. "
            "Take from one of the two",
        ),
        (
            [leaf("a", "n1", "n2", "n1")],
            "topology.conf:1: Nodes= of a has node n1 twice: expected each name once. Take out the second",
        ),
        (
            [switch("top", "a", "a"), leaf("a", "n1")],
            "topology.conf:1: Switches= of top has switch a twice: expected each name once. Take out the second",
        ),
        (
            [switch("x", "y", line=5), switch("y", "z", line=2), switch("z", "x", line=8), leaf("a", "n1")],
            "topology.conf:2: x > z > y > x is a cycle, each switch below the next: expected a tree. "
            "Take one of them out of Switches= of the next",
        ),
        (
            [switch("x", "x", "a"), leaf("a", "n1")],
            "topology.conf:1: x > x is a cycle, each switch below the next: expected a tree. "
            "Take one of them out of Switches= of the next",
        ),
        (
            [leaf("a1", "n1"), leaf("a2", "n2", line=2), leaf("c", "n3", line=3)],
            "topology.conf:2: 3 switches have none above them, a[1-2],c: expected one top. "
            "Give them a common parent, such as SwitchName=top Switches=a[1-2],c",
        ),
    ],
)
def test_switches_that_are_no_tree(definitions: list[SwitchDefinition], message: str) -> None:
    with pytest.raises(ValueError) as error:
        tree_of(*definitions)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("name", "lists", "message"),
    [
        ("s", {"Nodes=": "n[1"}, "Nodes= of s: unclosed bracket in 'n[1': expected a closing one, as in n[1-3,7]"),
        ("s", {"Switches=": ""}, "Switches= of s: the list is empty: expected a name, or a list such as n[0-9]"),
        ("s[1-2]", {"Nodes=": "n"}, "SwitchName= 's[1-2]' is a list: expected one switch. Define each one by itself"),
        ("s", {}, "switch s has nothing below it: expected Switches= or Nodes=. Add one, or delete the switch"),
        (
            "s",
            {"Switches=": "a", "Nodes=": "n"},
            "switch s has both Switches= and Nodes=: expected one of them. Give its nodes a leaf switch of their own",
        ),
    ],
)
def test_a_definition_with_a_fault(name: str, lists: dict[str, str], message: str) -> None:
    faults = Faults(FILE)
    switch_definition(3, name, lists, CONF_WORDS, faults)
    with pytest.raises(ValueError) as error:
        faults.stop()
    assert str(error.value) == f"topology.conf:3: {message}"


def test_what_was_unreadable_is_not_also_called_a_second_top() -> None:
    faults = Faults(FILE)
    top = switch_definition(1, "top", {"Switches=": "a,b["}, CONF_WORDS, faults)
    with pytest.raises(ValueError, match=r"\Atopology.conf:1: Switches= of top: unclosed bracket in 'a,b\['"):
        tree_of_switches([top, leaf("a", "n1"), leaf("b", "n2")], CONF_WORDS, faults)


def test_all_faults_are_in_one_message() -> None:
    faults = Faults(FILE)
    faults.stop()
    for line in range(25, 0, -1):
        faults.add(line, f"fault {line}")
    with pytest.raises(ValueError) as error:
        faults.stop()
    shown = "\n".join(f"  line {line}: fault {line}" for line in range(1, 21))
    assert str(error.value) == f"topology.conf: 25 faults\n{shown}\n  and 5 more"


def test_hopeless_files_are_not_read_to_their_end() -> None:
    faults = Faults(FILE)
    for line in range(999):
        faults.add(line, "wrong")
    with pytest.raises(ValueError, match="1000 faults or more"):
        faults.add(999, "wrong")
    faults = Faults(FILE)
    switch_definition(1, "a", {"Nodes=": "n[1-600000]"}, CONF_WORDS, faults)
    with pytest.raises(
        ValueError, match=r"topology\.conf:2: more than 1,000,000 names up to here: expected at most that"
    ):
        switch_definition(2, "b", {"Nodes=": "m[1-600000]"}, CONF_WORDS, faults)


# switch_loop: The loop in which jobs wait for few switches, step by step. As a whole: test_switches.

UNITS = node_units(regular_tree((4, 2)))


def jobs_of(*rows: tuple[int, int, int]) -> Jobs:
    """(submit, run time, processors), with exact estimates."""
    submit, runtime, procs = np.array(rows).T
    return Jobs(submit, runtime, procs, runtime, runtime)


def replayed(jobs: Jobs, wait_s: int) -> tuple[Schedule, Placement]:
    """First come, first served under EASY, where jobs wait for one leaf."""
    outcome = SwitchReplayer(OrderReplayer(), UNITS, Switches(1, wait_s)).replay(jobs, Cluster(8))
    assert outcome.placement is not None
    return outcome.schedule, outcome.placement


HALVES = ((0, 50, 2), (0, 5, 2), (0, 20, 2))
"""From 5 on two nodes of each leaf are idle, until 20."""


def test_a_job_waits_for_a_leaf() -> None:
    schedule, placement = replayed(jobs_of(*HALVES, (6, 10, 4)), 100)
    assert schedule.start.tolist() == [0, 0, 0, 20]
    assert placement.units_of(3).tolist() == [4, 5, 6, 7]


def test_the_scheduler_acts_when_the_wait_is_over() -> None:
    schedule, placement = replayed(jobs_of(*HALVES, (6, 10, 4)), 7)
    assert schedule.start.tolist() == [0, 0, 0, 13]
    assert placement.units_of(3).tolist() == [2, 3, 6, 7] and placement.leaves[3] == 2


def test_others_pass_a_job_that_is_put_off_and_are_not_backfilled() -> None:
    schedule, _ = replayed(jobs_of(*HALVES, (6, 10, 4), (7, 3, 2)), 100)
    assert schedule.start.tolist() == [0, 0, 0, 20, 7] and not schedule.backfilled.any()


BOTH_HALVES_FREE_LATE = ((0, 50, 2), (0, 5, 2), (0, 50, 2))


@pytest.mark.parametrize(
    ("rows", "leaves", "wait", "backfill", "start"),
    [
        pytest.param((*HALVES, (6, 10, 4)), 2, 100, "easy", [0, 0, 0, 6], id="two leaves are few enough"),
        # at 50 it fits again, but into no leaf, and at 56 its wait is over
        pytest.param(
            (*HALVES, (6, 10, 4), (7, 90, 2), (7, 90, 2)), 1, 50, "easy", [0, 0, 0, 56, 7, 7], id="no reservation"
        ),
        # it does not fit from 7 to 40, and is put off no longer then
        pytest.param(
            (*BOTH_HALVES_FREE_LATE, (6, 10, 4), (7, 33, 1)), 1, 30, "any", [0, 0, 0, 40, 7], id="from the first time"
        ),
        # the head of 6 can start at 20: what ends by then may go ahead of it
        pytest.param(
            (*HALVES, (6, 10, 4), (6, 10, 6), (6, 14, 2), (6, 15, 2)), 1, 100, "easy", [0, 0, 0, 20, 30, 6, 40],
            id="a head behind it",
        ),
        # the job of 4 is put off, and the one processor that the head of 5 leaves goes to the next
        pytest.param(
            (*HALVES, (6, 10, 5), (6, 14, 4), (6, 30, 1)), 1, 100, "easy", [0, 0, 0, 20, 30, 6], id="behind the head"
        ),
        pytest.param((*HALVES, (6, 10, 4), (6, 10, 2)), 1, 100, "none", [0, 0, 0, 20, 6], id="blocks nobody"),
    ],
)  # fmt: skip
def test_who_is_put_off_takes_and_blocks_nothing(
    rows: tuple[tuple[int, int, int], ...], leaves: int, wait: int, backfill: str, start: list[int]
) -> None:
    replayer = SwitchReplayer(OrderReplayer("FCFS", backfill), UNITS, Switches(leaves, wait))
    assert replayer.replay(jobs_of(*rows), Cluster(8)).schedule.start.tolist() == start


def test_a_job_too_wide_for_so_few_leaves_does_not_wait() -> None:
    schedule, placement = replayed(jobs_of((0, 10, 5)), 100)
    assert schedule.start.tolist() == [0] and placement.leaves.tolist() == [2]


# switches: Replays in which jobs wait for few switches are the oracle's; who waits for nothing starts as in the
# plain replay.

CASES = size(1500, 20_000)
SWITCHES_UNITS = node_units(regular_tree((4, 2, PROCS // 8)))


def replayed_of_switches(
    jobs: Jobs, switches: Switches, *order: str, units: Units = SWITCHES_UNITS, cluster: int | Cluster = PROCS
) -> tuple[Schedule, Placement]:
    """order: policy, backfilling rule and correction, as far as they are not the usual ones."""
    outcome = SwitchReplayer(OrderReplayer(*order), units, switches).replay(jobs, Cluster.of(cluster))
    assert outcome.placement is not None
    return outcome.schedule, outcome.placement


def test_the_oracle_puts_off_the_same() -> None:
    put_off = 0
    for seed in range(CASES):
        case = random_placing_case(Random(10_000 + seed))
        jobs, cluster = case.replayed.as_jobs(), case.replayed.as_cluster()
        rules = case.policy, case.backfill, case.correction
        switches = Switches(case.switches.leaves, case.switches.wait)
        try:
            schedule, placement = replayed_of_switches(
                jobs, switches, *rules, units=units_of_case(case), cluster=cluster
            )
        except NeverStarts:
            continue
        expected = oracle_switches(case.machine, case.replayed, case.switches, *rules)
        if expected.run.ambiguous_order:
            continue
        assert schedule.start.tolist() == expected.run.start, f"case {seed}"
        assert schedule.backfilled.tolist() == expected.run.backfilled, f"case {seed}"
        assert as_lists(placement) == expected.units, f"case {seed}"
        put_off += len(expected.put_off) > 0
    assert put_off > CASES // 5


@pytest.mark.parametrize("policy", ["FCFS", "SAF", "WFP3", "tetris", "fairshare", "formula:wait/procs"])
@pytest.mark.parametrize("backfill", ["none", "any", "easy", "easy-sjbf"])
def test_who_waits_for_nothing_starts_as_in_the_plain_replay(policy: str, backfill: str) -> None:
    jobs = busy_jobs(600, cancelled_share=0.1)
    plain = replay(jobs, PROCS, policy, backfill)
    placed = place_schedule(jobs, PROCS, plain, SWITCHES_UNITS, "tree")
    for switches in (Switches(PROCS, 100_000), Switches(1, 0)):
        schedule, placement = replayed_of_switches(jobs, switches, policy, backfill)
        assert schedule.start.tolist() == plain.start.tolist()
        assert schedule.backfilled.tolist() == plain.backfilled.tolist()
        if policy == "FCFS" and backfill != "easy-sjbf":  # others start jobs of one second in another order
            assert as_lists(placement) == as_lists(placed)
            assert placement.idle.tolist() == placed.idle.tolist()
            assert placement.broken.tolist() == placed.broken.tolist()


def test_waiting_buys_compactness() -> None:
    jobs = busy_jobs(2000)
    rows = [replayed_of_switches(jobs, Switches(1, wait)) for wait in (0, 600, 7200)]
    small = (least_leaves(SWITCHES_UNITS, jobs.procs) == 1) & (jobs.procs > 1)
    shares = [float((placement.leaves[small] == 1).mean()) for _, placement in rows]
    assert shares == sorted(shares) and shares[2] > shares[0] + 0.05


@pytest.mark.parametrize(
    ("text", "expected"),
    [("1@2h", (1, 7200)), (" 2 @ 600s", (2, 600)), ("3@10m", (3, 600)), ("1@1d", (1, 86400)), ("1@5", (1, 5))],
)
def test_switches_in_words(text: str, expected: tuple[int, int]) -> None:
    assert parse_switches(text) == expected


@pytest.mark.parametrize("text", ["", "1", "@1h", "0@1h", "1@", "1@h", "1@1w", "one@1h", "1@-5"])
def test_words_that_are_no_switches(text: str) -> None:
    with pytest.raises(ValueError, match="1@2h"):
        parse_switches(text)


def test_what_cannot_wait_for_switches() -> None:
    jobs = busy_jobs(50)
    with pytest.raises(ValueError, match="leave --switches out"):
        replayed_of_switches(jobs, Switches(1, 600), "FCFS", "conservative")
    with pytest.raises(ValueError, match="unknown policy"):
        replayed_of_switches(jobs, Switches(1, 600), "nonsense")


def test_an_empty_log() -> None:
    schedule, placement = replayed_of_switches(busy_jobs(10).window(0, 0), Switches(1, 600))
    assert len(schedule.start) == len(placement.size) == 0


def test_least_leaves() -> None:
    assert least_leaves(SWITCHES_UNITS, np.array([1, 4, 5, 8, 9, PROCS])).tolist() == [1, 1, 2, 2, 3, PROCS // 4]
