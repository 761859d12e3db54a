-- Files whose lines are not all accounted for, or whose stored rows differ from their counts.
WITH counted AS (
    SELECT
        file,
        sum(lines) AS lines,
        sum(lines) FILTER (outcome = 'accepted') AS accepted,
        coalesce(sum(lines) FILTER (outcome = 'rejected'), 0) AS rejected
    FROM raw.line_counts
    WHERE source = $source
    GROUP BY file
),

stored AS (
    SELECT file, count(*) AS jobs FROM raw.swf_jobs WHERE source = $source GROUP BY file
    UNION ALL
    SELECT file, count(*) AS jobs FROM raw.pbs_records WHERE source = $source AND record_type = 'E' GROUP BY file
    UNION ALL
    SELECT file, count(*) AS jobs FROM raw.slurm_jobs WHERE source = $source GROUP BY file
),

rejects AS (
    SELECT file, count(*) AS lines FROM raw.rejects WHERE source = $source GROUP BY file
)

SELECT
    files.file,
    files.lines,
    files.accepted,
    files.ignored,
    files.rejected,
    coalesce(stored.jobs, 0) AS stored_jobs,
    coalesce(rejects.lines, 0) AS stored_rejects
FROM raw.log_files AS files
LEFT JOIN counted ON files.file = counted.file
LEFT JOIN stored ON files.file = stored.file
LEFT JOIN rejects ON files.file = rejects.file
WHERE
    files.source = $source
    AND (
        files.lines IS DISTINCT FROM files.accepted + files.ignored + files.rejected
        OR files.lines IS DISTINCT FROM counted.lines
        OR files.accepted IS DISTINCT FROM counted.accepted
        OR files.rejected IS DISTINCT FROM counted.rejected
        OR files.accepted IS DISTINCT FROM coalesce(stored.jobs, 0)
        OR files.rejected IS DISTINCT FROM coalesce(rejects.lines, 0)
    )
