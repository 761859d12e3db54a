-- Files whose lines are not all accounted for, or whose stored rows differ from their counts.
WITH counted AS (
    SELECT
        file,
        sum(lines) AS lines,
        coalesce(sum(lines) FILTER (outcome = 'accepted'), 0) AS accepted,
        coalesce(sum(lines) FILTER (outcome = 'kept'), 0) AS kept,
        coalesce(sum(lines) FILTER (outcome = 'rejected'), 0) AS rejected
    FROM raw.line_counts
    WHERE source = $source
    GROUP BY file
),

stored AS (
    SELECT file, count(*) AS jobs, 0 AS others FROM raw.swf_jobs WHERE source = $source GROUP BY file
    UNION ALL
    SELECT file, count(*) FILTER (record_type = 'E') AS jobs, count(*) FILTER (record_type <> 'E') AS others
    FROM raw.pbs_records
    WHERE source = $source
    GROUP BY file
    UNION ALL
    SELECT file, count(*) AS jobs, 0 AS others FROM raw.slurm_jobs WHERE source = $source GROUP BY file
),

rejects AS (
    SELECT file, count(*) AS lines FROM raw.rejects WHERE source = $source GROUP BY file
)

SELECT
    files.file,
    files.lines,
    files.accepted,
    files.kept,
    files.ignored,
    files.rejected,
    coalesce(stored.jobs, 0) AS stored_jobs,
    coalesce(stored.others, 0) AS stored_others,
    coalesce(rejects.lines, 0) AS stored_rejects
FROM raw.log_files AS files
LEFT JOIN counted ON files.file = counted.file
LEFT JOIN stored ON files.file = stored.file
LEFT JOIN rejects ON files.file = rejects.file
WHERE
    files.source = $source
    AND (
        files.lines IS DISTINCT FROM files.accepted + files.kept + files.ignored + files.rejected
        OR files.lines IS DISTINCT FROM coalesce(counted.lines, 0)
        OR files.accepted IS DISTINCT FROM coalesce(counted.accepted, 0)
        OR files.kept IS DISTINCT FROM coalesce(counted.kept, 0)
        OR files.rejected IS DISTINCT FROM coalesce(counted.rejected, 0)
        OR files.accepted IS DISTINCT FROM coalesce(stored.jobs, 0)
        OR files.kept IS DISTINCT FROM coalesce(stored.others, 0)
        OR files.rejected IS DISTINCT FROM coalesce(rejects.lines, 0)
    )
