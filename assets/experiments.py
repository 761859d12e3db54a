"""Experiments on policies: the tables of RLScheduler's paper, and held-out windows. Materialized when somebody asks."""

import dagster as dg
import numpy as np
import polars as pl
from pydantic import Field

from assets.describe import table, table_metadata
from assets.experiment_tables import Contest, Entry, comparisons, costs_of, trained_entries, write_results
from assets.ingest import jobs
from assets.partitions import OWNERS, SOURCES
from assets.policy_training import CHOOSING_WINDOWS, Split, Task, split_of
from assets.runtime_prediction import runtime_predictions
from assets.scheduling_policies import EvolutionConfig, HindsightConfig, KeyConfig, PPOConfig
from assets.storage import read_model
from assets.trace import load_trace
from models.scheduling.options import ImitationOptions, Recipe
from warehouse import Warehouse, replace_partition

PUBLISHED_WINDOWS = (1981, 2714, 2756, 3316, 4022, 4299, 5228, 7085, 7762, 8850)
PUBLISHED_JOBS, PUBLISHED_LENGTH = 10_000, 1024
"""The ten windows of RLScheduler's tables: seed 1 of its own random numbers, of the first 10,000 jobs of a trace."""
PUBLISHED_HEURISTICS = ("FCFS", "WFP3", "UNICEP", "SJF", "F1", "SAF")


class LearningConfig(dg.Config):
    methods: list[str] = Field(default=["ppo", "evolution", "imitation"], description="Ways of training")
    start: str = Field(default="saf", description="What training starts from: nothing, key, saf or best")
    cautious: bool = Field(default=True, description="Keep what it starts from unless better beyond noise")
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    ppo: PPOConfig = PPOConfig(layout="informed")
    evolution: EvolutionConfig = EvolutionConfig()
    hindsight: HindsightConfig = HindsightConfig()
    key: KeyConfig = KeyConfig()

    def recipe(self, method: str, layout: str | None = None) -> Recipe:
        names = {"start", "cautious", "ppo", "evolution", "hindsight", "key"}
        found = Recipe(method=method, imitation=ImitationOptions(passes=10), **self.model_dump(include=names))
        return (
            found
            if layout is None
            else found.model_copy(update={"ppo": found.ppo.model_copy(update={"layout": layout})})
        )


class HeldOutConfig(LearningConfig):
    goal: str = Field(default="bsld", description="What is made small")
    backfill: str = Field(default="easy", description="Backfilling rule")
    windows: int = Field(default=200, ge=4, description="Windows that judge")
    window_jobs: int = Field(default=1024, ge=32, description="Jobs in each")
    training_window_jobs: int = Field(default=512, ge=32, description="Jobs in a window of training")


class PublishedConfig(LearningConfig):
    methods: list[str] = Field(default=["ppo", "evolution"], description="Ways of training")
    start: str = Field(default="key", description="What training starts from: nothing, key, saf or best")
    cautious: bool = Field(default=False, description="Keep what it starts from unless better beyond noise")
    seen: bool = Field(
        default=False,
        description="Whether policies may learn from all 10,000 jobs, as in the paper, or not from those that judge",
    )
    goals: list[str] = Field(
        default=["bsld", "utilisation_as_coded", "slowdown", "wait", "bsld:max_user"],
        description="Tables V, VI, X, XI, VIII",
    )
    backfills: list[str] = Field(default=["none", "easy"], description="Without and with that code's backfilling")
    training_window_jobs: int = Field(default=256, ge=32, description="Jobs in a window of training")


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
    from models.scheduling.goals import parse_goal
    from models.scheduling.hindsight import search_orders
    from models.scheduling.priority_key import search_key

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


