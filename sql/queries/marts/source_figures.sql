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
