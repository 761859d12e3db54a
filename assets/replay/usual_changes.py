"""What usual changes of a cluster's settings would do: the replays that the report shows."""

import dagster as dg

from assets.common.asset import asset, passed_over
from assets.core.jobs import jobs
from assets.replaying.own.alternatives import alternatives_of, store_alternatives
from assets.replaying.tuning.source_replays import FEWEST_TUNED
from warehouse import Warehouse


@asset("replay.usual_changes", group_name="evaluation", deps=[jobs], table=None, kinds={"numba"})
def usual_changes(context: dg.AssetExecutionContext, warehouse: dg.ResourceParam[Warehouse]) -> dg.MaterializeResult:
    """Replays under the cluster's own Slurm or PBS: a change of the settings that is chosen on the first half of the jobs and judged on the
    later one, next to random ones. Of a long log its last jobs are replayed. Kept as a file beside those of
    `tracehouse tune` until the report reads it."""
    source = context.partition_key
    made = alternatives_of(warehouse, source)
    store_alternatives(source, made)
    if made is None:
        why_not = f"a cluster of Slurm or PBS, and {FEWEST_TUNED} jobs or more to replay"
        return dg.MaterializeResult(metadata=passed_over(f"needs {why_not}"))
    return dg.MaterializeResult(metadata={"replays": len(made.tried), "verdict": made.word or "no change was chosen"})
