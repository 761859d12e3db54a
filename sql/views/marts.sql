-- [failures]
-- What was lost, by month and queue: jobs that did not complete, by how they ended, and attempts that ended in a requeue.
CREATE OR REPLACE VIEW marts.failures AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    count(*) AS jobs, -- jobs
    count(*) FILTER (status = 'failed') AS failed, -- jobs that ended with an error: exit status, signal
    count(*) FILTER (status = 'cancelled') AS cancelled, -- jobs cancelled by somebody
    count(*) FILTER (status = 'failed') / count(*) AS failed_share, -- share of jobs that failed
    coalesce(sum(core_hours) FILTER (status = 'failed'), 0) AS failed_core_hours, -- core hours of failed jobs
    coalesce(sum(core_hours) FILTER (status = 'cancelled'), 0) AS cancelled_core_hours, -- core hours of cancelled jobs
    count(*) FILTER (run_count > 1 OR status = 'requeued') AS requeued, -- jobs that were started more than once, or ended in a requeue
    coalesce(sum(requeued_core_hours), 0) AS requeued_core_hours, -- core hours of attempts that ended in a requeue
    coalesce(sum(core_hours), 0) AS core_hours, -- core hours of all jobs, requeued attempts left out
    count(*) FILTER (status = 'timeout') AS timeout, -- jobs that ran into their time limit
    count(*) FILTER (status = 'out_of_memory') AS out_of_memory, -- jobs that ran out of memory
    count(*) FILTER (status = 'node_failure') AS node_failure, -- jobs whose node failed
    count(*) FILTER (status = 'preempted') AS preempted, -- jobs that made way for others, and did not run again
    count(*) FILTER (status = 'deadline') AS deadline, -- jobs that could not end before their deadline
    count(*) FILTER (status NOT IN ('completed', 'unknown')) / count(*) AS lost_share, -- share of jobs that did not complete, however they ended
    coalesce(sum(core_hours) FILTER (status = 'timeout'), 0) AS timeout_core_hours, -- core hours of jobs that ran into their time limit
    coalesce(sum(core_hours) FILTER (status NOT IN ('completed', 'unknown')), 0) AS lost_core_hours, -- core hours of jobs that did not complete
FROM marts.job_facts
GROUP BY ALL

-- [graded_leaderboard]
-- The leaderboard as reports read it: with the grade that its replays have earned, without verdicts where that is D, and with the reason
-- where `tracehouse run` recommends none of the policies. A grade of replays on the cluster is not that of a row of processors.
CREATE OR REPLACE VIEW marts.graded_leaderboard AS
WITH graded AS (
    SELECT
        fidelity.source,
        fidelity.grade,
        fidelity.no_grade_because,
        coalesce(split_part(lower(configurations.policy), ':', 1) IN ('slurm', 'pbs'), FALSE) AS is_own
    FROM replay.fidelity AS fidelity
    LEFT JOIN replay.configurations AS configurations ON fidelity.source = configurations.source AND configurations.place = 1
    WHERE fidelity.part = 'all'
)

SELECT
    leaderboard.source AS source, -- name of the source in the catalogue
    leaderboard.rank AS rank, -- as in marts.leaderboard, NULL for random orders
    leaderboard.policy AS policy, -- as in marts.leaderboard
    leaderboard.cluster AS cluster, -- whose nodes, or limits, the replays had; NULL for a row of processors
    leaderboard.backfill AS backfill, -- backfilling rule
    leaderboard.estimates AS estimates, -- requested, predicted or live
    CASE WHEN graded.grade IS DISTINCT FROM 'D' THEN leaderboard.verdict END AS verdict, -- beside the incumbent; NULL with grade D
    CASE WHEN graded.grade IS DISTINCT FROM 'D' THEN leaderboard.payers END AS payers, -- who waits longer; NULL with grade D
    CASE WHEN graded.grade IS DISTINCT FROM 'D' THEN leaderboard.wait_ratio END AS wait_ratio, -- over the incumbent, of the means; NULL with grade D
    CASE WHEN graded.grade IS DISTINCT FROM 'D' THEN leaderboard.bounded_slowdown_ratio END AS bounded_slowdown_ratio, -- over the incumbent, of the means; NULL with grade D
    CASE WHEN NOT graded.is_own OR leaderboard.cluster IS NOT NULL THEN graded.grade END AS grade, -- of these replays, A to D; NULL where they have none
    CASE
        WHEN graded.source IS NULL THEN 'nobody has graded replays of this log'
        WHEN graded.is_own AND leaderboard.cluster IS NULL THEN 'these orders were replayed over a row of processors: `tracehouse run` replays them on the cluster'
        WHEN graded.grade = 'D' THEN 'grade D: the replays cannot be trusted'
        WHEN graded.grade IS NULL THEN coalesce(graded.no_grade_because, 'there is no grade')
        WHEN leaderboard.verdict = 'no verdict' THEN 'most random orders dominate, so that no verdict on this log says anything'
    END AS not_recommended_because -- why `tracehouse run` recommends none of them; NULL where it may
