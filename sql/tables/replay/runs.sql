-- What-if replays of a source that were saved by name: their settings, counts and metrics over all jobs that started. The four
-- runs that every pipeline run makes are fcfs, fcfs-easy, fcfs-conservative and saf-easy.
CREATE TABLE IF NOT EXISTS replay.runs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    run VARCHAR NOT NULL, -- name of the run; saving another under the same name replaces it
    policy VARCHAR NOT NULL, -- as written after --policy, without the folder of a file
    policy_sha256 VARCHAR, -- hash of the file of a plug-in or a learned policy, in hexadecimal
    backfill VARCHAR NOT NULL, -- backfilling rule: none, any, easy, easy-sjbf, conservative, selective:threshold=X, pick:OPTIONS, or the file of an agent, without its folder
    inspector VARCHAR, -- who inspected the policy's picks, a rule or the file of an inspector without its folder (NULL for nobody)
    agent_sha256 VARCHAR, -- hash of the file of a learned agent, which picked or inspected, in hexadecimal
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used: requested, actual, predicted (or a quantile of it), live:STATISTIC, or as logged (RLScheduler rules)
    reserve_by VARCHAR, -- run times that reservations used for running jobs, estimate or requested; NULL under RLScheduler rules
    admit_by VARCHAR, -- run times that decided who went before a blocked job, estimate or requested (NULL under RLScheduler rules)
    correction VARCHAR, -- new estimate of jobs past their estimate, requested, increments or doubling; NULL under RLScheduler rules
    rules VARCHAR NOT NULL, -- standard, rlscheduler or rlscheduler-corrected
    window_first BIGINT, -- position of the first job among the replayable jobs, from 0; NULL for the whole trace
    window_jobs BIGINT, -- length of the window; NULL for the whole trace
    warm_start BOOLEAN NOT NULL, -- whether it began with the jobs that the log says were running and waiting
    outages VARCHAR, -- processors missing for a while, JSON list of start, end, procs, announced in the log's own seconds
    cancelled BOOLEAN NOT NULL, -- whether jobs that were cancelled before they started were replayed
    drop_wider BOOLEAN NOT NULL, -- whether jobs wider than the cluster were left out
    load DOUBLE NOT NULL, -- how many times as densely as in the log jobs were submitted
    trim_share DOUBLE NOT NULL, -- share of the submission span cut at both ends for trimmed_metrics
    procs BIGINT NOT NULL, -- processors of the cluster
    procs_from VARCHAR NOT NULL, -- where that number comes from: catalogue, header, peak, or the command line (the run's settings)
    jobs BIGINT NOT NULL, -- jobs replayed
    jobs_left_out BIGINT NOT NULL, -- records of the log whose run time or processors are unknown or zero
    requests_below_runtime BIGINT NOT NULL, -- replayable jobs that ran longer than they requested
    jobs_out_of_order BIGINT NOT NULL, -- records of the log submitted before the one above them
    equal_submit_times BIGINT NOT NULL, -- replayable jobs submitted in the same second as the one before
    repeated_job_ids BIGINT NOT NULL, -- records of the log whose id was seen before
    jobs_wider_than_cluster BIGINT NOT NULL, -- jobs left out for being wider than the cluster
    cancelled_jobs BIGINT NOT NULL, -- of the jobs replayed, those that the log says were cancelled before they started
    running_jobs BIGINT NOT NULL, -- jobs of the warm start that were running
    waiting_jobs BIGINT NOT NULL, -- jobs of the warm start that were waiting
    trace_sha256 VARCHAR NOT NULL, -- hash over the jobs replayed: runs with the same one can be compared job by job
    engine VARCHAR NOT NULL, -- version of tracehouse + hash of the engine's source
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
{{ replay_metrics }}
    hindsight_least_average_wait_s DOUBLE NOT NULL, -- no schedule of these jobs has a lower average wait, seconds
    hindsight_least_average_turnaround_s DOUBLE NOT NULL, -- no schedule of these jobs has a lower average turnaround, seconds
    trimmed_metrics VARCHAR, -- the metrics without warm-up and cool-down, JSON object by name; NULL where trim_share is 0
);
