-- [has_dates]
        -- SWF without UnixStartTime counts from a second 0 that nobody knows
        format <> 'swf' OR year(clock_zero) > 1970 AS has_dates

-- [held_stretches]
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

-- [log_begins]
log_spans AS (
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

-- as models.waits.clock.complete_from has it: a log that was cut at ends of jobs has all jobs from the first end on
covered AS (
    SELECT
        *,
        CASE
            WHEN first_end_s - first_s > greatest(0.05 * (last_s - first_s), 86400) AND first_end_s < last_s THEN first_end_s
            ELSE first_s
        END AS complete_s
    FROM log_spans
),

-- [longest_waits]
    max(wait_s) AS max_wait_s, -- longest wait, seconds
    avg(eligible_wait_s) AS average_eligible_wait_s, -- mean wait in which nothing but resources held jobs back, seconds

-- [canonical_slurm]
allocated AS (
    SELECT
        *,
        nullif(array_to_string(regexp_extract_all(requested_tres, 'gres/gpu:([^=,]+=\d{1,9})', 1), ','), '') AS tracked_gpu_types,
        nullif(array_to_string(regexp_extract_all(allocated_tres, 'gres/gpu:([^=,]+=\d{1,9})', 1), ','), '') AS allocated_gpu_types
    FROM slurm
),

typed AS (
    SELECT
        *,
        -- the log may name the type of what a job got that had asked for any
        CASE
            WHEN tracked_gpu_types IS NOT NULL THEN tracked_gpu_types
            WHEN asked_gpus IS NOT NULL THEN nullif(array_to_string(regexp_extract_all(asked_gpus, '[^=,]+=\d+'), ','), '')
            WHEN regexp_matches(requested_tres, '(^|,)gres/gpu=[1-9]') THEN NULL
            ELSE allocated_gpu_types
        END AS requested_gpu_types
    FROM allocated
),

final AS (
    SELECT
        source,
        $first_index + row_number() OVER () - 1 AS job_index,
        job_id,
        $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
        $clock_zero::TIMESTAMP + to_seconds(coalesce(eligible_s, submit_s)) AS eligible_time,
        $clock_zero::TIMESTAMP + to_seconds(start_s) AS start_time,
        $clock_zero::TIMESTAMP + to_seconds(end_s) AS end_time,
        coalesce(start_s, end_s) - submit_s AS wait_s,
        greatest(coalesce(start_s, end_s) - coalesce(eligible_s, submit_s), 0) AS eligible_wait_s,
        end_s - coalesce(start_s, end_s) - suspended_in_run_s AS runtime_s,
        procs,
        requested_procs,
        CASE WHEN time_limit_s > 0 THEN time_limit_s END AS requested_walltime_s,
        gpus,
        nodes,
        requested_memory_kb,
        used_memory_kb,
        -- what ran used some milliseconds: 0 stands where Slurm did not measure
        CASE WHEN used_cpu_s > 0 OR start_s IS NULL THEN used_cpu_s END AS used_cpu_s,
        user_name,
        group_name,
        account,
        partition AS queue,
        job_name AS executable,
        CASE
            WHEN state = 'COMPLETED' THEN 'completed'
            WHEN state IN ('CANCELLED', 'REVOKED') THEN 'cancelled'
            WHEN state IN ('FAILED', 'LAUNCH_FAILED', 'RECONFIG_FAIL') THEN 'failed'
            WHEN state = 'TIMEOUT' THEN 'timeout'
            WHEN state = 'OUT_OF_MEMORY' THEN 'out_of_memory'
            WHEN state IN ('NODE_FAIL', 'BOOT_FAIL') THEN 'node_failure'
            WHEN state = 'PREEMPTED' THEN 'preempted'
            WHEN state = 'REQUEUED' THEN 'requeued'
            WHEN state = 'DEADLINE' THEN 'deadline'
            ELSE 'unknown'
        END AS status,
        CASE WHEN requeues > 0 THEN requeues + (start_s IS NOT NULL)::BIGINT END AS run_count,
        coalesce(requeued_s, 0) AS requeued_s,
        file,
        line,
        suspended_in_run_s AS suspended_s,
        qos,
        reservation,
        nullif(regexp_extract(requested_tres, '(?:^|,)node=(\d{1,9})(?:,|$)', 1), '')::BIGINT AS requested_nodes,
        coalesce(allocated_gpu_types, requested_gpu_types) AS gpu_types,
        requested_gpu_types,
        memory_per,
        constraints AS features,
        -- of the options before the script; with user and mcs other jobs may be on the nodes
        regexp_matches(
            regexp_replace(submit_line, '\s--wrap(\s|=).*', ''),
            '^\S+(\s+-\S*(\s+[^-\s]\S*)?)*\s+--exclus(i|iv|ive)?(=(?i:exclusive|allocation|topo))?(\s|$)'
        ) AS is_exclusive,
        reason,
        priority,
        dependency,
        CASE WHEN start_s IS NOT NULL THEN node_list END AS held_nodes
    FROM typed
)

-- [left_before_start]
        -- cancelled, or otherwise gone from the queue without a start
        coalesce(jobs.runtime_s, 0) <= 0 AND (jobs.status = 'cancelled' OR jobs.start_time IS NULL) AND jobs.wait_s >= 0 AS left_before_start,

-- [numbered_jobs]
numbered AS NOT MATERIALIZED (
    SELECT
        jobs.*,
        users.number AS user_number,
        groups.number AS group_number,
        executables.number AS executable_number,
        epoch(jobs.submit_time - sources.clock_zero)::BIGINT AS submit_s,
        epoch(jobs.start_time - sources.clock_zero)::BIGINT AS start_s,
{{ left_before_start }}
        left_before_start AND jobs.requested_walltime_s > 0 AS was_cancelled
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
    INNER JOIN replay_names AS users ON users.kind = 'user' AND jobs.user_name IS NOT DISTINCT FROM users.name
    INNER JOIN replay_names AS groups ON groups.kind = 'group' AND jobs.group_name IS NOT DISTINCT FROM groups.name
    INNER JOIN replay_names AS executables
        ON executables.kind = 'executable' AND jobs.executable IS NOT DISTINCT FROM executables.name
    WHERE jobs.source = $source AND jobs.job_index >= $from_index AND jobs.job_index < $to_index
),

replayable AS NOT MATERIALIZED (
    SELECT * FROM numbered WHERE procs > 0 AND (runtime_s > 0 OR ($cancelled AND was_cancelled))
)

-- [known_waits]
-- the one definition of waits in all that people read: jobs that left the queue while they waited are counted apart
    CASE WHEN start_time IS NOT NULL THEN wait_s END AS wait_s, -- start minus submission, seconds, of a job that started; NULL of others, and where the log does not know
    CASE WHEN start_time IS NULL THEN wait_s END AS left_after_s, -- seconds from submission until a job left the queue without a start, such as a cancelled one; NULL of others

-- [left_sums]
    count(left_after_s) AS left_jobs, -- jobs that left the queue without a start; they are in no figure of waits
    coalesce(sum(left_after_s), 0) / 3600 AS left_hours, -- hours that they had waited until then

-- [of_known_waits]
FROM marts.job_facts
WHERE wait_s IS NOT NULL
GROUP BY ALL

-- [pbs_status]
        -- docs/reference/logs.md says which exit status means what
        CASE
            WHEN deleted_s IS NOT NULL THEN 'cancelled'
            WHEN exit_status = 0 THEN 'completed'
            WHEN exit_status IS NULL THEN 'unknown'
            WHEN is_torque AND exit_status = -10 THEN 'out_of_memory'
            WHEN is_torque AND exit_status IN (-11, -12) THEN 'timeout'
            WHEN is_torque AND exit_status IN (-3, -13, -14) THEN 'requeued'
            WHEN exit_status IN (-28, -29) THEN 'timeout'
            WHEN exit_status IN (-26, -27) THEN 'out_of_memory'
            WHEN exit_status IN (-4, -5, -6, -14, -20) THEN 'node_failure'
            WHEN exit_status IN (-3, -11, -15, -16, -18) THEN 'requeued'
            WHEN exit_status = -19 OR was_deleted THEN 'cancelled'
            -- ended by SIGTERM or SIGKILL at its limit
            WHEN exit_status IN (137, 143, 265, 271) AND end_s - start_s - suspended_s >= nullif(requested_walltime_s, 0) THEN 'timeout'
            ELSE 'failed'
        END AS status,

-- [replay_metrics]
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds: start minus submission
    median_wait_s DOUBLE NOT NULL, -- median wait, seconds
    p90_wait_s DOUBLE NOT NULL, -- 90th percentile of the wait, seconds
    p95_wait_s DOUBLE NOT NULL, -- 95th percentile of the wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the wait, seconds
    max_wait_s DOUBLE NOT NULL, -- largest wait, seconds
    average_turnaround_s DOUBLE NOT NULL, -- mean turnaround, seconds: wait plus run time
    median_turnaround_s DOUBLE NOT NULL, -- median turnaround, seconds
    p90_turnaround_s DOUBLE NOT NULL, -- 90th percentile of the turnaround, seconds
    p95_turnaround_s DOUBLE NOT NULL, -- 95th percentile of the turnaround, seconds
    p99_turnaround_s DOUBLE NOT NULL, -- 99th percentile of the turnaround, seconds
    max_turnaround_s DOUBLE NOT NULL, -- largest turnaround, seconds
    average_slowdown DOUBLE NOT NULL, -- mean slowdown: turnaround over run time of at least 1 s
    median_slowdown DOUBLE NOT NULL, -- median slowdown
    p90_slowdown DOUBLE NOT NULL, -- 90th percentile of the slowdown
    p95_slowdown DOUBLE NOT NULL, -- 95th percentile of the slowdown
    p99_slowdown DOUBLE NOT NULL, -- 99th percentile of the slowdown
    max_slowdown DOUBLE NOT NULL, -- largest slowdown
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown: turnaround over run time of at least 10 s, at least 1
    median_bounded_slowdown DOUBLE NOT NULL, -- median bounded slowdown
    p90_bounded_slowdown DOUBLE NOT NULL, -- 90th percentile of the bounded slowdown
    p95_bounded_slowdown DOUBLE NOT NULL, -- 95th percentile of the bounded slowdown
    p99_bounded_slowdown DOUBLE NOT NULL, -- 99th percentile of the bounded slowdown
    max_bounded_slowdown DOUBLE NOT NULL, -- largest bounded slowdown
    average_per_processor_bounded_slowdown DOUBLE NOT NULL, -- mean of turnaround over processors times run time of at least 10 s, at least 1
    median_per_processor_bounded_slowdown DOUBLE NOT NULL, -- median bounded slowdown per processor
    p90_per_processor_bounded_slowdown DOUBLE NOT NULL, -- 90th percentile of the bounded slowdown per processor
    p95_per_processor_bounded_slowdown DOUBLE NOT NULL, -- 95th percentile of the bounded slowdown per processor
    p99_per_processor_bounded_slowdown DOUBLE NOT NULL, -- 99th percentile of the bounded slowdown per processor
    max_per_processor_bounded_slowdown DOUBLE NOT NULL, -- largest bounded slowdown per processor
    area_weighted_wait_s DOUBLE NOT NULL, -- mean wait weighted by processors times run time, seconds
    area_weighted_turnaround_s DOUBLE NOT NULL, -- mean turnaround weighted by processors times run time, seconds
    utilisation DOUBLE NOT NULL, -- processor time held over processor time there, first submission to last completion
    loss_of_capacity DOUBLE NOT NULL, -- share of the processor time there that was free while waiting jobs asked for it
    average_queue_length DOUBLE NOT NULL, -- jobs waiting, mean over time
    average_job_load_proc_s DOUBLE NOT NULL, -- processors times run time of the jobs waiting, mean over time, processor-seconds
    throughput_jobs_per_hour DOUBLE NOT NULL, -- jobs ended per hour
    makespan_s DOUBLE NOT NULL, -- last completion minus first submission, seconds
    backfilled_share DOUBLE NOT NULL, -- share of jobs started past a blocked head
    waits_over_24_h_share DOUBLE NOT NULL, -- share of jobs that waited longer than 24 hours
    average_user_wait_s DOUBLE NOT NULL, -- mean over users of the user's mean wait, seconds
    max_user_wait_s DOUBLE NOT NULL, -- largest of the users' mean waits, seconds
    average_user_bounded_slowdown DOUBLE NOT NULL, -- mean over users of the user's mean bounded slowdown
    max_user_bounded_slowdown DOUBLE NOT NULL, -- largest of the users' mean bounded slowdowns
    jain_index_user_bounded_slowdown DOUBLE NOT NULL, -- Jain's fairness index of the users' mean bounded slowdowns, 1 is equal
    jobs_cancelled DOUBLE NOT NULL, -- jobs cancelled while they waited; they are in no other metric

-- [timed_jobs]
starts AS (
    -- the first start that is found ends the search, so that statements about a slice of a large log may ask, too
    SELECT NOT exists(FROM core.jobs WHERE source = $source AND start_time IS NOT NULL) AS are_unknown
),

timed_jobs AS (
    SELECT
        jobs.*,
        -- Some logs have no start of any job. Then the time of submission is taken as the start, so that users have a history.
        -- Where other jobs have a start, a job without one keeps none. Its end is unknown, and a guess could be too early, so
        -- that features would use what nobody knew yet.
        jobs.runtime_s > 0 AND starts.are_unknown AS started_at_submission,
        coalesce(jobs.start_time, CASE WHEN started_at_submission THEN jobs.submit_time END) AS taken_start_time,
        coalesce(jobs.end_time, CASE WHEN started_at_submission THEN jobs.submit_time + to_seconds(jobs.runtime_s) END)
            AS taken_end_time
    FROM core.jobs AS jobs
    CROSS JOIN starts
    WHERE jobs.source = $source
),

-- [wait_statistics]
    count(*) AS jobs, -- jobs that started, at a time that the log knows
    avg(wait_s) AS average_wait_s, -- mean wait from submission, seconds
    median(wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds

-- [waits_by_month]
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day

-- [wasted_sums]
    count(*) AS jobs, -- jobs
    coalesce(sum(core_hours), 0) AS core_hours, -- processors times run time, of all jobs, requeued attempts left out
    sum(lost_core_hours) + coalesce(sum(requeued_core_hours), 0) AS lost_core_hours, -- core hours of jobs that did not complete, and of requeued attempts; NULL where the log does not know how jobs ended
    coalesce(sum(lost_core_hours) FILTER (status = 'failed'), 0) AS failed_core_hours, -- of these, of jobs that failed
    coalesce(sum(lost_core_hours) FILTER (status = 'cancelled'), 0) AS cancelled_core_hours, -- of jobs that somebody cancelled
    coalesce(sum(lost_core_hours) FILTER (status = 'timeout'), 0) AS timeout_core_hours, -- of jobs that ran into their limit; what they wrote before may be of use
    coalesce(sum(lost_core_hours) FILTER (status = 'out_of_memory'), 0) AS out_of_memory_core_hours, -- of jobs that ran out of memory
    coalesce(sum(lost_core_hours) FILTER (status NOT IN ('failed', 'cancelled', 'timeout', 'out_of_memory')), 0) AS other_lost_core_hours, -- of jobs that ended otherwise: node failure, preemption, requeue, deadline
    coalesce(sum(requeued_core_hours), 0) AS requeued_core_hours, -- of attempts that ended in a requeue, whose job ran again
    sum(requested_core_hours) AS requested_core_hours, -- processors times wall time requested, of jobs that ran and had a request
    sum(unused_core_hours) AS unused_core_hours, -- of these, those requested and not used, which other jobs could have
    sum(measured_core_hours) AS measured_core_hours, -- core hours of jobs with a known CPU time
    sum(idle_core_hours) AS idle_core_hours, -- of these, those held without using the CPU
    sum(requested_memory_gib_hours) AS requested_memory_gib_hours, -- memory requested times run time, GiB hours, of jobs with a known use of memory
    sum(unused_memory_gib_hours) AS unused_memory_gib_hours, -- of these, those above the memory used
