-- The months of each log, and how much of each the log covers: join it to other marts to leave partial months out.
CREATE OR REPLACE VIEW marts.months AS
WITH logs AS (
    SELECT
        jobs.source,
        any_value(sources.time_zone) AS time_zone,
        epoch(min(jobs.submit_time)) AS first_s,
        epoch(max(jobs.submit_time)) AS last_s,
        epoch(min(jobs.start_time + to_seconds(coalesce(jobs.runtime_s, 0)))) AS first_end_s
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    GROUP BY jobs.source
),

-- as models.waits.periods.complete_from has it: a log that was cut at ends of jobs has all jobs from the first end on
covered AS (
    SELECT
        *,
        CASE
            WHEN first_end_s - first_s > greatest(0.05 * (last_s - first_s), 86400) AND first_end_s < last_s THEN first_end_s
            ELSE first_s
        END AS complete_s
    FROM logs
),

months AS (
    SELECT
        facts.source,
        facts.month,
        count(*) AS jobs,
        epoch(timezone(any_value(covered.time_zone), facts.month::TIMESTAMP)) AS begin_s,
        epoch(timezone(any_value(covered.time_zone), facts.month + INTERVAL 1 MONTH)) AS end_s,
        any_value(covered.complete_s) AS complete_s,
        any_value(covered.last_s) AS last_s
    FROM marts.job_facts AS facts
    INNER JOIN covered ON facts.source = covered.source
    GROUP BY facts.source, facts.month
)

SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- first day, in the cluster's time zone
    jobs AS jobs, -- submitted in it
    complete_s - begin_s > 86400 OR end_s - 1 - last_s > 86400 AS is_partial, -- whether the log covers it in part only, by more than a day
    greatest(least(end_s, last_s + 1) - greatest(begin_s, complete_s), 0) / (end_s - begin_s) AS covered_share, -- share of its time that the log covers
FROM months
