-- [backlog]
-- What changes in the queue and on the cluster of one source, in steps of $step_s seconds from $zero_s on (epoch, UTC), by the log.
-- The columns named mean_ are what the changes within a step add to its mean; the others hold from the next step on.
WITH
{{ held_stretches }}

started AS (
    SELECT
        epoch(submit_time) AS submit_s,
        epoch(start_time) AS start_s,
        coalesce(procs * runtime_s, 0) / 3600 AS core_hours,
        job_index
    FROM core.jobs
    WHERE source = $source AND start_time IS NOT NULL AND start_time >= submit_time
),

held AS (
    SELECT epoch(start_time) AS start_s, epoch(end_time) AS end_s, procs FROM stretches SEMI JOIN started USING (job_index)
),

changes AS (
    SELECT submit_s AS at_s, 1 AS waiting, core_hours AS work, 0 AS used FROM started
    UNION ALL
    SELECT start_s AS at_s, -1 AS waiting, -core_hours AS work, 0 AS used FROM started
    UNION ALL
    SELECT start_s AS at_s, 0 AS waiting, 0 AS work, procs AS used FROM held
    UNION ALL
    SELECT end_s AS at_s, 0 AS waiting, 0 AS work, -procs AS used FROM held
),

placed AS (
    SELECT *, floor((at_s - $zero_s) / $step_s) AS step, 1 - ((at_s - $zero_s) / $step_s - step) AS rest FROM changes
)

SELECT
    step::BIGINT AS step,
    sum(waiting)::DOUBLE AS waiting,
    sum(work) AS work,
    sum(used)::DOUBLE AS used,
    sum(waiting * rest) AS mean_waiting,
    sum(work * rest) AS mean_work,
    sum(used * rest) AS mean_used
FROM placed
GROUP BY step
ORDER BY step

-- [core_hours_by_month]
-- Core hours of one source by month and account.
SELECT month, account, sum(core_hours) AS core_hours
FROM marts.usage
WHERE source = $source
GROUP BY month, account
ORDER BY month, account

-- [jobs_of_periods]
-- Jobs of one source with what two periods are compared by. Seconds are of the log's own clock.
SELECT
    epoch(jobs.submit_time - sources.clock_zero)::BIGINT AS submit_s,
    facts.wait_s,
    facts.left_after_s,
    facts.queue,
    facts.account,
    facts.user_name,
    facts.size_class,
    facts.status,
    facts.core_hours
FROM marts.job_facts AS facts
INNER JOIN core.jobs AS jobs ON facts.source = jobs.source AND facts.job_index = jobs.job_index
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE facts.source = $source
ORDER BY jobs.job_index

-- [mean_wait_by_hour]
-- Mean wait in hours of one source by weekday and hour of the submission, all months together.
SELECT weekday, hour_of_day, sum(jobs * average_wait_s) / sum(jobs) / 3600 AS hours
FROM marts.waits_by_hour
WHERE source = $source
GROUP BY weekday, hour_of_day
ORDER BY weekday, hour_of_day

-- [month_figures]
-- Waits of the month before the last of each source, of all its jobs (queue is NULL) and by queue. A log of one month has that one. Of logs
-- that do not say which day it is there is none.
WITH dated AS (
    SELECT
        *,
{{ has_dates }}
    FROM core.sources
    WHERE list_contains($sources, source)
),

months AS (
    SELECT facts.source, max(facts.month) AS newest, max(facts.month) FILTER (facts.month < latest.month) AS complete
    FROM marts.job_facts AS facts
    INNER JOIN dated ON facts.source = dated.source AND dated.has_dates
    INNER JOIN (SELECT source, max(month) AS month FROM marts.job_facts GROUP BY source) AS latest ON facts.source = latest.source
    GROUP BY facts.source
),

chosen AS (
    SELECT facts.*, covered.covered_share
    FROM marts.job_facts AS facts
    INNER JOIN months ON facts.source = months.source AND facts.month = coalesce(months.complete, months.newest)
    INNER JOIN marts.months AS covered ON facts.source = covered.source AND facts.month = covered.month
)