@dg.asset(
    key=["experiments", "published"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="experiments",
    owners=OWNERS,
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.comparisons"),
)
def published(
    context: dg.AssetExecutionContext, config: PublishedConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """RLScheduler's tables V, VI, VIII, X and XI: its replay rules and its ten windows of the first 10,000 jobs, which are kept
    from training and choosing unless `seen`."""
    from models.scheduling.priority_key import search_key

    source = context.partition_key
    trace = load_trace(warehouse, source)
    if trace.rows.height < PUBLISHED_JOBS:
        raise ValueError(f"source {source!r} has {trace.rows.height} jobs; the published windows need {PUBLISHED_JOBS}")
    split = published_split(trace.rows.height, config.training_window_jobs, config.seen)
    ten, experiment = split.judge, "published_seen" if config.seen else "published"
    all_rows, all_found, all_cards = [], [], []
    for goal in config.goals:
        for backfill in config.backfills:
            contest = Contest.of(
                trace, Task(goal, backfill, "requested", "rlscheduler", config.training_window_jobs), split
            )
            arena = contest.arena
            entries = [Entry(name, "requested", None, None, arena.costs(name, ten)) for name in PUBLISHED_HEURISTICS]
            few = split.learn.thinned(config.key.windows)
            for seed in config.seeds:
                key = search_key(arena, few, config.key, seed).best
                entries.append(Entry("key", "requested", source, seed, arena.costs(key.policy, ten)))
            recipes = [config.recipe(method, "plain") for method in config.methods]
            learned, cards = trained_entries(context, trace, contest, experiment, recipes, config.seeds)
            told = {"experiment": experiment, "rules": "rlscheduler", "backfill": backfill, "goal": goal}
            all_rows.append(costs_of(entries + learned, ten, told))
            all_found.append(comparisons(entries + learned, ten, told))
            all_cards += cards
    found = pl.concat(all_found)
    write_results(warehouse, source, experiment, pl.concat(all_rows), found, all_cards)
    return dg.MaterializeResult(metadata={"dagster/row_count": len(all_rows), "comparisons": table(found)})


def published_split(trace_jobs: int, window_jobs: int, seen: bool = False) -> Split:
    """Everything but the ten windows: learning from what lies before and between them, and from later jobs where there are any;
    choosing by windows of the same parts, at other places. seen: all of the first 10,000 jobs instead, for both."""
    from models.scheduling.arena import Windows

    ten = Windows(np.array(PUBLISHED_WINDOWS, dtype=np.int64), PUBLISHED_LENGTH)
    if seen:
        learn = Windows(np.arange(0, PUBLISHED_JOBS - window_jobs + 1, dtype=np.int64), window_jobs)
        return Split(learn, learn.thinned(CHOOSING_WINDOWS), ten, PUBLISHED_JOBS)

    first = np.arange(0, trace_jobs - window_jobs + 1, dtype=np.int64)
    taken = np.zeros(trace_jobs, dtype=np.bool_)
    for start in PUBLISHED_WINDOWS:
        taken[start : start + PUBLISHED_LENGTH] = True
    before = np.concatenate(([0], np.cumsum(taken)))
    free = first[before[first + window_jobs] == before[first]]
    blocks = (free // (2 * window_jobs)) % 4 == 3  # every fourth block chooses
    inside = ((free + window_jobs - 1) // (2 * window_jobs)) == free // (2 * window_jobs)
    choose, learn = free[blocks & inside], free[~blocks & inside]
    return Split(Windows(learn, window_jobs), Windows(choose, window_jobs).thinned(CHOOSING_WINDOWS), ten, trace_jobs)


class TransferConfig(dg.Config):
    goal: str = Field(default="bsld", description="What the policies were trained for, and are judged by")


@dg.asset(
    key=["experiments", "transfer"],
    deps=[published],
    partitions_def=SOURCES,
    group_name="experiments",
    owners=OWNERS,
    kinds={"numba"},
    metadata=table_metadata("experiments.comparisons"),
)
def transfer(
    context: dg.AssetExecutionContext, config: TransferConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """RLScheduler's table VII: the policies that `published` trained on every source that has them, on the ten windows of this
    one, under that code's rules."""
    from models.scheduling.policy_file import policy_from_bytes

    source = context.partition_key
    with warehouse.read() as connection:
        policies = connection.sql(
            "SELECT source, policy, backfill, seed, file, sha256 FROM experiments.policies "
            "WHERE experiment = 'published' AND goal = $goal ORDER BY ALL",
            params={"goal": config.goal},
        ).pl()
    if policies.is_empty():
        raise ValueError(
            f"no source has policies for the goal {config.goal!r}: materialize experiments/published first"
        )
    trace = load_trace(warehouse, source)
    split = published_split(trace.rows.height, 256)
    rows, found = [], []
    for backfill in policies["backfill"].unique(maintain_order=True):
        arena = Contest.of(trace, Task(config.goal, backfill, "requested", "rlscheduler"), split).arena
        entries = [
            Entry(name, "requested", None, None, arena.costs(name, split.judge)) for name in PUBLISHED_HEURISTICS
        ]
        for row in policies.filter(pl.col("backfill") == backfill).iter_rows(named=True):
            weights = policy_from_bytes(read_model(row["file"], row["sha256"]))[0]
            costs = arena.costs(weights, split.judge)
            entries.append(Entry(row["policy"], "requested", row["source"], row["seed"], costs))
        told = {"experiment": "transfer", "rules": "rlscheduler", "backfill": backfill, "goal": config.goal}
        rows.append(costs_of(entries, split.judge, told))
        found.append(comparisons(entries, split.judge, told))
    whole = pl.concat(found)
    write_results(warehouse, source, "transfer", pl.concat(rows), whole, [])
    return dg.MaterializeResult(metadata={"dagster/row_count": whole.height, "comparisons": table(whole)})


class CurvesConfig(dg.Config):
    networks: list[str] = Field(
        default=["kernel", "mlp_v1", "mlp_v2", "mlp_v3", "lenet"],
        description="Figure 8; none: leaves its rows as they are",
    )
    filtering: bool = Field(default=True, description="Figure 9; false: leaves its rows as they are")
    seeds: list[int] = Field(default=[1, 2, 3, 4, 5], min_length=1, description="Training seeds")
    backfill: str = Field(default="none", description="Backfilling rule")
    window_jobs: int = Field(default=256, ge=32, description="Jobs in a window of training")
    ppo: PPOConfig = PPOConfig(epochs=30, reward="plain", baseline="critic", siblings=1, trajectories=100)


@dg.asset(
    key=["experiments", "curves"],
    deps=[jobs],
    partitions_def=SOURCES,
    group_name="experiments",
    owners=OWNERS,
    kinds={"pytorch", "numba"},
    metadata=table_metadata("experiments.curves"),
)
def curves(
    context: dg.AssetExecutionContext, config: CurvesConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Training curves from random weights: the kernel network against others (RLScheduler, figure 8), and trajectory filtering
    against none and against rewards relative to SJF's on the same window (figure 9). Textbook rules."""
    from assets.experiment_tables import curve_rows, last_epochs
    from models.scheduling.training import Lessons
    from models.scheduling.trajectory_filter import filter_trajectories

    source = context.partition_key
    trace = load_trace(warehouse, source)
    split = split_of(trace, config.window_jobs)
    contest = Contest.of(trace, Task("bsld", config.backfill, "requested", "standard", config.window_jobs), split)
    kept = filter_trajectories(contest.arena, split.learn)
    lessons = Lessons(split.learn, kept.kept_windows, split.choose)
    rows = curve_rows(contest.arena, lessons, config.ppo, config.networks, config.filtering, config.seeds)
    with warehouse.write() as connection:
        others = connection.sql(
            "SELECT * EXCLUDE (source) FROM experiments.curves WHERE source = $source", params={"source": source}
        ).pl()
        others = others.filter(~pl.col("experiment").is_in(rows["experiment"].unique().to_list())).select(rows.columns)
        replace_partition(connection, "experiments.curves", source, pl.concat([others, rows], how="vertical_relaxed"))
    return dg.MaterializeResult(
        metadata={"dagster/row_count": rows.height, "skewness": kept.skewness, "last": table(last_epochs(rows))}
    )
