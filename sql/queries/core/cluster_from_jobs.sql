-- What the jobs of one source tell of its cluster; one row.
WITH of_jobs AS (
    SELECT
        min(epoch(submit_time))::BIGINT AS first_submit_s,
        max(greatest(procs, requested_procs)) AS widest_procs,
        -- jobs on several nodes mostly fill them; the largest of equally frequent numbers
        max(procs) FILTER (nodes = 1 AND runtime_s > 0) AS most_procs_on_one_node,
        max(requested_memory_kb // nodes) FILTER (nodes > 0 AND runtime_s > 0) AS node_memory_kb
    FROM core.jobs
    WHERE source = $source
),

per_node AS (
    SELECT procs // nodes AS procs_per_node
    FROM core.jobs
    WHERE source = $source AND nodes > 1 AND procs % nodes = 0 AND runtime_s > 0
    GROUP BY ALL
    ORDER BY count(*) DESC, procs_per_node DESC
    LIMIT 1
),

in_use AS (
    SELECT max(peak_procs) AS peak_procs, max(peak_gpus) AS peak_gpus FROM core.capacity WHERE source = $source
)

SELECT
    of_jobs.first_submit_s,
    greatest(in_use.peak_procs, of_jobs.widest_procs) AS procs,
    coalesce((SELECT procs_per_node FROM per_node), of_jobs.most_procs_on_one_node) AS procs_per_node,
    nullif(in_use.peak_gpus, 0) AS gpus,
    of_jobs.node_memory_kb,
    in_use.peak_procs
FROM of_jobs, in_use
