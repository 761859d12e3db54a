-- What jobs say themselves, of features.job_features: those of one source with an index from $from_index and before $to_index, in the
-- order of submission.
WITH jobs AS (
    SELECT jobs.*, timezone(sources.time_zone, timezone('UTC', jobs.submit_time)) AS local_submit_time
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    WHERE jobs.source = $source AND jobs.job_index >= $from_index AND jobs.job_index < $to_index
)

SELECT
    source,
    job_index,
    requested_walltime_s,
    coalesce(requested_procs, procs) AS requested_procs,
    hour(local_submit_time) AS hour_of_day,
    isodow(local_submit_time) AS day_of_week,
    queue,
    group_name,
    executable
FROM jobs
ORDER BY job_index
