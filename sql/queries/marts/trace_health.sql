-- [trace_health_of_source]
-- The findings of one source for marts.trace_health.
WITH
{{ log_begins }}
here AS (
    SELECT
        cluster_procs,
        time_zone,
        clock_zero,
        coalesce(time_zone_from = 'assumed' AND format <> 'swf', FALSE) AS zone_assumed,
{{ has_dates }}
    FROM core.sources WHERE source = $source
),

jobs AS (
    SELECT
        jobs.*,
        timezone(here.time_zone, timezone('UTC', jobs.submit_time)) AS local_time,
        jobs.start_time IS NULL AND jobs.wait_s IS NOT NULL AS left_queue -- without a start
    FROM core.jobs AS jobs, here
    WHERE jobs.source = $source
),

of_jobs AS (
    SELECT
        count(*) AS jobs,
        count(*) FILTER (runtime_s = 0 AND status <> 'cancelled' AND NOT left_queue) AS zero_length,
        min_by('job ' || job_id || ' in ' || file || ':' || line, job_index) FILTER (runtime_s = 0 AND status <> 'cancelled' AND NOT left_queue)
            AS zero_example,
        count(*) FILTER (runtime_s > requested_walltime_s + 60) AS over_limit,
        max_by(
            'job ' || job_id || ' ran ' || runtime_s || ' s of ' || requested_walltime_s || ' s',
            (runtime_s - requested_walltime_s, job_index)
        ) FILTER (runtime_s > requested_walltime_s + 60) AS over_example,
        count(*) FILTER (requested_walltime_s IS NULL) AS no_request,
        count(*) FILTER (user_name IS NULL) AS no_user,
        -- a job that left the queue without a start has a wait
        count(*) FILTER (start_time IS NULL AND wait_s IS NULL) AS no_start,
        count(*) - count(DISTINCT job_id) AS ids_again
    FROM jobs
),

-- lines that say a job started before it was submitted, or ended before it started
backwards AS (
    SELECT file, line FROM raw.swf_jobs WHERE source = $source AND wait_s < 0
    UNION ALL
    SELECT file, line FROM raw.rejects WHERE source = $source AND reason LIKE 'times out of order%'
),

lines AS (
    SELECT
        sum(lines)::BIGINT AS lines,
        sum(accepted)::BIGINT AS accepted,
        sum(rejected)::BIGINT AS rejected
    FROM raw.log_files WHERE source = $source
),

wider AS (
    SELECT coalesce(sum(lines), 0)::BIGINT AS lines
    FROM raw.line_counts
    WHERE source = $source AND outcome = 'rejected' AND starts_with(reason, 'wider than the cluster')
),

overfull AS (
    SELECT capacity.*, here.cluster_procs, here.has_dates
    FROM core.capacity AS capacity, here
    WHERE capacity.source = $source AND capacity.peak_procs > here.cluster_procs
),

-- one user in one week
weeks AS (
    SELECT date_trunc('week', local_time)::DATE AS week, coalesce(user_name, 'unknown') AS user_name, count(*) AS jobs
    FROM jobs
    GROUP BY ALL
),

all_weeks AS (
    SELECT week, sum(jobs) AS jobs FROM weeks GROUP BY week
),

flurries AS (
    SELECT weeks.*
    FROM weeks
    INNER JOIN all_weeks ON weeks.week = all_weeks.week
    WHERE weeks.jobs > all_weeks.jobs / 2 AND all_weeks.jobs > 3 * (SELECT median(jobs) FROM all_weeks)
),

days_told AS (
    SELECT DISTINCT local_time::DATE AS day FROM jobs
    UNION
    SELECT DISTINCT timezone(here.time_zone, timezone('UTC', unnest([jobs.start_time, jobs.end_time])))::DATE AS day
    FROM jobs, here
),

-- from when on the log has all jobs: who was submitted before, and is in it, has ended since
begin AS (
    SELECT
        first_s < complete_s AS is_cut,
        make_timestamp((complete_s * 1000000)::BIGINT) AS complete_time,
        timezone(time_zone, timezone('UTC', complete_time))::DATE AS day
    FROM covered
    WHERE source = $source
),

survivors AS (
    SELECT count(*) AS jobs, min(jobs.submit_time) AS earliest FROM jobs, begin WHERE is_cut AND jobs.submit_time < begin.complete_time
),

-- days without anything before each day: counted and not listed, because one wrong time may be thousands of years away
missing AS (
    SELECT lag(day) OVER (ORDER BY day) + 1 AS day, day - lag(day) OVER (ORDER BY day) - 1 AS days
    FROM days_told
    WHERE day >= (SELECT day FROM begin)
    QUALIFY days > 0
),

