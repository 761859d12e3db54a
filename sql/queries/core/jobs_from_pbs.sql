-- Canonical jobs of one PBS source, submitted from $from_s and before $to_s, seconds since 1970 ($clock_zero); the first has the
-- index $first_index. Ends of jobs, and those in `cancelled_jobs` (core.cancelled_pbs), which were deleted while they waited. The table
-- `suspended_jobs` (core.suspended_pbs) has the times in which jobs were suspended.
-- held_nodes is no column of core.jobs: core.job_nodes is made of it.
WITH pbs AS (
    SELECT
        jobs.* EXCLUDE (source, record_type, logged_s, message, requestor),
        jobs.ctime_s AS submit_s,
        NULL AS deleted_s
    FROM raw.pbs_records AS jobs
    ANTI JOIN (FROM core.repeats WHERE source = $source) AS repeats ON jobs.file = repeats.file AND jobs.line = repeats.line
    WHERE jobs.source = $source AND jobs.record_type = 'E' AND jobs.ctime_s >= $from_s AND jobs.ctime_s < $to_s
    UNION ALL BY NAME
    SELECT * EXCLUDE (source, time_s)
    FROM cancelled_jobs
    WHERE submit_s >= $from_s AND submit_s < $to_s
),

suspended AS (
    SELECT job_id, submit_s, start_s, sum(to_s - from_s)::BIGINT AS suspended_s FROM suspended_jobs GROUP BY ALL
),

attempts AS (
    SELECT DISTINCT job_id, ctime_s AS submit_s, start_s, end_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'R' AND start_s <= end_s AND ctime_s >= $from_s AND ctime_s < $to_s
    UNION
    SELECT job_id, submit_s, start_s, end_s
    FROM core.repeats
    WHERE source = $source AND submit_s >= $from_s AND submit_s < $to_s
),

requeued AS (
    SELECT
        pbs.file,
        pbs.line,
        count(*) AS requeues,
        sum(attempts.end_s - attempts.start_s - coalesce(suspended.suspended_s, 0))::BIGINT AS requeued_s
    FROM attempts
    INNER JOIN pbs
        ON attempts.job_id = pbs.job_id AND attempts.submit_s = pbs.submit_s AND attempts.start_s IS DISTINCT FROM pbs.start_s
    LEFT JOIN suspended
        ON
            attempts.job_id = suspended.job_id
            AND attempts.submit_s = suspended.submit_s
            AND attempts.start_s = suspended.start_s
    GROUP BY pbs.file, pbs.line
),

-- a job that has its nodes alone takes all that they have
assigned AS (
    SELECT job_id, ctime_s AS submit_s, start_s, max(assigned_procs) AS assigned_procs, max(assigned_gpus) AS assigned_gpus
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'S' AND ctime_s >= $from_s AND ctime_s < $to_s AND assigned_procs IS NOT NULL
    GROUP BY ALL
),

-- somebody asked for the deletion of the job; it ends soon after
deletions AS (
    SELECT DISTINCT
        job_id, epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT AS asked_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'D' AND logged_s >= $from_s - 2 * 86400
),

deleted_runs AS (
    SELECT DISTINCT pbs.file, pbs.line
    FROM pbs
    INNER JOIN deletions ON pbs.job_id = deletions.job_id AND deletions.asked_s BETWEEN pbs.start_s AND pbs.end_s
    WHERE pbs.deleted_s IS NULL
),

-- when a reservation was to begin; one that stands begins many times
reservations AS (
    SELECT DISTINCT job_id AS reservation, start_s AS begins_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('B', 'Y') AND start_s IS NOT NULL
),

reserved AS (
    SELECT pbs.file, pbs.line, reservations.begins_s
    FROM (SELECT *, coalesce(deleted_s, start_s) AS left_s FROM pbs WHERE reservation IS NOT NULL) AS pbs
    ASOF INNER JOIN reservations ON pbs.reservation = reservations.reservation AND pbs.left_s >= reservations.begins_s
),

