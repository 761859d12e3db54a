-- What features are computed from, by part of $part_jobs jobs in the order of submission: a hash of the jobs, and their earliest
-- submission, start or end. $code is a hash of the code that computes them.
WITH about AS (
    SELECT
        time_zone,
        EXISTS (SELECT 1 FROM core.jobs WHERE source = $source AND start_time IS NOT NULL) AS has_starts
    FROM core.sources
    WHERE source = $source
)

SELECT
    jobs.job_index // $part_jobs AS part,
    -- hashed twice, since two jobs that exchange a value would add up to the same otherwise
    concat_ws(
        ' ',
        sum(
            hash(
                hash(
                    jobs.job_index, jobs.submit_time, jobs.start_time, jobs.end_time, jobs.runtime_s, jobs.procs,
                    jobs.requested_procs, jobs.requested_walltime_s, jobs.status, jobs.user_name, jobs.group_name,
                    jobs.executable, jobs.queue
                )
            )
        ),
        any_value(about.time_zone),
        any_value(about.has_starts),
        $code
    ) AS inputs,
    min(least(jobs.submit_time, jobs.start_time, jobs.end_time)) AS earliest
FROM core.jobs AS jobs
CROSS JOIN about
WHERE jobs.source = $source
GROUP BY part
ORDER BY part