-- PBS: the clock of the server by its records' stamps, line by line
stamps AS (
    SELECT
        file,
        line,
        record_type,
        end_s,
        logged_s,
        logged_s - lag(logged_s) OVER (PARTITION BY file ORDER BY line) AS step_s,
        epoch(timezone(here.time_zone, make_timestamp(logged_s * 1000000)))::BIGINT AS utc_s,
        epoch(timezone(here.time_zone, make_timestamp((logged_s - 86400) * 1000000)))::BIGINT + 86400 AS utc_by_yesterday_s,
        epoch(timezone(here.time_zone, make_timestamp((logged_s + 86400) * 1000000)))::BIGINT - 86400 AS utc_by_tomorrow_s
    FROM raw.pbs_records, here
    WHERE source = $source AND logged_s IS NOT NULL
),

-- on the day when the time zone puts the clock back it may go back
jumps AS (
    SELECT * FROM stamps WHERE step_s < -60 AND utc_by_yesterday_s = utc_by_tomorrow_s
),

late AS (
    SELECT *, utc_s - end_s AS late_s
    FROM stamps
    WHERE
        record_type = 'E'
        AND least(abs(utc_s - end_s), abs(utc_by_yesterday_s - end_s), abs(utc_by_tomorrow_s - end_s)) > 300
),

-- the most in use in the 60 days before and after each day
around AS (
    SELECT
        day,
        max(peak_procs) OVER (ORDER BY day RANGE BETWEEN INTERVAL 60 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING) AS before_procs,
        max(peak_procs) OVER (ORDER BY day RANGE BETWEEN CURRENT ROW AND INTERVAL 59 DAY FOLLOWING) AS after_procs
    FROM core.capacity
    WHERE source = $source
    QUALIFY day - min(day) OVER () >= 60 AND max(day) OVER () - day >= 59
),

stepped AS (
    SELECT *, abs(ln(after_procs / before_procs)) AS step
    FROM around
    WHERE before_procs > 0 AND after_procs > 0 AND abs(ln(after_procs / before_procs)) > ln(1.25)
),

-- days in a row are one change
changes AS (
    SELECT max_by(day, (step, day)) AS day, max_by(before_procs, (step, day)) AS before_procs, max_by(after_procs, (step, day)) AS after_procs
    FROM (SELECT *, day - (row_number() OVER (ORDER BY day))::INTEGER AS run FROM stepped)
    GROUP BY run
),