FROM marts.leaderboard AS leaderboard
LEFT JOIN graded ON leaderboard.source = graded.source

-- [ingest_summary]
-- What became of the lines of every source: lines = accepted + kept + ignored + rejected.
CREATE OR REPLACE VIEW marts.ingest_summary AS
SELECT
    source AS source, -- name of the source in the catalogue
    count(*) AS files, -- log files read
    sum(lines)::BIGINT AS lines, -- lines read
    sum(accepted)::BIGINT AS accepted, -- lines that are finished jobs; those that are no job of their own are in core.repeats
    sum(kept)::BIGINT AS kept, -- other records: PBS requeues, starts, deletions ...
    sum(ignored)::BIGINT AS ignored, -- comments, blank lines, steps, jobs that are not over
    sum(rejected)::BIGINT AS rejected, -- lines rejected with a reason, see raw.rejects
FROM raw.log_files
GROUP BY source

-- [job_facts]
-- Every job with what reports group and add up; the other marts of the real system read this one.
CREATE OR REPLACE VIEW marts.job_facts AS
WITH local AS (
    SELECT jobs.*, sources.cluster_procs, timezone(sources.time_zone, timezone('UTC', jobs.submit_time)) AS local_time
    FROM core.jobs AS jobs
    INNER JOIN core.sources AS sources ON jobs.source = sources.source
)

SELECT
    source AS source, -- name of the source in the catalogue
    job_index AS job_index, -- as in core.jobs
    date_trunc('month', local_time)::DATE AS month, -- of the submission, first day, in the cluster's time zone
    isodow(local_time) AS weekday, -- of the submission, 1 Monday to 7 Sunday, in the cluster's time zone
    hour(local_time) AS hour_of_day, -- of the submission, 0 to 23, in the cluster's time zone
    coalesce(queue, 'unknown') AS queue, -- queue or partition
    coalesce(account, 'unknown') AS account, -- account that pays
    coalesce(user_name, 'unknown') AS user_name, -- user
    CASE
        WHEN procs = 1 THEN 'serial'
        WHEN procs <= cluster_procs / 16 THEN 'small'
        WHEN procs <= cluster_procs / 4 THEN 'medium'
        WHEN procs > cluster_procs / 4 THEN 'large'
        ELSE 'unknown'
    END AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    CASE
        WHEN runtime_s < 600 THEN 'under 10 min'
        WHEN runtime_s < 3600 THEN '10 min to 1 h'
        WHEN runtime_s < 28800 THEN '1 h to 8 h'
        WHEN runtime_s >= 28800 THEN '8 h and more'
        ELSE 'unknown'
    END AS runtime_class, -- by run time
    status AS status, -- completed, failed, cancelled, timeout, out_of_memory, node_failure, preempted, requeued, deadline or unknown
    qos AS qos, -- quality of service (Slurm); NULL where the log has none
{{ known_waits }}
    eligible_wait_s AS eligible_wait_s, -- wait in which nothing but resources held the job back, seconds
    runtime_s AS runtime_s, -- run time, seconds
    requested_walltime_s AS requested_walltime_s, -- wall time requested, seconds
    procs * runtime_s / 3600 AS core_hours, -- processors times run time
    gpus * runtime_s / 3600 AS gpu_hours, -- GPUs times run time; NULL where the log does not know
    used_cpu_s / 3600 AS cpu_hours, -- CPU time used; NULL where the log does not know
    CASE WHEN used_cpu_s IS NOT NULL THEN procs * runtime_s / 3600 END AS measured_core_hours, -- core hours of jobs with a known CPU time
    run_count AS run_count, -- times the job was started
    procs * requeued_s / 3600 AS requeued_core_hours, -- core hours of attempts that ended in a requeue
    CASE coalesce(status, 'unknown') WHEN 'unknown' THEN NULL WHEN 'completed' THEN 0 ELSE core_hours END AS lost_core_hours, -- core hours of a job that did not complete, 0 of one that did; NULL where the log does not know how it ended
    CASE WHEN runtime_s > 0 AND requested_walltime_s > 0 THEN procs * requested_walltime_s / 3600 END AS requested_core_hours, -- processors times wall time requested, of jobs that ran and had a request
    CASE WHEN runtime_s > 0 AND requested_walltime_s > 0 THEN procs * greatest(requested_walltime_s - runtime_s, 0) / 3600 END
        AS unused_core_hours, -- of these, those after the job's end: requested and not used, and free for other jobs
    CASE WHEN used_cpu_s IS NOT NULL THEN greatest(core_hours - cpu_hours, 0) END AS idle_core_hours, -- core hours held without using the CPU; NULL where the log does not know
    CASE WHEN used_memory_kb IS NOT NULL THEN requested_memory_kb / 1048576 * runtime_s / 3600 END AS requested_memory_gib_hours, -- memory requested times run time, GiB hours; NULL where the log does not know both memories
    requested_memory_gib_hours * greatest(1 - used_memory_kb / nullif(requested_memory_kb, 0), 0) AS unused_memory_gib_hours, -- of these, those above the memory used
