gaps AS (
    SELECT
        job_id,
        submit_time,
        start_time,
        list(from_time ORDER BY from_time) AS from_times,
        list(to_time ORDER BY from_time) AS to_times,
        to_seconds(sum(epoch(to_time) - epoch(from_time))::BIGINT) AS gap
    FROM core.suspensions
    WHERE source = $source
    GROUP BY ALL
),

-- jobs from their start to their end. Of a job whose log only tells how long it was suspended, the suspension is taken to come last
spans AS (
    SELECT
        jobs.job_index,
        coalesce(jobs.start_time, jobs.submit_time) AS start_time,
        coalesce(jobs.start_time, jobs.submit_time) + to_seconds(jobs.runtime_s) + coalesce(gaps.gap, INTERVAL 0 SECOND) AS end_time,
        jobs.procs,
        coalesce(jobs.gpus, 0) AS gpus,
        jobs.runtime_s <= 0 AS is_momentary,
        gaps.from_times,
        gaps.to_times
    FROM core.jobs AS jobs
    LEFT JOIN gaps
        ON
            jobs.runtime_s > 0
            AND jobs.job_id = gaps.job_id
            AND jobs.submit_time = gaps.submit_time
            AND jobs.start_time = gaps.start_time
    WHERE
        jobs.source = $source
        AND jobs.procs IS NOT NULL
        AND jobs.runtime_s IS NOT NULL
        AND NOT (jobs.start_time IS NULL AND jobs.runtime_s = 0)
),

-- each time in which a job held its processors: one for most jobs, several for one that was suspended
stretches AS (
    SELECT job_index, start_time, end_time, procs, gpus, is_momentary FROM spans WHERE from_times IS NULL
    UNION ALL
    SELECT *
    FROM (
        SELECT
            job_index,
            unnest(list_prepend(start_time, to_times)) AS start_time,
            unnest(list_append(from_times, end_time)) AS end_time,
            procs,
            gpus,
            false AS is_momentary
        FROM spans
        WHERE from_times IS NOT NULL
    )
    WHERE start_time < end_time
),
