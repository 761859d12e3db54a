"""The asset policies/population: a policy by decentralised PPO on many workers, tuned by population-based training."""

from typing import Any

import dagster as dg
import polars as pl
from pydantic import Field

from assets.common.asset import asset
from assets.common.describe import plot, table
from assets.common.learnable import LEAST_JOBS
from assets.core.jobs import jobs
from assets.policies.adoption import adopt
from assets.policies.config import PPOConfig, TaskConfig, task_of
from assets.policies.lessons import filtered_setup
from assets.policies.plots import lineage
from assets.policies.trajectory_filter import trajectory_filter
from assets.policies.workers import WorkersConfig, checkpoint_file, on_workers
from models.scheduling.options import PopulationOptions, PPOOptions, Recipe
from models.scheduling.workers.launching import forget
from warehouse import Warehouse, replace_partitions

TREE_COLUMNS = ("generation", "member", "parent", "policy_rate", "entropy_bonus", "minibatch", "cost", "chosen")


class MembersConfig(dg.Config, PopulationOptions):
    pass


class PopulationPPOConfig(PPOConfig):
    trajectories: int = Field(default=128, ge=1, description=PPOOptions.model_fields["trajectories"].description)


class PopulationConfig(TaskConfig):
    seed: int = Field(default=1, ge=0, description="Training seed, on which every draw depends")
    cautious: bool = Field(default=True, description="Keep what it starts from unless the best member dominates it")
    accept_trade: bool = Field(default=False, description="Also take a policy that trades, against start and champion")
    workers: WorkersConfig = WorkersConfig()
    population: MembersConfig = MembersConfig()
    ppo: PopulationPPOConfig = PopulationPPOConfig()

    def recipe(self) -> Recipe:
        """How the policy is learned, but for its hyper-parameters."""
        options = PPOOptions(**self.ppo.model_dump())
        return Recipe(ppo=options, cautious=self.cautious, accept_trade=self.accept_trade)


@asset(
    "policies.population",
    deps=[trajectory_filter, jobs],
    tags={"cost": "hours"},
    kinds={"pytorch", "numba"},
    least_jobs=LEAST_JOBS,
)
def population(
    context: dg.AssetExecutionContext, config: PopulationConfig, warehouse: dg.ResourceParam[Warehouse]
) -> dg.MaterializeResult:
    """Policies that are trained beside each other on many workers. After some epochs the worst go on from a copy of a better one with
    other hyper-parameters. The best challenges the champion as every trained policy does. No nightly run makes this asset."""
    source = context.partition_key
    setup = filtered_setup(warehouse, source, task_of(config))
    options = PopulationOptions(**config.population.model_dump())
    by_ppo = on_workers(context, config.workers, options)
    checkpoint = checkpoint_file(config.workers, source, f"population-{config.seed}")
    (policy,) = setup.train(config.recipe(), [config.seed], checkpoint_of=lambda seed: checkpoint, by_ppo=by_ppo)
    parameters = policy.trained.parameters
    rows = lineage_rows(source, parameters, policy.trained.best_epoch > 0)
    stops = stop_rows(source, parameters["families_done"])
    _, events, happened = adopt(warehouse, setup, [policy], config.accept_trade, "population")
    replace_partitions(
        warehouse,
        source,
        {
            "policies.population": rows,
            "policies.worker_iterations": stops,
        },
    )
    forget(checkpoint)
    context.log.info(happened)
    return dg.MaterializeResult(
        metadata={
            "dagster/row_count": rows.height,
            "happened": happened,
            "members": table(rows.select(TREE_COLUMNS)),
            "history": table(events.sort("event", descending=True)),
            "ancestors": plot(lineage(rows, config.goal)),
        }
    )


def lineage_rows(source: str, parameters: dict[str, Any], learned: bool) -> pl.DataFrame:
    """Rows of policies.population from a policy's parameters. The chosen member is the first of least cost.

    learned: whether the policy is that member's, and not what training started from, which a cautious training may keep.
    """
    rows = pl.DataFrame(parameters["lineage"], infer_schema_length=None).with_columns(pl.col("parent").cast(pl.Int64))
    best = rows["cost"].arg_min()
    return rows.select(
        pl.lit(source).alias("source"), pl.all(), ((pl.int_range(pl.len()) == best) & learned).alias("chosen")
    )


def stop_rows(source: str, stops: dict[str, list[int]]) -> pl.DataFrame:
    """Rows of policies.worker_iterations. stops: models.scheduling.workers.decentralised_ppo.Stops of a population."""
    rows = [
        (source, *(int(number) for number in name.split()), worker, families)
        for name, done in stops.items()
        for worker, families in enumerate(done)
    ]
    names = ("source", "generation", "member", "epoch", "worker", "families")
    types = [pl.String, *[pl.Int64] * 5]
    return pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row")
