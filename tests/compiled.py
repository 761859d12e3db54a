"""Compiles the large functions before the first test. Processes that share the tests begin at once: without this, each would compile
everything that it needs for itself, and so would the commands that tests start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from models.allocation.free import free_allocation
from models.allocation.scas import scas_allocation
from models.allocation.window import Window
from models.runtime.live import LiveSettings, replay_live
from papers.rlscheduler.rules import replay_rlscheduler
from papers.rlschert.cluster import Setting, SlotCluster, run_heuristic_on
from papers.rlschert.rules import KILLABLE
from papers.rlschert.view import WHOLE_QUEUE_HEURISTICS, teacher_kills
from papers.rlschert.workload import Workload, draw_sequences
from simulator.agents.batch import Batch, WindowRules, replay_windows
from simulator.agents.trajectories import sample_windows
from simulator.engine.replay import OrderReplayer, replay
from simulator.jobs.cluster import Cluster
from simulator.jobs.jobs import jobs_from_log
from simulator.policies.agents import Agent, parse_inspecting
from simulator.policies.observation import LAYOUTS, blank_network
from simulator.policies.registry import assisted
from simulator.topology.choosing import node_units
from simulator.topology.placement import place_schedule
from simulator.topology.switches import Switches, SwitchReplayer
from simulator.topology.tree import regular_tree
from traces.pbs.scan import scan
from traces.swf.scan import scan_swf
from warehouse import file_lock

_JOBS = jobs_from_log(np.array([0, 1, 2]), np.array([100, 10, 150]), np.array([3, 4, 1]), np.array([100, 10, 150]))
_FIRST = np.array([0, 1])
_NETWORK = blank_network(LAYOUTS["plain"])
_PUBLISHED = WindowRules(rule_set="rlscheduler")
_INSPECTED = assisted("SJF", Agent(inspecting=parse_inspecting("unfit")))
_TREE = regular_tree((2, 2))
_UNITS = node_units(_TREE)
_WINDOW = Window(_TREE, np.arange(4), np.array([2, 1]))
_LOG = pl.DataFrame({
    "user_name": ["a", "b", "a"], "executable": ["x"] * 3, "requested_procs": [3, 4, 1],
    "requested_walltime_s": pl.Series([100, 10, 150], dtype=pl.Int64),
})  # fmt: skip


def _step_slots() -> None:
    """What schedulers see of RLSchert's cluster, and what they do there. Its training starts processes, which would all compile it."""
    sequences, setting = draw_sequences(Workload(jobs=10), 1, 1), Setting()
    for images in (False, True):
        cluster = SlotCluster(sequences, setting, images)
        cluster.begin()
        cluster.future()
        cluster.step(np.zeros(1, dtype=np.int64))
        killing = np.zeros((1, KILLABLE), dtype=np.bool_)
        teacher_kills(sequences, setting.rules(), cluster.state, cluster.over, killing)
    for heuristic in ("SAF", WHOLE_QUEUE_HEURISTICS[0]):
        run_heuristic_on(sequences, setting, heuristic)


CALLS: dict[str, Callable[[], object]] = {
    "the general engine": lambda: replay(_JOBS, 4, "WFP3", "easy"),
    "windows": lambda: replay_windows(_JOBS, 4, _FIRST, 2, "WFP3"),
    "sampled windows": lambda: sample_windows(_JOBS, 4, _FIRST, 2, _NETWORK, 1),
    "episodes": lambda: Batch(_JOBS, 4, 2, 2).reset(_FIRST),
    "live estimates": lambda: replay_live(_JOBS, _LOG, 4, "FCFS", "easy", "requested", LiveSettings()),
    "waits for switches": lambda: SwitchReplayer(OrderReplayer(), _UNITS, Switches(1, 60)).replay(_JOBS, Cluster(4)),
    "logs": lambda: (scan(b""), scan_swf(b"")),
    "windows of RLScheduler": lambda: sample_windows(_JOBS, 4, _FIRST, 2, _NETWORK, 1, rules=_PUBLISHED),
    "inspected windows of RLScheduler": lambda: sample_windows(_JOBS, 4, _FIRST, 2, _INSPECTED, 1, rules=_PUBLISHED),
    "allocation": lambda: (free_allocation(_WINDOW, 1, prove=True), scas_allocation(_WINDOW)),
    "placement": lambda: place_schedule(_JOBS, 4, replay(_JOBS, 4, "FCFS", "easy"), _UNITS),
    "RLScheduler": lambda: replay_rlscheduler(_JOBS, 4, "FCFS", backfill=True),
    "RLSchert": _step_slots,
    "the engine of fixed orders": lambda: replay(_JOBS, 4, "FCFS", "easy"),
}
"""What compiles which functions. Those at the top need the general engine."""


OF_THOROUGH_TESTS = (
    "windows of RLScheduler",
    "inspected windows of RLScheduler",
    "allocation",
    "RLScheduler",
    "RLSchert",
)
"""What no other test needs."""
OVER_A_LAKE = ("the general engine", "windows", "logs", "the engine of fixed orders")
"""What the tests over a lake need. The others would take a minute of a new environment."""


def compile_together(locks: Path, from_the_end: bool, names: Sequence[str] = tuple(CALLS)) -> None:
    """Makes calls, each in one process at a time: who comes second finds its functions compiled. Of two processes, one begins at
    the end, so that they share the work."""
    for name in reversed(names) if from_the_end else names:
        with file_lock(locks / name):
            CALLS[name]()
