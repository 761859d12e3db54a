-- What a log of one source gets wrong, as `tracehouse replay` counts it (docs/reference/semantics.md); one row.
WITH records AS (
    SELECT job_id, submit_time, lag(submit_time) OVER (ORDER BY file, line) AS time_above
    FROM core.jobs
    WHERE source = $source
)

SELECT
    count(*) AS records,
    count(*) FILTER (submit_time < time_above) AS jobs_out_of_order,
    count(*) - count(DISTINCT job_id) AS repeated_job_ids,
    (
        SELECT coalesce(sum(lines), 0)::BIGINT
        FROM raw.line_counts
        WHERE source = $source AND outcome = 'rejected' AND starts_with(reason, 'wider than the cluster')
    ) AS jobs_wider_than_cluster
FROM records