FROM local

-- [left_queue]
-- Jobs that left the queue without a start, such as those that were cancelled while they waited, by month, queue, account and user. The
-- marts of waits do not count them.
CREATE OR REPLACE VIEW marts.left_queue AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    account AS account, -- account
    user_name AS user_name, -- user
{{ left_sums }}
FROM marts.job_facts
WHERE left_after_s IS NOT NULL
GROUP BY ALL

-- [months]
-- The months of each log, and how much of each the log covers: join it to other marts to leave partial months out.
CREATE OR REPLACE VIEW marts.months AS
WITH
{{ log_begins }}
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

-- [node_occupancy]
-- Who held which node from when to when: one row a job and node.
CREATE OR REPLACE VIEW marts.node_occupancy AS
SELECT
    held.source AS source, -- name of the source in the catalogue
    held.node_name AS node_name, -- node
    jobs.start_time AS start_time, -- start of the job, UTC
    jobs.end_time AS end_time, -- end of the job, UTC
    held.job_index AS job_index, -- of core.jobs
    jobs.job_id AS job_id, -- identifier in the log
    jobs.user_name AS user_name, -- user
    jobs.account AS account, -- account
    jobs.queue AS queue, -- queue or partition
    held.procs AS procs, -- processors held there; NULL where the log tells only their sum over several nodes
    held.gpus AS gpus, -- GPUs held there; NULL where the log does not know
    held.memory_kb AS memory_kb, -- memory held there, kilobytes; NULL where the log does not know
FROM core.job_nodes AS held
INNER JOIN core.jobs AS jobs ON held.source = jobs.source AND held.job_index = jobs.job_index;

-- [prediction_error]
-- Errors of run-time predictors over time, each beside the user's last two jobs in the same period.
CREATE OR REPLACE VIEW marts.prediction_error AS
SELECT
    scores.source, -- name of the source in the catalogue
    scores.predictor, -- name of the predictor
    scores.period_start, -- submissions from here on, UTC
    scores.jobs, -- jobs submitted in the period
    scores.jobs_fitted, -- jobs that had ended before it, on which the predictor was fitted, unless it fell back
    scores.fallback_jobs, -- jobs predicted by similar_jobs in its place, because fewer than 200 had ended: all or none
    scores.mean_absolute_error_s, -- mean of |predicted - true|, seconds
    scores.mean_absolute_error_s / nullif(baseline.mean_absolute_error_s, 0) AS error_over_last_two, -- the same over that of last_two in the period; below 1 is better
    scores.mean_accuracy, -- mean of min(predicted, true) / max(predicted, true)
    scores.underestimated_share, -- share of jobs that ran longer than predicted
    scores.coverage_80, -- share of jobs that ran no longer than their 80 % quantile
FROM predictions.runtime_scores_by_period AS scores
LEFT JOIN predictions.runtime_scores_by_period AS baseline
    ON
        scores.source = baseline.source
        AND scores.period_start = baseline.period_start
        AND baseline.predictor = 'last_two'

