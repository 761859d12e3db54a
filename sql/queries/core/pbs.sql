-- [jobs_from_pbs]
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

-- the record of the queue alone names the jobs that a job waits for; tasks of an array have that of the array
named AS (
    SELECT job_id, ctime_s AS submit_s, max_by(dependency, (file, line)) AS dependency
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'Q' AND dependency IS NOT NULL AND ctime_s >= $from_s AND ctime_s < $to_s
    GROUP BY ALL
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
        pbs.* EXCLUDE (dependency),
        coalesce(pbs.dependency, named.dependency) AS dependency,
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
    LEFT JOIN named ON regexp_replace(pbs.job_id, '\[[0-9]+\]', '[]') = named.job_id AND pbs.submit_s = named.submit_s
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
        dependency,
        CASE WHEN deleted_s IS NULL THEN coalesce(exec_vnode, exec_host) END AS held_nodes
    FROM ordered
)

SELECT * FROM final

-- [cancelled_pbs]
-- Jobs of one PBS source, submitted from $from_s on, that were deleted (D) or aborted (A) while they waited: what their last record of
-- the queue (Q) says, and the file and line of the deletion. They never started, or were requeued after each start. Times are seconds
-- since 1970.
WITH events AS (
    SELECT *, epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT AS time_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('Q', 'D', 'A') AND logged_s >= $from_s - 2 * 86400
),

queued AS (
    SELECT
        coalesce(ctime_s, time_s) AS submit_s,
        * EXCLUDE (record_type, file, line, logged_s, message, requestor)
    FROM events
    WHERE record_type = 'Q'
    -- a job that is routed to another queue has two in one second: the later one tells
    QUALIFY row_number() OVER (PARTITION BY job_id, time_s ORDER BY file DESC, line DESC) = 1
),

deleted AS (
    SELECT job_id, time_s, min_by(file, (file, line)) AS file, min_by(line, (file, line)) AS line
    FROM events
    WHERE record_type IN ('D', 'A')
    GROUP BY job_id, time_s
),

-- the job that had the id when it was deleted; systems use ids again
matched AS (
    SELECT queued.*, deleted.time_s AS deleted_s, deleted.file, deleted.line
    FROM deleted
    ASOF INNER JOIN queued ON deleted.job_id = queued.job_id AND deleted.time_s >= queued.time_s
),

-- starts that did not end in a requeue
started AS (
    SELECT starts.job_id, starts.ctime_s
    FROM raw.pbs_records AS starts
    ANTI JOIN (FROM raw.pbs_records WHERE source = $source AND record_type = 'R' AND ctime_s >= $from_s - 60) AS requeues
        ON starts.job_id = requeues.job_id AND starts.ctime_s = requeues.ctime_s AND starts.start_s = requeues.start_s
    WHERE starts.source = $source AND starts.record_type IN ('S', 'E') AND starts.ctime_s >= $from_s - 60
),

-- an array as a whole (12[]) has run when one of its tasks has. It also has when its end record has a start. The clock of a
-- queue record may be a minute off.
ran AS (
    SELECT job_id, ctime_s FROM started
    UNION ALL
    SELECT job_id, ctime_s FROM raw.pbs_records
    WHERE source = $source AND record_type = 'E[]' AND start_s IS NOT NULL AND ctime_s >= $from_s - 60
    UNION ALL
    SELECT regexp_replace(job_id, '\[[0-9]+\]', '[]'), ctime_s FROM started WHERE contains(job_id, '[')
)

SELECT *
FROM matched
WHERE
    submit_s >= $from_s
    AND NOT EXISTS (
        FROM ran WHERE ran.job_id = matched.job_id AND ran.ctime_s BETWEEN matched.submit_s - 60 AND matched.deleted_s
    )
QUALIFY row_number() OVER (PARTITION BY job_id, submit_s ORDER BY deleted_s, file, line) = 1

-- [first_deleted_pbs]
-- First submission, seconds since 1970, of a job of one PBS source whose row a changed file may change, though the file has no record
-- with the job's own times. The file says that the job was deleted, aborted, requeued, suspended or resumed, or it has any record with
-- the id of a job that was deleted while it waited.
WITH changed AS (
    SELECT DISTINCT job_id, record_type IN ('D', 'A', 'R', 'z', 'r') AS is_event
    FROM raw.pbs_records
    WHERE source = $source AND file IN (SELECT file FROM core.changed_files WHERE source = $source)
),

ids AS (
    SELECT job_id FROM changed
    UNION
    SELECT regexp_replace(job_id, '\[[0-9]+\]', '[]') FROM changed WHERE contains(job_id, '[') -- a task also names its array
)

SELECT least(
    (
        SELECT min(coalesce(
            ctime_s, epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT
        ))
        FROM raw.pbs_records
        SEMI JOIN (FROM changed WHERE is_event) USING (job_id)
        WHERE source = $source AND record_type IN ('Q', 'E', 'R')
    ),
    (
        SELECT epoch(min(submit_time))::BIGINT
        FROM core.jobs
        SEMI JOIN ids USING (job_id)
        WHERE source = $source AND start_time IS NULL
    )
)

-- [repeats_pbs]
-- End records of one PBS source, of jobs submitted from $from_s and before $to_s, that are not the last end of their job.
WITH ended AS (
    SELECT job_id, ctime_s, start_s, end_s, file, line
    FROM raw.pbs_records
    WHERE source = $source AND record_type = 'E' AND ctime_s >= $from_s AND ctime_s < $to_s
),

