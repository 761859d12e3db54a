-- One row when canonical jobs and accepted records differ in number, or job_index has gaps or repeats.
WITH jobs AS (
    SELECT count(*) AS jobs, count(DISTINCT job_index) AS indices, coalesce(max(job_index), -1) + 1 AS next_index
    FROM core.jobs
    WHERE source = $source
),

records AS (
    SELECT coalesce(sum(accepted), 0) AS accepted FROM raw.log_files WHERE source = $source
)

SELECT jobs.jobs, jobs.indices, jobs.next_index, records.accepted
FROM jobs, records
WHERE jobs.jobs <> records.accepted OR jobs.indices <> jobs.jobs OR jobs.next_index <> jobs.jobs
