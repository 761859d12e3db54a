-- [causes_add_up]
-- Started jobs whose causes do not add up to their wait, where the log's own starts have been explained.
WITH explained AS (
    SELECT job_index, sum(waited_s) AS explained_s
    FROM marts.job_wait_causes
    WHERE source = $source AND starts = 'log'
    GROUP BY job_index
)

SELECT jobs.job_index, jobs.job_id, jobs.wait_s, coalesce(explained.explained_s, 0)::BIGINT AS explained_s
FROM core.jobs AS jobs
LEFT JOIN explained ON jobs.job_index = explained.job_index
WHERE
    jobs.source = $source
    AND jobs.wait_s <> coalesce(explained.explained_s, 0)
    AND EXISTS (FROM explained)
ORDER BY jobs.job_index

-- [one_policy_is_in_use]
-- Kinds of policies of a source with more or fewer than one in use, and policies whose cost is no number.
SELECT layout, count(*) FILTER (champion) AS in_use, bool_and(isfinite(validation_cost)) AS finite
FROM (
    SELECT CASE WHEN layout IN ('picking', 'inspecting') THEN layout ELSE 'ordering' END AS layout, champion, validation_cost
    FROM policies.scheduling_policies
    WHERE source = $source
)
GROUP BY layout
HAVING count(*) FILTER (champion) <> 1 OR NOT bool_and(isfinite(validation_cost))
ORDER BY layout

-- [placed_jobs_are_possible]
-- Jobs of saved placements that cannot be. They started without nodes or leaves, with more leaves than units, or with a negative wait
-- or cost, or they never ran but have nodes.
SELECT placement, job_index, hop_cost, leaves, wait_s
FROM replay.placed_jobs
WHERE
    source = $source
    AND CASE
        WHEN start_time IS NULL THEN coalesce(wait_s, units, hop_cost, compact_hop_cost, leaves, pods) IS NOT NULL OR nodes IS NOT NULL
        ELSE NOT coalesce(
            wait_s >= 0 AND hop_cost >= 0 AND compact_hop_cost >= 0 AND pods >= 1 AND leaves >= pods AND units >= leaves AND nodes <> '',
            FALSE
        )
    END

-- [ranks_follow_verdicts]
-- Policies of the leaderboard that stand before one with a better verdict, and the incumbent where its ratios to itself are not 1.
WITH ordered AS (
    SELECT
        policy, estimates, rank, verdict,
        list_position(
            ['dominates', 'no difference', 'no significant difference', 'no better than random orders', 'depends on users', 'trades', 'harms', 'worse', 'no verdict'], split_part(verdict, ',', 1)
        ) AS place,
        estimates = 'requested' AND (policy IN ('slurm', 'pbs') OR (policy = 'FCFS' AND cluster IS NULL)) AS is_incumbent,
        bounded_slowdown_ratio,
        wait_ratio
    FROM marts.leaderboard
    WHERE source = $source AND rank IS NOT NULL
)

SELECT policy, estimates, rank, verdict
FROM ordered
WHERE
    place IS NULL
    OR place < (SELECT max(before.place) FROM ordered AS before WHERE before.rank < ordered.rank)
    OR (is_incumbent AND (bounded_slowdown_ratio <> 1 OR wait_ratio <> 1))
ORDER BY rank

-- [runs_never_oversubscribe]
-- Saved replays that use more processors than their cluster has at any time, or start a job before its submission. A job that lasts longer
-- than it runs was suspended meanwhile, nobody has stored when, and its processors do not count.
WITH schedules AS (
    SELECT
        run_jobs.run,
        run_jobs.start_time,
        run_jobs.end_time,
        run_jobs.wait_s,
        if(epoch(run_jobs.end_time - run_jobs.start_time) > jobs.runtime_s, 0, run_jobs.procs) AS procs
    FROM replay.run_jobs AS run_jobs
    LEFT JOIN core.jobs AS jobs ON run_jobs.source = jobs.source AND run_jobs.job_index = jobs.job_index
    WHERE run_jobs.source = $source AND run_jobs.start_time IS NOT NULL
),

changes AS (
    SELECT run, start_time AS time, procs AS change FROM schedules
    UNION ALL
    SELECT run, end_time AS time, -procs AS change FROM schedules
),

-- all changes of one moment count together: a processor freed at a moment can be given away at that moment
net AS (
    SELECT run, time, sum(change) AS change
    FROM changes
    GROUP BY ALL
),

in_use AS (
    SELECT run, sum(change) OVER (PARTITION BY run ORDER BY time) AS procs
    FROM net
),

peaks AS (
    SELECT run, max(procs)::BIGINT AS peak_procs
    FROM in_use
    GROUP BY run
),

waits AS (
    SELECT run, min(wait_s) AS shortest_wait_s
    FROM schedules
    GROUP BY run
)

SELECT peaks.run, peaks.peak_procs, runs.procs AS cluster_procs, waits.shortest_wait_s
FROM peaks
INNER JOIN waits ON peaks.run = waits.run
INNER JOIN replay.runs AS runs ON runs.source = $source AND peaks.run = runs.run
WHERE peaks.peak_procs > runs.procs OR waits.shortest_wait_s < 0
ORDER BY peaks.run
