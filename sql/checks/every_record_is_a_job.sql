-- One row when accepted records and canonical jobs do not match, or when job_index has gaps. Each record is one job or one of
-- core.repeats. Each job is one record. For PBS jobs that were deleted before they started, it is one of the records that are kept.
WITH jobs AS (
    SELECT
        count(*) AS jobs,
        count(*) FILTER (jobs.start_time IS NULL AND sources.format = 'pbs') AS jobs_of_events,
        count(DISTINCT job_index) AS indices,
        coalesce(max(job_index), -1) + 1 AS next_index
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    WHERE jobs.source = $source
),

records AS (
    SELECT coalesce(sum(accepted), 0) AS accepted FROM raw.log_files WHERE source = $source
),

repeats AS (
    SELECT count(*) AS repeats FROM core.repeats WHERE source = $source
)

SELECT jobs.jobs, jobs.jobs_of_events, jobs.indices, jobs.next_index, records.accepted, repeats.repeats
FROM jobs, records, repeats
WHERE
    jobs.jobs + repeats.repeats <> records.accepted + jobs.jobs_of_events
    OR jobs.indices <> jobs.jobs
    OR jobs.next_index <> jobs.jobs
