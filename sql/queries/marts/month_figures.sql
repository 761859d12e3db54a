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