repeated AS (
    SELECT job_id, ctime_s FROM ended GROUP BY job_id, ctime_s HAVING count(*) > 1
),

ranked AS (
    SELECT *, row_number() OVER (PARTITION BY job_id, ctime_s ORDER BY end_s DESC, start_s DESC, file, line) AS position
    FROM ended
    SEMI JOIN repeated USING (job_id, ctime_s)
)

SELECT $source AS source, job_id, ctime_s AS submit_s, start_s, end_s, file, line
FROM ranked
WHERE position > 1

-- [requeues_from_pbs]
-- Attempts of jobs of one PBS source, submitted from $from_s on, that ended in a requeue, beside the jobs they belong to: requeue
-- records, and ends that a later end of the same job replaces. Seconds since 1970 ($clock_zero).
WITH jobs AS (
    SELECT job_id, submit_time, start_time, min(job_index) AS job_index
    FROM core.jobs
    WHERE source = $source AND submit_time >= $clock_zero::TIMESTAMP + to_seconds($from_s)
    GROUP BY ALL
),

attempts AS (
    SELECT records.*
    FROM raw.pbs_records AS records
    LEFT JOIN (FROM core.repeats WHERE source = $source) AS repeats ON records.file = repeats.file AND records.line = repeats.line
    WHERE
        records.source = $source
        AND (records.record_type = 'R' OR (records.record_type = 'E' AND repeats.file IS NOT NULL))
        AND records.ctime_s >= $from_s
        AND records.start_s <= records.end_s
        AND coalesce(records.procs, records.requested_procs) IS NOT NULL
    -- the same record in two files is one
    QUALIFY row_number() OVER (
        PARTITION BY records.job_id, records.ctime_s, records.start_s, records.end_s ORDER BY records.file, records.line
    ) = 1
),

suspended AS (
    SELECT job_id, submit_s, start_s, sum(to_s - from_s)::BIGINT AS suspended_s FROM suspended_jobs GROUP BY ALL
)

SELECT
    $source AS source,
    jobs.job_index,
    attempts.job_id,
    coalesce(
        attempts.run_count,
        row_number() OVER (PARTITION BY attempts.job_id, attempts.ctime_s ORDER BY attempts.start_s, attempts.file, attempts.line)
    ) AS attempt,
    $clock_zero::TIMESTAMP + to_seconds(attempts.ctime_s) AS submit_time,
    $clock_zero::TIMESTAMP + to_seconds(attempts.start_s) AS start_time,
    $clock_zero::TIMESTAMP + to_seconds(attempts.end_s) AS end_time,
    attempts.end_s - attempts.start_s - coalesce(suspended.suspended_s, 0) AS runtime_s,
    coalesce(attempts.procs, attempts.requested_procs) AS procs,
    attempts.used_cpu_s,
    attempts.exit_status,
    attempts.file,
    attempts.line
FROM attempts
LEFT JOIN suspended
    ON
        attempts.job_id = suspended.job_id
        AND attempts.ctime_s = suspended.submit_s
        AND attempts.start_s = suspended.start_s
LEFT JOIN jobs
    ON attempts.job_id = jobs.job_id AND jobs.submit_time = $clock_zero::TIMESTAMP + to_seconds(attempts.ctime_s)
WHERE jobs.start_time IS DISTINCT FROM $clock_zero::TIMESTAMP + to_seconds(attempts.start_s)

-- [suspended_pbs]
-- When started jobs of one PBS source, submitted from $from_s on, were suspended: from a record of suspension (z) to the next one of
-- resumption (r), or to the end. An attempt that ended in a requeue counts as well. Times are seconds since 1970.
WITH attempts AS (
    SELECT DISTINCT job_id, ctime_s, start_s, end_s
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('E', 'R') AND ctime_s >= $from_s AND start_s <= end_s
),

-- the same record in two files is one
stamps AS (
    SELECT
        job_id,
        record_type,
        epoch(timezone('UTC', timezone($time_zone, make_timestamp(logged_s * 1000000))))::BIGINT AS time_s,
        min((file, line)) AS place
    FROM raw.pbs_records
    WHERE source = $source AND record_type IN ('z', 'r') AND logged_s >= $from_s - 2 * 86400
    GROUP BY ALL
),

suspensions AS (
    SELECT
        job_id,
        record_type,
        time_s AS from_s,
        lead(time_s) OVER (PARTITION BY job_id ORDER BY time_s, place) AS to_s
    FROM stamps
)

SELECT
    attempts.job_id,
    attempts.ctime_s AS submit_s,
    attempts.start_s,
    suspensions.from_s,
    least(coalesce(suspensions.to_s, attempts.end_s), attempts.end_s) AS to_s
FROM suspensions
INNER JOIN attempts
    ON
        suspensions.job_id = attempts.job_id
        AND suspensions.from_s >= attempts.start_s
        AND suspensions.from_s < attempts.end_s
WHERE suspensions.record_type = 'z' AND suspensions.to_s IS DISTINCT FROM suspensions.from_s

-- [suspensions_from_pbs]
-- Suspensions of jobs of one PBS source, from the table `suspended_jobs` (core.suspended_pbs); seconds since 1970 ($clock_zero).
SELECT
    $source AS source,
    job_id,
    $clock_zero::TIMESTAMP + to_seconds(submit_s) AS submit_time,
    $clock_zero::TIMESTAMP + to_seconds(start_s) AS start_time,
    $clock_zero::TIMESTAMP + to_seconds(from_s) AS from_time,
    $clock_zero::TIMESTAMP + to_seconds(to_s) AS to_time
FROM suspended_jobs