facts AS (
    SELECT
        pbs.*,
        coalesce(pbs.deleted_s, pbs.start_s) AS left_s, -- the queue
        greatest(coalesce(nullif(pbs.etime_s, 0), pbs.submit_s), reserved.begins_s) AS eligible_s,
        -- only the record of the queue is known of a job that was never eligible, or whose reservation had not begun
        pbs.deleted_s IS NOT NULL AND (pbs.etime_s = 0 OR (pbs.reservation IS NOT NULL AND reserved.begins_s IS NULL))
            AS never_eligible,
        reserved.begins_s IS NOT NULL AS is_reserved,
        requeued.requeues,
        requeued.requeued_s,
        coalesce(suspended.suspended_s, 0) AS suspended_s,
        greatest(coalesce(pbs.procs, pbs.requested_procs), assigned.assigned_procs) AS held_procs,
        greatest(pbs.gpus, assigned.assigned_gpus) AS held_gpus,
        deleted_runs.file IS NOT NULL AS was_deleted,
        -- Torque's negative exit statuses mean other things than those of PBS Pro, whose records have a project or an eligible time
        pbs.project IS NULL AND pbs.eligible_wait_s IS NULL AS is_torque
    FROM pbs
    LEFT JOIN requeued ON pbs.file = requeued.file AND pbs.line = requeued.line
    LEFT JOIN suspended ON pbs.job_id = suspended.job_id AND pbs.submit_s = suspended.submit_s AND pbs.start_s = suspended.start_s
    LEFT JOIN assigned ON pbs.job_id = assigned.job_id AND pbs.submit_s = assigned.submit_s AND pbs.start_s = assigned.start_s
    LEFT JOIN deleted_runs ON pbs.file = deleted_runs.file AND pbs.line = deleted_runs.line
    LEFT JOIN reserved ON pbs.file = reserved.file AND pbs.line = reserved.line
),

ordered AS (
    SELECT * FROM facts ORDER BY submit_s, file, line
),

final AS (
    SELECT
        $source AS source,
        $first_index + row_number() OVER () - 1 AS job_index,
        job_id,
        $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
        CASE WHEN NOT never_eligible THEN $clock_zero::TIMESTAMP + to_seconds(eligible_s) END AS eligible_time,
        CASE WHEN deleted_s IS NULL THEN $clock_zero::TIMESTAMP + to_seconds(start_s) END AS start_time,
        $clock_zero::TIMESTAMP + to_seconds(coalesce(deleted_s, end_s)) AS end_time,
        left_s - submit_s AS wait_s,
        CASE
            WHEN never_eligible THEN 0
            -- PBS goes on counting while the job is suspended, and before its reservation begins
            WHEN is_reserved THEN least(eligible_wait_s, greatest(left_s - eligible_s, 0))
            ELSE least(coalesce(eligible_wait_s, greatest(left_s - eligible_s, 0)), left_s - submit_s)
        END AS eligible_wait_s,
        CASE WHEN deleted_s IS NULL THEN end_s - start_s - suspended_s ELSE 0 END AS runtime_s,
        held_procs AS procs,
        requested_procs,
        CASE WHEN requested_walltime_s > 0 THEN requested_walltime_s END AS requested_walltime_s,
        held_gpus AS gpus,
        nodes,
        requested_memory_kb,
        used_memory_kb,
        used_cpu_s,
        user_name,
        group_name,
        account,
        -- each reservation has a queue of its own, named as the reservation
        CASE WHEN reservation || '.' LIKE queue || '.%' THEN 'reservation' ELSE queue END AS queue,
        job_name AS executable,
{{ pbs_status }}
        CASE WHEN deleted_s IS NULL THEN coalesce(run_count, 1 + coalesce(requeues, 0)) ELSE coalesce(requeues, 0) END AS run_count,
        coalesce(requeued_s, 0) AS requeued_s,
        file,
        line,
        reservation,
        suspended_s,
        -- every chunk is on a node of its own only where it is scattered
        CASE
            WHEN place LIKE '%scatter%' AND regexp_full_match(selected_chunks, '[0-9]{1,9}(:.*)?')
                THEN regexp_extract(selected_chunks, '^[0-9]+')::BIGINT
            WHEN regexp_full_match(torque_nodes, '[0-9]{1,9}([:#].*)?') THEN regexp_extract(torque_nodes, '^[0-9]+')::BIGINT
        END AS requested_nodes,
        CASE
            WHEN regexp_matches(selected_chunks, '(^|[:+])mem=') THEN 'chunk'
            WHEN requested_memory_kb IS NOT NULL THEN 'job'
        END AS memory_per,
        CASE
            WHEN place IS NOT NULL THEN regexp_matches(place, '(^|:)excl(host)?(:|$)')
            WHEN torque_nodes IS NOT NULL THEN regexp_matches(torque_nodes, '#excl')
        END AS is_exclusive,
        CASE WHEN deleted_s IS NULL THEN coalesce(exec_vnode, exec_host) END AS held_nodes
    FROM ordered
)

SELECT * FROM final