SELECT
    source,
    queue,
    count(*) AS jobs,
    avg(wait_s) AS average_wait_s,
    median(wait_s) AS median_wait_s,
    quantile_cont(wait_s, 0.95) AS p95_wait_s,
    avg((wait_s <= 3600)::INT) AS started_within_1h,
    any_value(epoch(month)::BIGINT) AS month_s,
    any_value(covered_share) AS covered_share
FROM chosen
GROUP BY GROUPING SETS ((source), (source, queue))
ORDER BY source, queue NULLS FIRST

-- [source_figures]
-- Figures of each source that Prometheus reads, one row per source, NULL where there is none yet. $month_sources have a last complete
-- month, and $month_begins are its seconds, as in month_figures.sql.
WITH wanted AS (
    SELECT
        *,
{{ has_dates }}
    FROM core.sources
    WHERE list_contains($sources, source)
),

submitted AS (
    SELECT source, count(*) AS jobs, epoch(max(submit_time))::BIGINT AS newest_submission_s FROM core.jobs GROUP BY source
),

read AS (
    SELECT source, sum(rejected)::BIGINT AS rejected_lines, max(modified_ns) / 1e9 AS log_changed_s FROM raw.log_files GROUP BY source
),

used AS (
    SELECT capacity.source, avg(capacity.mean_procs / wanted.cluster_procs) AS utilisation
    FROM core.capacity AS capacity
    INNER JOIN wanted ON capacity.source = wanted.source
    INNER JOIN (SELECT unnest($month_sources::VARCHAR[]) AS source, unnest($month_begins::BIGINT[]) AS month_s) AS months
        ON capacity.source = months.source AND epoch(date_trunc('month', capacity.day))::BIGINT = months.month_s
    GROUP BY capacity.source
),

errors AS (
    SELECT source, value AS error_ratio FROM predictions.model_drift WHERE measure = 'error'
),

grades AS (
    SELECT source, ascii(grade) - ascii('A') + 1 AS grade FROM replay.fidelity WHERE part = 'all' AND grade IS NOT NULL
)

SELECT
    wanted.source,
    submitted.jobs,
    read.rejected_lines,
    CASE WHEN wanted.has_dates THEN submitted.newest_submission_s END AS newest_submission_s,
    read.log_changed_s,
    wanted.cluster_procs,
    used.utilisation,
    champions.mean_absolute_error_s,
    errors.error_ratio,
    grades.grade
FROM wanted
LEFT JOIN submitted ON wanted.source = submitted.source
LEFT JOIN read ON wanted.source = read.source
LEFT JOIN used ON wanted.source = used.source
LEFT JOIN predictions.champions AS champions ON wanted.source = champions.source
LEFT JOIN errors ON wanted.source = errors.source
LEFT JOIN grades ON wanted.source = grades.source
ORDER BY wanted.source

-- [started_waits]
-- Logged waits of one source's jobs that started: of all, by queue, by size class and by month of the submission.
WITH started AS (
    SELECT queue, size_class, month, wait_s FROM marts.job_facts WHERE source = $source AND wait_s IS NOT NULL
)

SELECT
    CASE
        WHEN grouping(queue) = 0 THEN 'queue'
        WHEN grouping(size_class) = 0 THEN 'size'
        WHEN grouping(month) = 0 THEN 'month'
        ELSE 'all'
    END AS part,
    coalesce(queue, size_class, month::VARCHAR, '') AS value,
    count(*) AS jobs,
    avg(wait_s) AS mean_s,
    median(wait_s) AS median_s,
    quantile_cont(wait_s, 0.95) AS p95_s,
    avg((wait_s <= 3600)::INTEGER) AS within_1_h,
    avg((wait_s <= 86400)::INTEGER) AS within_24_h,
    max(wait_s)::DOUBLE AS longest_s
FROM started
GROUP BY GROUPING SETS ((), (queue), (size_class), (month))
HAVING count(*) > 0
ORDER BY part, jobs DESC, value

-- [submissions]
-- Jobs of one source by weekday and hour of the submission, and by size: processors up to the next power of two.
SELECT
    facts.weekday,
    facts.hour_of_day,
    CAST(pow(2, ceil(log2(jobs.procs))) AS BIGINT) AS procs_up_to,
    count(*) AS jobs
