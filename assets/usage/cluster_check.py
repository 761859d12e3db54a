"""A cluster's description against the jobs of a source."""

from __future__ import annotations

import sql
from assets.common.storage import pseudonym_key
from traces.catalogue.catalogue import load_catalogue
from traces.catalogue.clusters import clusters_of_source
from traces.catalogue.sources import Source
from traces.cluster.checking import Contradiction, contradictions_with_log
from traces.cluster.description import ClusterDescription
from traces.common.described_names import with_pseudonyms
from warehouse import Warehouse

_JOBS = """
SELECT
    job_id, epoch(submit_time)::BIGINT AS submit_s, epoch(start_time)::BIGINT AS start_s, epoch(end_time)::BIGINT AS end_s, procs,
    coalesce(nodes, requested_nodes) AS nodes, gpus, gpu_types, requested_gpu_types, requested_memory_kb // 1024 AS memory_mib,
    requested_walltime_s, user_name, group_name, account, queue, qos, features, job_index
FROM core.jobs WHERE source = $source ORDER BY job_index
"""
_NODES = """
SELECT job_index, list(node_name ORDER BY node_name) AS node_names
FROM core.job_nodes WHERE source = $source GROUP BY job_index
"""
_SUSPENSIONS = f"""
WITH times AS ({sql.load("core.suspensions_of_jobs")})
SELECT job_index, list({{'from_s': from_s, 'to_s': to_s}} ORDER BY from_s) AS suspensions FROM times GROUP BY job_index
UNION ALL
-- where the log only has their sum (Slurm), they are taken to come last
SELECT job_index, [{{'from_s': epoch(end_time)::BIGINT - suspended_s, 'to_s': epoch(end_time)::BIGINT}}] AS suspensions
FROM core.jobs
WHERE source = $source AND suspended_s > 0 AND start_time IS NOT NULL AND job_index NOT IN (SELECT job_index FROM times)
"""


def described_cluster(warehouse: Warehouse, source: str) -> ClusterDescription | None:
    """The last description of a source's cluster, with names as the warehouse has them. None where it has none, and for a source that is in
    no catalogue."""
    declared = load_catalogue(may_be_missing=True).sources.get(source)
    clusters = () if declared is None else clusters_of_source(declared)
    if declared is None or not clusters:
        return None
    return named_as_in_log(clusters[-1], declared, warehouse)


def named_as_in_log(cluster: ClusterDescription, source: Source | None, warehouse: Warehouse) -> ClusterDescription:
    """The description with names as the log of a source has them in the warehouse, which are pseudonyms where the source has its names
    replaced. source: None for a log in no catalogue."""
    if source is None or not source.replaced_names:
        return cluster
    return with_pseudonyms(cluster, source.replaced_names, pseudonym_key(warehouse))


def contradictions_of_source(
    warehouse: Warehouse, source: Source, cluster: ClusterDescription
) -> tuple[Contradiction, ...]:
    """What the description says and the source's jobs deny. Names are compared as the warehouse has them, with pseudonyms where the
    source has its names replaced. Raises WarehouseError where there is no warehouse yet."""
    with warehouse.read() as connection:
        jobs = connection.sql(_JOBS, params={"source": source.name}).pl()
        nodes = connection.sql(_NODES, params={"source": source.name}).pl()
        suspensions = connection.sql(_SUSPENSIONS, params={"source": source.name}).pl()
    for of_jobs in (nodes, suspensions):
        jobs = jobs.join(of_jobs, on="job_index", how="left", maintain_order="left")
    return contradictions_with_log(named_as_in_log(cluster, source, warehouse), jobs)