findings AS (
    SELECT 'rejected lines' AS finding, rejected AS found, 'lines' AS unit, rejected / nullif(lines, 0) AS share,
        (SELECT min_by(file || ':' || line || ': ' || reason, (file, line)) FROM raw.rejects WHERE source = $source) AS example,
        'lines that should have held a record, which stand in raw.rejects with their reasons' AS meaning
    FROM lines
    UNION ALL
    SELECT 'wider than the cluster', lines, 'lines', NULL, NULL,
        'jobs with more processors than the cluster, left out by drop_wider: is `procs` right?'
    FROM wider
    UNION ALL
    SELECT 'outdated rows', coalesce(sum(accepted), 0)::BIGINT, 'jobs', sum(accepted) / nullif((SELECT accepted FROM lines), 0),
        min_by(file || ': ' || outdated, file),
        'jobs of files that are gone, which could not be brought up to date with the catalogue or a newer reader'
    FROM raw.log_files WHERE source = $source AND outdated IS NOT NULL
    UNION ALL
    SELECT 'told again', count(*), 'records', count(*) / nullif((SELECT accepted FROM lines), 0), min_by(file || ':' || line, (file, line)),
        'records of a job that another file or a later record tells too (core.repeats), each job counts once'
    FROM core.repeats WHERE source = $source AND reason IS DISTINCT FROM 'partial execution'
    UNION ALL
    SELECT 'partial executions', count(*), 'lines', count(*) / nullif((SELECT accepted FROM lines), 0),
        min_by(file || ':' || line, (file, line)),
        'SWF: lines of parts of a job that has a line as a whole too (core.repeats), each job counts once'
    FROM core.repeats WHERE source = $source AND reason = 'partial execution'
    UNION ALL
    SELECT 'ids used again', ids_again, 'jobs', ids_again / nullif(jobs, 0), NULL,
        'jobs whose id another job had before: the counter has wrapped, or several systems write this log'
    FROM of_jobs
    UNION ALL
    SELECT 'over 100 % in use', count(*), 'days', count(*) / nullif((SELECT count(*) FROM core.capacity WHERE source = $source), 0),
        max_by(
            if(has_dates, day::VARCHAR, 'day ' || (day - DATE '1970-01-01') || ' of the log') || ': ' || peak_procs
            || ' of ' || cluster_procs || ' processors', (peak_procs, day)
        ),
        'days with more processors in use at one time than the cluster has: is `procs` right, are jobs told twice?'
    FROM overfull
    UNION ALL
    SELECT 'times backwards', count(*), 'lines', count(*) / nullif((SELECT lines FROM lines), 0), min_by(file || ':' || line, (file, line)),
        'a start before the submission or an end before the start: SWF jobs are kept without a start, others are rejected'
    FROM backwards
    UNION ALL
    SELECT 'time zone assumed', if(zone_assumed, jobs, 0), 'jobs', if(zone_assumed, 1.0, 0.0), if(zone_assumed, time_zone, NULL),
        'PBS, Slurm: jobs read with a time zone that nobody gave: give the right one with `tracehouse ingest --time-zone`'
    FROM of_jobs, here
    UNION ALL
    SELECT 'no start', no_start, 'jobs', no_start / nullif(jobs, 0), NULL,
        'jobs whose start the log does not tell: they have no wait. Where no job has one, submissions are taken for starts'
    FROM of_jobs
    UNION ALL
    SELECT 'zero length', zero_length, 'jobs', zero_length / nullif(jobs, 0), zero_example,
        'jobs that ran for less than a second: mostly failed at once, replays leave them out'
    FROM of_jobs
    UNION ALL
    SELECT 'over the limit', over_limit, 'jobs', over_limit / nullif(jobs, 0), over_example,
        'jobs that ran more than a minute longer than they asked for: limits are not enforced, or clocks differ'
    FROM of_jobs
    UNION ALL
    SELECT 'no request', no_request, 'jobs', no_request / nullif(jobs, 0), NULL,
        'jobs without a requested wall time: replays take their run time for it, which flatters backfilling'
    FROM of_jobs
    UNION ALL
    SELECT 'no user', no_user, 'jobs', no_user / nullif(jobs, 0), NULL, 'jobs without a user: no history, no fair share'
    FROM of_jobs
    UNION ALL
    SELECT 'flurries', count(*), 'user-weeks', sum(jobs) / nullif((SELECT jobs FROM of_jobs), 0),
        max_by(
            user_name || ' in the week of ' || if(has_dates, week::VARCHAR, 'day ' || (week - DATE '1970-01-01') || ' of the log')
            || ': ' || jobs || ' jobs', (jobs, week, user_name)
        ),
        'one user submits more than half of the jobs of a week that has more than three times the median: results may be about that user'
    FROM flurries, here
    UNION ALL
    SELECT 'before the begin', survivors.jobs, 'jobs', survivors.jobs / nullif((SELECT jobs FROM of_jobs), 0),
        if(survivors.jobs > 0, if(has_dates, 'the log begins on ' || begin.day, 'the log begins on day ' || (begin.day - DATE '1970-01-01')), NULL),
        'jobs submitted before the first end in the log: others of that time ended earlier and are not in it, so months before are partial'
    FROM survivors, begin, here
    UNION ALL
    SELECT 'missing days', coalesce(sum(days), 0)::BIGINT, 'days', NULL,
        if(any_value(has_dates), min(day)::VARCHAR, 'day ' || (min(day) - DATE '1970-01-01') || ' of the log'),
        'days on which no job was submitted, started or ended, between the begin of the log and its last: the system was down, or a file is missing'
    FROM missing, here
    UNION ALL
    SELECT 'clock jumps', count(*), 'records', count(*) / nullif((SELECT count(*) FROM stamps), 0),
        min_by(file || ':' || line || ' is ' || -step_s || ' s before the line above', (step_s, file, line)),
        'PBS: records stamped more than a minute earlier than the line above, other than by summer time'
    FROM jumps
    UNION ALL
    SELECT 'stamps off', count(*), 'records', count(*) / nullif((SELECT count(*) FROM stamps WHERE record_type = 'E'), 0),
        min_by(file || ':' || line || ' is ' || late_s || ' s after the end it tells', (-abs(late_s), file, line)),
        'PBS: end records stamped more than five minutes from the end they tell: is the time zone right?'
    FROM late
    UNION ALL
    SELECT 'changes of size', count(*), 'changes', NULL,
        max_by(
            if(has_dates, day::VARCHAR, 'day ' || (day - DATE '1970-01-01') || ' of the log') || ': ' || before_procs || ' to '
            || after_procs || ' processors', (abs(ln(after_procs / before_procs)), day)
        ),
        'the most processors in use differs by more than a quarter between the 60 days before and after: the cluster may have changed'
    FROM changes, here
)

SELECT $source AS source, * FROM findings

-- [health_report]
-- The findings of one source, those that found something first.
SELECT finding, found, unit, share, example, meaning
FROM marts.trace_health
WHERE source = $source
ORDER BY found = 0, share DESC NULLS LAST, finding
