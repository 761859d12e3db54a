"""The asset experiments/backfilling: agents that pick what starts past a blocked job, on jobs later than all they learned from."""

import re
from typing import TYPE_CHECKING

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot
from assets.common.plots import INK, RUN_COLOURS, figure, log_axis
from assets.common.trace import Trace, load_trace
from assets.core.jobs import jobs
from assets.predictions.runtime_predictions import runtime_predictions
from models.runtime.estimates import Estimates
from papers.experiment_agents import AgentsConfig, judge_agents, shown_results
from simulator.engine.replay import replay
from simulator.jobs.schedule import Schedule
from simulator.metrics.metrics import metrics_by_class
from simulator.policies.agents import parse_agent
from simulator.policies.registry import assisted
from warehouse import Warehouse

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class BackfillingConfig(AgentsConfig):
    policy: str = Field(default="FCFS", description="The policy beside which agents pick")
    agents: list[str] = Field(
        default=[
            "pick:by=shortest,window=64-63",
            "pick:by=shortest,window=64-63,guard=none",
            "pick:by=shortest,window=127-0,guard=none,must=1",
            "pick:by=shortest,from=all,window=20-0",
            "pick:by=shortest,from=all,window=19-1",
            "pick:by=shortest,from=all,window=10-10",
            "pick:by=shortest,from=all,window=0-20",
        ],
        min_length=1,
        description="What agents pick from, and the rule that they start from. The third is RLBackfilling's protocol, the last four are "
        "Deep Back-Filling's windows",
    )


@asset(
    "experiments.backfilling",
    deps=[jobs, runtime_predictions],
    table="experiments.verdicts",
    kinds={"pytorch", "numba"},
)
def backfilling(
    context: dg.AssetExecutionContext, config: BackfillingConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Agents that pick what is backfilled (Deep Back-Filling, RLBackfilling), the rules with the same view, and the rules with any,
    on the jobs of one continuous replay that are later than everything that was learned from or chosen by."""
    trace = load_trace(warehouse, context.partition_key)
    decisions = [(config.policy, agent) for agent in config.agents]
    verdicts, differences = judge_agents(context, warehouse, trace, config, "backfilling", decisions)
    pictures = {
        "wait_by_tail": plot(wait_by_tail(verdicts)),
        "queue": plot(queue_over_time(trace, config.policy, config.agents)),
        "who_waits": plot(who_waits(trace, config.policy, config.agents)),
    }
    return dg.MaterializeResult(metadata=shown_results(verdicts, differences) | pictures)


SPLIT = re.compile(r"window=(\d+)-(\d+)")
QUEUE_POINTS = 300


def wait_by_tail(verdicts: pl.DataFrame) -> "Figure":
    """verdicts: rows of experiments.verdicts. Mean wait against the slots at the queue's end, a line per rule and window size; dots
    are learned agents (Deep Back-Filling, figure 5)."""
    canvas, (axis,) = figure(height=3.6)
    lines: dict[str, list[tuple[int, float]]] = {}
    for policy, seed, wait in verdicts.select("policy", "seed", "average_wait_s").iter_rows():
        split = SPLIT.search(policy)
        if split is None or "from=all" not in policy:
            continue
        front, back = int(split.group(1)), int(split.group(2))
        learned = seed is not None
        rule = re.sub(r",?window=\d+-\d+", "", policy)
        lines.setdefault(f"{'learned: ' if learned else ''}{rule}, {front + back} slots", []).append(
            (back, wait / 3600)
        )
    for k, (name, points) in enumerate(sorted(lines.items())):
        x, y = zip(*sorted(points), strict=True)
        learned = name.startswith("learned")
        style = {"linestyle": "none", "marker": "x"} if learned else {"marker": "o", "markersize": 3}
        axis.plot(x, y, color=RUN_COLOURS[k % len(RUN_COLOURS)], label=name, **style)
    axis.set_xlabel("slots at the end of the queue", fontsize=9)
    axis.set_ylabel("mean wait, hours", fontsize=9)
    if lines:
        axis.legend(fontsize=7, frameon=False)
    return canvas


def queue_over_time(trace: Trace, policy: str, agents: list[str]) -> "Figure":
    """Jobs that wait over time under EASY and under each agent's rule."""
    canvas, (axis,) = figure(height=3.6)
    jobs = trace.jobs_of(trace.rows, Estimates.parse("requested"))
    begin, end = int(jobs.submit[0]), int(jobs.submit[-1])
    edges = np.linspace(begin, end, QUEUE_POINTS + 1)
    for k, (name, start) in enumerate(_starts(trace, policy, agents).items()):
        waiting = np.searchsorted(np.sort(jobs.submit), edges, "right") - np.searchsorted(
            np.sort(start), edges, "right"
        )
        days = (edges - begin) / 86400
        axis.plot(days, waiting, color=RUN_COLOURS[k % len(RUN_COLOURS)], linewidth=0.9, label=name)
    log_axis(axis.yaxis)
    axis.set_ylim(bottom=1)
    axis.set_xlabel("days since the first submission", fontsize=9)
    axis.set_ylabel("jobs that wait", fontsize=9)
    axis.legend(fontsize=7, frameon=False)
    return canvas


def who_waits(trace: Trace, policy: str, agents: list[str]) -> "Figure":
    """Mean waits by size of the jobs, under EASY and under each agent's rule (Deep Back-Filling, figure 7)."""
    canvas, (axis,) = figure(height=3.6)
    jobs = trace.jobs_of(trace.rows, Estimates.parse("requested"))
    starts = _starts(trace, policy, agents)
    width = 0.8 / max(len(starts), 1)
    sizes: list[str] = []
    for k, (name, start) in enumerate(starts.items()):
        rows = pl.DataFrame(
            metrics_by_class(jobs, Schedule(start, np.zeros(len(start), dtype=np.bool_)), trace.cluster_procs)
        )
        means = rows.group_by("size_class", maintain_order=True).agg(
            wait_h=(pl.col("average_wait_s") * pl.col("jobs")).sum() / pl.col("jobs").sum() / 3600
        )
        sizes = means["size_class"].to_list()
        colour = RUN_COLOURS[k % len(RUN_COLOURS)]
        axis.bar(np.arange(len(sizes)) + k * width, means["wait_h"].to_numpy(), width, color=colour, label=name)
    axis.set_xticks(np.arange(len(sizes)) + 0.4 - width / 2, sizes, fontsize=8, color=INK)
    log_axis(axis.yaxis)
    axis.set_ylabel("mean wait, hours", fontsize=9)
    axis.legend(fontsize=7, frameon=False)
    return canvas


def _starts(trace: Trace, policy: str, agents: list[str]) -> dict[str, np.ndarray]:
    """Start times of the whole trace by name, EASY first."""
    jobs = trace.jobs_of(trace.rows, Estimates.parse("requested"))
    starts = {f"{policy}, easy": replay(jobs, trace.cluster_procs, policy, "easy").start}
    for text in agents:
        starts[text] = replay(jobs, trace.cluster_procs, assisted(policy, parse_agent(text))).start
    return starts