FROM core.jobs AS jobs
INNER JOIN marts.job_facts AS facts ON jobs.source = facts.source AND jobs.job_index = facts.job_index
WHERE jobs.source = $source AND jobs.procs > 0
GROUP BY facts.weekday, facts.hour_of_day, procs_up_to
ORDER BY facts.weekday, facts.hour_of_day, procs_up_to

-- [usage_by_account]
-- Use of one source by account, all months together, the largest first.
SELECT
    account,
    sum(jobs)::BIGINT AS jobs,
    sum(core_hours) AS core_hours,
    sum(gpu_hours) AS gpu_hours,
    sum(cpu_hours) / nullif(sum(measured_core_hours), 0) AS cpu_efficiency
FROM marts.usage
WHERE source = $source
GROUP BY account
ORDER BY core_hours DESC, account

-- [wait_curve]
-- How many jobs of one source started within how long, by size class: step k is a wait of at most 2^(k / 2) minutes.
SELECT
    size_class,
    greatest(ceil(2 * log2(greatest(wait_s, 1) / 60)), 0)::BIGINT AS step,
    count(*) AS jobs
FROM marts.job_facts
WHERE source = $source AND wait_s IS NOT NULL
GROUP BY size_class, step
ORDER BY size_class, step

-- [waits_and_waste]
-- Waits, and what was lost or not used, of one source: of all jobs, by queue, by account, by user and by GPUs. Of jobs that were submitted from
-- $begin on and before $end, UTC. NULL is no bound.
WITH chosen AS (
    SELECT
        facts.*,
        CASE WHEN jobs.gpus IS NULL THEN 'unknown' WHEN jobs.gpus = 0 THEN 'none' ELSE coalesce(jobs.gpu_types, jobs.gpus::VARCHAR) END AS gpu
    FROM marts.job_facts AS facts
    INNER JOIN core.jobs AS jobs ON facts.source = jobs.source AND facts.job_index = jobs.job_index
    WHERE
        facts.source = $source
        -- jobs are numbered in the order of their submission
        AND ($begin::TIMESTAMP IS NULL OR facts.job_index >= (
            SELECT min(job_index) FROM core.jobs WHERE source = $source AND submit_time >= $begin
        ))
        AND ($end::TIMESTAMP IS NULL OR facts.job_index <= (
            SELECT max(job_index) FROM core.jobs WHERE source = $source AND submit_time < $end
        ))
)

SELECT
    CASE
        WHEN grouping(queue) = 0 THEN 'queue'
        WHEN grouping(account) = 0 THEN 'account'
        WHEN grouping(user_name) = 0 THEN 'user'
        WHEN grouping(gpu) = 0 THEN 'gpu'
        ELSE 'all'
    END AS kind,
    coalesce(queue, account, user_name, gpu, '') AS value,
    count(wait_s) AS known_waits,
    avg(wait_s) / 3600 AS mean_wait_h,
    median(wait_s) / 3600 AS median_wait_h,
    quantile_cont(wait_s, 0.95) / 3600 AS p95_wait_h,
    max(wait_s) / 3600 AS max_wait_h,
    coalesce(sum(wait_s), 0) / 3600 AS waited_h,
{{ wasted_sums }}
{{ left_sums }}
FROM chosen
GROUP BY GROUPING SETS ((), (queue), (account), (user_name), (gpu))
HAVING count(*) > 0
ORDER BY kind, core_hours DESC, value

-- [walltime_used]
-- Run time over requested time of the jobs of one source that have both: jobs by share in steps of 0.025, the last for 1.175 and more,
-- and the median share of all jobs in each row.
WITH shares AS (
    SELECT runtime_s / requested_walltime_s AS share
    FROM marts.job_facts
    WHERE source = $source AND runtime_s > 0 AND requested_walltime_s > 0
),

steps AS (
    SELECT least(floor(share * 40), 47)::BIGINT AS step, count(*) AS jobs FROM shares GROUP BY step
)

SELECT steps.step / 40 AS share_from, steps.jobs, (SELECT median(share) FROM shares) AS median
FROM steps
ORDER BY steps.step
