"""The asset experiments/held_out: policies on windows later than everything that was learned from."""

import dagster as dg
import numpy as np
from pydantic import Field

from assets.common.describe import table, table_metadata
from assets.common.partitions import OWNERS, SOURCES
from assets.common.trace import load_trace
from assets.experiments.config import LearningConfig
from assets.experiments.tables import Contest, Entry, comparisons, costs_of, trained_entries, write_results
from assets.ingest.core_jobs import jobs
from assets.policies.training import Task, split_of
from assets.predictions.runtime_predictions import runtime_predictions
from models.scheduling.goals import parse_goal
from models.scheduling.hindsight import search_orders
from models.scheduling.priority_key import search_key
from warehouse import Warehouse


class HeldOutConfig(LearningConfig):
    goal: str = Field(default="bsld", description="What is made small")
    backfill: str = Field(default="easy", description="Backfilling rule")
    windows: int = Field(default=200, ge=4, description="Windows that judge")
    window_jobs: int = Field(default=1024, ge=32, description="Jobs in each")
    training_window_jobs: int = Field(default=512, ge=32, description="Jobs in a window of training")


@dg.asset(
    key=["experiments", "held_out"],
    deps=[jobs, runtime_predictions],
    partitions_def=SOURCES,
    group_name="experiments",
    owners=OWNERS,
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.comparisons"),
)
def held_out(
    context: dg.AssetExecutionContext, config: HeldOutConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Heuristics, the tuned key, three ways of learning and a search that sees the future, on windows later than everything
    that was learned from or chosen by; textbook rules."""

    source = context.partition_key
    trace = load_trace(warehouse, source)
    split = split_of(trace, config.training_window_jobs, config.windows, config.window_jobs)
    goal = parse_goal(config.goal)
    contests = {
        estimates: Contest.of(
            trace, Task(config.goal, config.backfill, estimates, window_jobs=config.training_window_jobs), split
        )
        for estimates in ("requested", "predicted")
    }
    entries = [
        Entry(name, "requested", None, None, contests["requested"].arena.costs(name, split.judge))
        for name in ("FCFS", "SJF", "F1", "SAF")
    ]
    entries.append(Entry("SAF", "predicted", None, None, contests["predicted"].arena.costs("SAF", split.judge)))
    few = split.learn.thinned(config.key.windows)
    for estimates, contest in contests.items():
        for seed in config.seeds:
            key = search_key(contest.arena, few, config.key, seed).best
            entries.append(Entry("key", estimates, source, seed, contest.arena.costs(key.policy, split.judge)))
    # learned policies believe what was nearer to the truth before anything is judged
    wrong = {
        name: np.abs(contest.arena.jobs.estimate - contest.arena.jobs.runtime)[: split.trained_jobs].mean()
        for name, contest in contests.items()
    }
    chosen = min(wrong, key=wrong.__getitem__)
    context.log.info(f"learned policies replay with {chosen} run times")
    learned, cards = trained_entries(
        context, trace, contests[chosen], "held_out", [config.recipe(method) for method in config.methods], config.seeds
    )
    entries += learned
    arena = contests[chosen].arena
    area = arena.jobs.estimate.astype(np.float64) * arena.jobs.procs
    seen = search_orders(arena, split.judge, area, config.hindsight, 1)
    entries.append(Entry("hindsight", chosen, None, None, seen.cost))
    told = {"experiment": "held_out", "rules": "standard", "backfill": config.backfill, "goal": goal.text}
    rows, found = costs_of(entries, split.judge, told), comparisons(entries, split.judge, told)
    write_results(warehouse, source, "held_out", rows, found, cards)
    return dg.MaterializeResult(metadata={"dagster/row_count": rows.height, "comparisons": table(found)})
