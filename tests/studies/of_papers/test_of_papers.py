"""Tests of studies/of_papers: closed_loop, single_windows, steady_state."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from models.judging.judge import Judgement
from papers.archive import LOGS
from papers.neural_annealing.integer_program import WINDOW_CLUSTERS, windows_of
from papers.neural_annealing.protocol import allocated, live, solving
from simulator.topology.tree import hop_cost, regular_tree
from studies.of_papers import steady_state
from studies.of_papers.closed_loop import (
    CLASSES,
    FREE,
    LOOPS,
    Watched,
    ideal_cost,
    joint_table,
    jointly,
    panel_table,
    reproduction_table,
)
from studies.of_papers.single_windows import (
    BIG_IDLE,
    BIG_JOBS,
    REFERENCE_COSTS,
    WINDOW_METHODS,
    big_windows,
    relative_cost,
)
from studies.publishing.results import stored
from tests.models.allocation.windows import check_allocation

# closed_loop: The closed loop with few jobs.


@pytest.mark.parametrize("name", LOOPS)
def test_ideals_are_those_of_the_reference(name: str) -> None:
    loop = LOOPS[name]
    assert ideal_cost(loop) == pytest.approx(loop.ideal, rel=1e-3)
    assert ideal_cost(loop, 2, 10) < ideal_cost(loop) < ideal_cost(loop, by_node=True)


def test_the_ideal_is_the_cost_of_first_nodes() -> None:
    tree = regular_tree((10, 10, 10))
    costs = [1000 * hop_cost(tree, np.arange(size)) for size in (2, 3)]
    assert ideal_cost(LOOPS["paper's"], 2, 3) == np.mean(costs)
    assert ideal_cost(LOOPS["paper's"], 2, 3, by_node=True) == (2 * costs[0] + 3 * costs[1]) / 5


def test_jobs_and_nodes_together_cost_less_and_do_not_make_jobs_wait() -> None:
    loop = LOOPS["public code's"]
    lived = {FREE: live(loop, solving(loop.tree, "free", None, 300), range(100, 102), 200)}
    watches = {name: Watched(loop.tree, replace(values, tries=60)) for name, values in jointly(loop).items()}
    lived |= {name: live(loop, watched.of_epoch, range(100, 102), 200) for name, watched in watches.items()}
    own = lived["looking ahead"]
    assert own.cost.mean() < lived[FREE].cost.mean() and own.wait.mean() < lived[FREE].wait.mean()
    alone = loop.pair_cost / 2 * np.array(watches["looking ahead"].alone)
    assert len(alone) == len(own.cost) and ideal_cost(loop, 2, 2) < alone.mean() <= own.cost.mean()
    lines = joint_table(loop, lived, watches).splitlines()
    assert (
        len(lines) == 2 + 4 and f"| {own.cost.mean():,.0f} |" in lines[3] and lines[3].startswith("| looking ahead |")
    )


def test_tables_have_all_methods_and_sizes() -> None:
    loop = LOOPS["paper's"]
    lived = {name: live(loop, solving(loop.tree, name, 5, 60), range(1), 60) for name in ("sequential", "free")}
    lines = reproduction_table(loop, lived, lived).splitlines()
    assert len(lines) == 2 + 3 and lines[2].startswith("| sequential |") and "| 84,657 | 1.000 |" in lines[2]
    panel = panel_table(loop, lived).splitlines()
    assert len(panel) == 2 + 3 * (1 + len(CLASSES))
    assert panel[4].startswith("| 2 to 40 | ideal | 65,00")


# single_windows: The order of the methods on the windows of the closed loop.


@pytest.mark.parametrize("name", list(WINDOW_CLUSTERS))
def test_methods_are_ordered_as_in_the_reference(name: str) -> None:
    windows = list(windows_of(WINDOW_CLUSTERS[name], epochs=2, windows=60))
    for seed, window in enumerate(windows[::10]):
        for method in WINDOW_METHODS.values():
            check_allocation(window, allocated(window, method, seed))
    costs = [relative_cost(windows, method) for method in REFERENCE_COSTS]
    assert costs == sorted(costs, reverse=True) and costs[0] < -0.03 and costs[-1] < -0.08


def test_big_windows_have_room_for_all_jobs() -> None:
    for window in big_windows().values():
        assert len(window.sizes) == BIG_JOBS and window.sizes.sum() <= BIG_IDLE <= len(window.idle)


# steady_state: Kept networks judged in one continuous replay.


def test_groups_are_the_trainings_that_were_kept() -> None:
    groups = steady_state.learned_groups()
    assert [group.trained_on for group in groups if group.name == "RLScheduler"] == [
        "Lublin-1", "SDSC-SP2", "HPC2N", "Lublin-2",
    ]  # fmt: skip
    assert all(len(group.rules) == 4 for group in groups if group.name == "RLScheduler")
    names = {group.name for group in groups}
    assert names >= {"DD-PPO", "our PPO", "our population, wait", "without FT"}
    assert names >= {f"RLScheduler, {goal}" for goal in ("utilisation", "slowdown", "wait")}
    assert all(rule.weights is not None for group in groups for rule in group.rules)


def test_every_log_has_its_table_and_no_row_of_a_paper_dominates_where_nothing_can() -> None:
    tables = {
        name.removeprefix("steady_state, "): table
        for name, table in stored().items()
        if name.startswith("steady_state, ")
    }
    assert set(tables) == set(LOGS)
    groups = steady_state.learned_groups()
    for log, table in tables.items():
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.lines[2:]]
        assert rows[0][0].startswith("random orders") and rows[0][6].endswith("dominate")
        judged = {(row[0], row[1]) for row in rows}
        assert judged >= {(group.name, group.trained_on) for group in groups} | {("SAF", ""), ("searched-key", "")}, log
        assert all(row[7].endswith("%") for row in rows[1:])


def test_several_trainings_share_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    class Ratios:
        bounded_slowdown = wait = p99_wait = max_wait = 0.5

    class Verdict:
        def __init__(self, word: str, share: float) -> None:
            self.word, self.share_as_good, self.ratios = word, share, (Ratios(),)

        def __str__(self) -> str:
            return self.word

    class Judged:
        def __init__(self, word: str, share: float) -> None:
            self.verdict = Verdict(word, share)

    both: list[Judgement] = [Judged("harms", 0.5), Judged("harms", 0.25)]  # type: ignore[list-item]
    assert steady_state.cells_of(both) == ["0.50"] * 4 + ["2 harms", "25% to 50%"]
    assert steady_state.cells_of(both[:1])[4:] == ["harms", "50%"]
