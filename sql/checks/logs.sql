-- [counts_add_up]
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
    SELECT file, count(end_s) AS jobs, count(*) - count(end_s) AS others FROM raw.slurm_jobs WHERE source = $source GROUP BY file
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

-- [every_job_is_counted]
-- Whether the views of operations count other jobs than the log has: all of them, and month by month those that started and those that
-- left the queue without a start.
WITH counts AS (
    SELECT
        'all jobs' AS what,
        (SELECT count(*) FROM core.jobs WHERE source = $source) AS jobs,
        (SELECT count(*) FROM marts.job_facts WHERE source = $source) AS counted
    UNION ALL
    SELECT
        'jobs with a known wait' AS what,
        (SELECT count(*) FROM core.jobs WHERE source = $source AND wait_s IS NOT NULL) AS jobs,
        (SELECT coalesce(sum(jobs), 0)::BIGINT FROM marts.waits_by_queue WHERE source = $source)
        + (SELECT coalesce(sum(left_jobs), 0)::BIGINT FROM marts.left_queue WHERE source = $source) AS counted
)

SELECT what, jobs, counted
FROM counts
WHERE jobs <> counted

-- [every_record_is_a_job]
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

-- [launches_fit_their_jobs]
-- Launches of VASP that belong to a job which the accounting does not have, or to more than one.
SELECT links.folder, links.outcar, links.launch, count(*) AS links, count(jobs.job_index) AS jobs
FROM core.vasp_jobs AS links
LEFT JOIN core.jobs AS jobs ON links.accounting = jobs.source AND links.job_index = jobs.job_index
WHERE links.source = $source
GROUP BY ALL
HAVING count(*) <> 1 OR count(jobs.job_index) <> 1
ORDER BY ALL

-- [never_oversubscribes]
-- Replayed schedules that use more processors than the cluster has at any time. A job that lasts longer than it runs was suspended
-- meanwhile, nobody has stored when, and its processors do not count.
WITH held AS (
    SELECT schedules.policy, schedules.backfill, schedules.estimates, schedules.start_time, schedules.end_time, schedules.procs
    FROM replay.schedules AS schedules
    INNER JOIN core.jobs AS jobs ON schedules.source = jobs.source AND schedules.job_index = jobs.job_index
    WHERE schedules.source = $source AND epoch(schedules.end_time - schedules.start_time) <= jobs.runtime_s
),

changes AS (
    SELECT policy, backfill, estimates, start_time AS time, procs AS change FROM held
    UNION ALL
    SELECT policy, backfill, estimates, end_time AS time, -procs AS change FROM held
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

-- [no_job_wider_than_cluster]
-- Jobs with more processors than the cluster; the file and line say where they stand.
SELECT jobs.file, jobs.line, jobs.job_id, jobs.procs, sources.cluster_procs
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE jobs.source = $source AND jobs.procs > sources.cluster_procs
ORDER BY jobs.job_index

-- [no_start_before_submission]
-- Replayed jobs that start before their submission.
SELECT schedules.policy, schedules.estimates, schedules.job_index, schedules.start_time, jobs.submit_time
FROM replay.schedules AS schedules
INNER JOIN core.jobs AS jobs ON schedules.source = jobs.source AND schedules.job_index = jobs.job_index
WHERE schedules.source = $source AND (schedules.start_time < jobs.submit_time OR schedules.wait_s < 0)
ORDER BY ALL

-- [not_empty]
-- One row when no job of the source was accepted.
SELECT coalesce(sum(accepted), 0) AS accepted
FROM raw.log_files
WHERE source = $source
HAVING coalesce(sum(accepted), 0) = 0

-- [times_are_ordered]
-- Jobs whose times are out of order; the file and line say where they stand.
SELECT file, line, job_id, submit_time, start_time, end_time
FROM core.jobs
WHERE source = $source AND (submit_time > start_time OR start_time > end_time OR runtime_s < 0 OR wait_s < 0)
ORDER BY job_index

-- [vasp_steps_add_up]
-- Launches whose counted steps are not the steps that are stored.
SELECT runs.folder, runs.outcar, runs.launch, runs.electronic_steps, count(steps.position) AS stored
FROM raw.vasp_runs AS runs
LEFT JOIN raw.vasp_electronic_steps AS steps
    ON runs.source = steps.source AND runs.folder = steps.folder AND runs.outcar = steps.outcar AND runs.launch = steps.launch
WHERE runs.source = $source
GROUP BY ALL
HAVING runs.electronic_steps <> count(steps.position)
