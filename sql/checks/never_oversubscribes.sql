-- Replayed schedules that use more processors than the cluster has at any time.
WITH changes AS (
    SELECT policy, backfill, estimates, start_time AS time, procs AS change
    FROM replay.schedules WHERE source = $source
    UNION ALL
    SELECT policy, backfill, estimates, end_time AS time, -procs AS change
    FROM replay.schedules WHERE source = $source
),

-- all changes of one moment count together: a processor freed at a moment can be given away at that moment
net AS (
    SELECT policy, backfill, estimates, time, sum(change) AS change
    FROM changes
    GROUP BY ALL
),

in_use AS (
    SELECT policy, backfill, estimates, sum(change) OVER (PARTITION BY policy, backfill, estimates ORDER BY time) AS procs
    FROM net
)

SELECT in_use.policy, in_use.backfill, in_use.estimates, max(in_use.procs)::BIGINT AS peak_procs, sources.cluster_procs
FROM in_use
INNER JOIN core.sources AS sources ON sources.source = $source
GROUP BY ALL
HAVING max(in_use.procs) > sources.cluster_procs
ORDER BY ALL