-- [replayed_waits]
-- Waits in the replays of the period after the training part, by policy, size and run time.
CREATE OR REPLACE VIEW marts.replayed_waits AS
SELECT
    schedules.source AS source, -- name of the source in the catalogue
    schedules.policy AS policy, -- policy replayed
    schedules.backfill AS backfill, -- backfilling rule
    schedules.estimates AS estimates, -- requested or predicted
    classes.size_class AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    classes.runtime_class AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs replayed
    avg(schedules.wait_s) AS average_wait_s, -- mean wait, seconds
    median(schedules.wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(schedules.wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
FROM replay.schedules AS schedules
INNER JOIN marts.job_facts AS classes ON schedules.source = classes.source AND schedules.job_index = classes.job_index
GROUP BY ALL

-- [usage]
-- What was used, by month, queue, account and user: sums, which may be added up further.
CREATE OR REPLACE VIEW marts.usage AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    account AS account, -- account
    user_name AS user_name, -- user
    count(*) AS jobs, -- jobs
    sum(core_hours) AS core_hours, -- processors times run time
    sum(gpu_hours) AS gpu_hours, -- GPUs times run time; NULL where no job's are known
    sum(cpu_hours) AS cpu_hours, -- CPU time used by jobs for which it is known
    sum(measured_core_hours) AS measured_core_hours, -- core hours of those jobs
    sum(cpu_hours) / nullif(sum(measured_core_hours), 0) AS cpu_efficiency, -- CPU time over core hours, of those jobs
FROM marts.job_facts
GROUP BY ALL

-- [waits]
-- Waits on the real system by queue, size and run time, as the logs recorded them, of jobs that started.
CREATE OR REPLACE VIEW marts.waits AS
SELECT
    source AS source, -- name of the source in the catalogue
    queue AS queue, -- queue or partition
    size_class AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    runtime_class AS runtime_class, -- by run time
    count(*) AS jobs, -- jobs that started, at a time that the log knows
    avg(wait_s) AS average_wait_s, -- mean wait, seconds
    median(wait_s) AS median_wait_s, -- median wait, seconds
    quantile_cont(wait_s, 0.95) AS p95_wait_s, -- 95th percentile of the wait, seconds
{{ of_known_waits }}

-- [waits_by_account]
-- Waits on the real system by month and account, of jobs that started.
CREATE OR REPLACE VIEW marts.waits_by_account AS
{{ waits_by_month }}
    account AS account, -- account
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}

-- [waits_by_cause]
-- Hours of waiting by what kept the jobs, in sums that may be added up further, but for the jobs: one may have several causes. Jobs that
-- left the queue without a start have causes, too: all hours are those of the marts of waits and of marts.left_queue.
CREATE OR REPLACE VIEW marts.waits_by_cause AS
SELECT
    causes.source AS source, -- name of the source in the catalogue
    causes.starts AS starts, -- log (the log's own starts) or replay (those of a replay under the source's own Slurm)
    jobs.month AS month, -- of the submission, first day
    jobs.queue AS queue, -- queue or partition
    jobs.account AS account, -- account
    jobs.user_name AS user_name, -- user
    jobs.qos AS qos, -- quality of service (Slurm); NULL where the log has none
    causes.cause AS cause, -- such as gpus, behind_fair_share or limit
    causes.meaning AS meaning, -- the cause in words
    count(*) AS jobs, -- jobs that waited for it
    sum(causes.waited_s) / 3600 AS hours, -- how long it kept them, hours
FROM marts.job_wait_causes AS causes
INNER JOIN marts.job_facts AS jobs ON causes.source = jobs.source AND causes.job_index = jobs.job_index
GROUP BY ALL

-- [waits_by_hour]
-- Waits on the real system by month and by weekday and hour of the submission, in the cluster's time zone, of jobs that started.
CREATE OR REPLACE VIEW marts.waits_by_hour AS
{{ waits_by_month }}
    weekday AS weekday, -- 1 Monday to 7 Sunday
    hour_of_day AS hour_of_day, -- 0 to 23
{{ wait_statistics }}
{{ of_known_waits }}

-- [waits_by_queue]
-- Waits on the real system by month and queue, of jobs that started.
CREATE OR REPLACE VIEW marts.waits_by_queue AS
{{ waits_by_month }}
    queue AS queue, -- queue or partition
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}

-- [waits_by_size]
-- Waits on the real system by month and size, of jobs that started.
CREATE OR REPLACE VIEW marts.waits_by_size AS
{{ waits_by_month }}
    size_class AS size_class, -- size class: serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}

-- [waits_by_user]
-- Waits on the real system by month and user, of jobs that started.
CREATE OR REPLACE VIEW marts.waits_by_user AS
{{ waits_by_month }}
    user_name AS user_name, -- user
{{ wait_statistics }}
{{ longest_waits }}
{{ of_known_waits }}

-- [walltime_accuracy]
-- How well users ask for wall time, by month, queue and user: jobs that ran and had a request.
CREATE OR REPLACE VIEW marts.walltime_accuracy AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    user_name AS user_name, -- user
    count(*) AS jobs, -- jobs
    avg(runtime_s / requested_walltime_s) AS average_used_share, -- mean of run time over request
    median(runtime_s / requested_walltime_s) AS median_used_share, -- median of run time over request
    avg((runtime_s > requested_walltime_s)::INTEGER) AS over_request_share, -- share of jobs that ran longer than they asked
    sum(unused_core_hours) AS unused_core_hours, -- core hours asked for and not used
FROM marts.job_facts
WHERE runtime_s > 0 AND requested_walltime_s > 0
GROUP BY ALL

-- [waste]
-- What was lost, and what was requested and not used, by month, queue, account and user: sums, which may be added up further.
CREATE OR REPLACE VIEW marts.waste AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    account AS account, -- account
    user_name AS user_name, -- user
{{ wasted_sums }}
FROM marts.job_facts
GROUP BY ALL
