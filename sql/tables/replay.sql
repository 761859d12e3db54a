-- [configurations]
-- Schedulers that may have written a log, best first: their replays of its first half come nearest to the waits that it holds.
CREATE TABLE IF NOT EXISTS replay.configurations (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    place BIGINT NOT NULL, -- 1 is the best; that one is graded in replay.fidelity
    policy VARCHAR NOT NULL, -- order of the queue, as `tracehouse replay --policy`
    backfill VARCHAR NOT NULL, -- backfilling rule, as `tracehouse replay --backfill`
    procs BIGINT NOT NULL, -- processors of the cluster, or of its largest size
    size_over_time VARCHAR, -- such as "48 until 86400, then 64", in seconds of the log's clock; empty where it had procs all the time
    partitions VARCHAR, -- JSON of queues that own processors; empty where all jobs share all of them
    jobs BIGINT NOT NULL, -- first jobs of the log that it was fitted on
    factor DOUBLE NOT NULL, -- by how much a wait of these jobs is off, up or down, in the geometric mean; 1 where all are equal
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
);

-- [fidelity]
-- How far a replay can be trusted: waits of the log beside those of a replay of the configuration that fits the log best. It was fitted
-- on the first half of the log, and these are jobs of the second. A source without a grade has one row, which says why.
CREATE TABLE IF NOT EXISTS replay.fidelity (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    part VARCHAR NOT NULL, -- all jobs, size (class of processors) or month (of the submission, in the cluster's time zone)
    value VARCHAR NOT NULL, -- which size class, as in marts.job_facts, or which month; empty for all jobs
    jobs BIGINT NOT NULL, -- jobs of the part whose wait the log holds
    grade VARCHAR, -- A (gives back what happened) to D (has little to do with it), see docs/reference/semantics.md; NULL where there is none
    no_grade_because VARCHAR, -- why there is no grade; NULL where there is one
    logged_wait_s DOUBLE, -- mean wait in the log, seconds; NULL where nothing was replayed, as all below
    replayed_wait_s DOUBLE, -- mean wait of the replay, seconds
    logged_median_wait_s DOUBLE, -- median wait in the log, seconds
    replayed_median_wait_s DOUBLE, -- median wait of the replay, seconds
    logged_p95_wait_s DOUBLE, -- 95th percentile of the wait in the log, seconds
    replayed_p95_wait_s DOUBLE, -- 95th percentile of the wait of the replay, seconds
    logged_bounded_slowdown DOUBLE, -- mean bounded slowdown in the log
    replayed_bounded_slowdown DOUBLE, -- mean bounded slowdown of the replay
    logged_utilisation DOUBLE, -- share of the cluster in use between the first and the last submission of the part; all jobs only
    replayed_utilisation DOUBLE, -- the same of the replay
    waited BIGINT, -- jobs that waited longer than a minute in the log
    alike DOUBLE, -- share of the jobs whose waits differ by at most a minute, or a tenth of the longer
    rank_correlation DOUBLE, -- Spearman's, of the two waits of each job; NULL where all waits are equal
    distance DOUBLE, -- largest difference between the two distribution functions of waits
    factor DOUBLE, -- by how much a wait is off, up or down, in the geometric mean, a minute added to both
    logged_room_share DOUBLE, -- share of the waited time, in the log, in which enough processors for the waiting job were idle
    replayed_room_share DOUBLE, -- the same of the replay
);

-- [period_scores]
-- Scores of policies on the period after the training part. The log is replayed from its first job, and jobs of the period are
-- scored. Ratios are over the incumbent, and less is better: the scheduler of the cluster that is described, else FCFS with EASY and
-- requested times over a row of processors. What may be advised is replayed once more where users keep their pace.
CREATE TABLE IF NOT EXISTS replay.period_scores (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    policy VARCHAR NOT NULL, -- a policy of docs/reference/semantics.md, slurm, pbs, EASY-SJBF, key (tuned) or learned (the champion)
    cluster VARCHAR, -- whose nodes, or limits, the replays had, with orders in the place of its own. NULL for a row of processors
    seed BIGINT, -- training seed of the learned policy
    backfill VARCHAR NOT NULL, -- backfilling rule; own for that of the cluster
    estimates VARCHAR NOT NULL, -- estimates that the scheduler used: requested, predicted or live
    jobs BIGINT NOT NULL, -- jobs scored
{{ replay_metrics }}
    wide_wait_s DOUBLE, -- mean wait of jobs wider than a quarter of the cluster, seconds; NULL where there is none
    verdict VARCHAR, -- a word of docs/reference/semantics.md, Verdicts, with a comma and certain behind it; NULL in rows of older releases, as all below
    payers VARCHAR, -- what is worse than the verdict's limits allow, worst first; empty if nothing is
    bounded_slowdown_ratio DOUBLE, -- of the mean bounded slowdowns
    wait_ratio DOUBLE, -- of the mean waits
    p99_wait_ratio DOUBLE, -- of the 99th percentiles of waits
    area_wait_ratio DOUBLE, -- of the mean waits weighted by run time times processors
    wide_wait_ratio DOUBLE, -- of the mean waits of wide jobs; NULL where there is none
    lost_capacity_change DOUBLE, -- loss of capacity minus that of the incumbent
    typical_slowdown_ratio DOUBLE, -- of the bounded slowdowns in the typical block, see docs/reference/semantics.md
    typical_slowdown_low DOUBLE, -- lower end of its 95 % interval; NULL where there is none
    typical_slowdown_high DOUBLE, -- upper end
    typical_wait_ratio DOUBLE, -- of the waits in the typical block
    typical_wait_low DOUBLE, -- lower end of its 95 % interval
    typical_wait_high DOUBLE, -- upper end
    pace_change_share DOUBLE, -- change of the mean wait where users keep their pace, over the scheduler of the site; NULL where that was not replayed, as all below
    times_verdict VARCHAR, -- over the scheduler of the site at the times of the log: verdict has another one where the incumbent is not that
    pace_verdict VARCHAR, -- over the scheduler of the site where users keep their pace
    not_paced_because VARCHAR, -- why a policy that may be advised was not replayed with such users; NULL where few users react
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
);

-- [placed_jobs]
-- Who ran where in replay.placements, one row per job of the replay. A job that was cancelled while it waited has no nodes.
CREATE TABLE IF NOT EXISTS replay.placed_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    placement VARCHAR NOT NULL, -- as in replay.placements
    job_index BIGINT NOT NULL, -- as in core.jobs
    start_time TIMESTAMP, -- replayed start, UTC; NULL for a job that never ran, as all below
    wait_s BIGINT, -- replayed wait, seconds
    nodes VARCHAR, -- names of the nodes as Slurm writes them, such as n[0-3,7]
    units BIGINT, -- nodes, or processors of shared nodes, that it held
    hop_cost DOUBLE, -- hops between its units, over ordered pairs, divided by the units
    compact_hop_cost DOUBLE, -- the same, had it the empty machine for itself
    leaves BIGINT, -- leaf switches above its nodes
    pods BIGINT, -- switches of the second level above its nodes
);

-- [placements]
-- Replays of a source on nodes below switches that were saved by name: settings, waits, and what the nodes of the jobs cost.
CREATE TABLE IF NOT EXISTS replay.placements (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    placement VARCHAR NOT NULL, -- name of the placement; saving another under the same name replaces it
    topology VARCHAR NOT NULL, -- the tree of switches in words such as 16x8x4, or its file without the folder
    hops VARCHAR, -- hops between two nodes by the level of their lowest common switch, such as 2,4,6 (NULL if saved before version 7)
    procs_per_node BIGINT NOT NULL, -- processors of a node
    nodes VARCHAR NOT NULL, -- shared, or whole where every job takes whole nodes
    place VARCHAR NOT NULL, -- who chose the nodes of a job: first, random, contiguous, tree, ring, dcas, scas, free or looking-ahead (which chose jobs, too)
    placing_seed BIGINT NOT NULL, -- seed of the rules random and free
    period_s BIGINT, -- seconds between two acts of the scheduler (NULL for one that always acts)
    switches VARCHAR, -- how long jobs waited for how few leaf switches, LEAVES@WAIT (NULL for not at all)
    policy VARCHAR NOT NULL, -- as written after --policy, without the folder of a file
    backfill VARCHAR NOT NULL, -- as in replay.runs
    estimates VARCHAR NOT NULL, -- as in replay.runs
    other_settings VARCHAR, -- further settings of the replay that are not the usual ones, JSON object (NULL if saved before version 7)
    procs BIGINT NOT NULL, -- processors of the cluster
    jobs BIGINT NOT NULL, -- jobs replayed
    trace_sha256 VARCHAR NOT NULL, -- hash over the jobs replayed: placements with the same one can be compared job by job
    engine VARCHAR NOT NULL, -- version of tracehouse + hash of the engine's source
    semantics BIGINT NOT NULL, -- version of docs/reference/semantics.md
    average_wait_s DOUBLE NOT NULL, -- mean wait, seconds
    p99_wait_s DOUBLE NOT NULL, -- 99th percentile of the waits, seconds
    max_wait_s DOUBLE NOT NULL, -- longest wait, seconds
    average_bounded_slowdown DOUBLE NOT NULL, -- mean bounded slowdown
    average_hop_cost DOUBLE NOT NULL, -- mean over jobs of the hops between their units, over ordered pairs, divided by the units
    average_compact_hop_cost DOUBLE NOT NULL, -- the same, had each job the empty machine for itself
    area_weighted_hop_cost DOUBLE NOT NULL, -- mean hop cost, weighted by units times run time
    area_weighted_compact_hop_cost DOUBLE NOT NULL, -- the same, had each job the empty machine for itself
    area_weighted_extra_hops DOUBLE NOT NULL, -- hops more than on the empty machine between two units of a job, weighted by units times run time
    average_leaves DOUBLE NOT NULL, -- mean number of leaf switches above a job
    one_leaf_share DOUBLE NOT NULL, -- share of jobs of several units that were below one leaf switch
    one_pod_share DOUBLE NOT NULL, -- share of jobs of several units that were below one switch of the second level
    fits_one_leaf_share DOUBLE NOT NULL, -- share of jobs of several units that the largest leaf holds
    scattered_jobs DOUBLE NOT NULL, -- jobs for which the rule contiguous found no block
    fragmentation DOUBLE NOT NULL, -- share of the idle units in leaves that were partly used, as starting jobs found it
);

-- [run_jobs]
-- The schedules of replay.runs, one row per job of a run.
CREATE TABLE IF NOT EXISTS replay.run_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    run VARCHAR NOT NULL, -- as in replay.runs
    job_index BIGINT NOT NULL, -- as in core.jobs
    start_time TIMESTAMP, -- replayed start, UTC; NULL for a job that was cancelled while it waited
    end_time TIMESTAMP, -- replayed end, UTC; NULL for a job that was cancelled while it waited
    wait_s BIGINT, -- replayed wait, seconds; NULL for a job that was cancelled while it waited
    procs BIGINT NOT NULL, -- processors the job asks for
    backfilled BOOLEAN NOT NULL, -- started past a blocked head
);

-- [run_series]
-- The use of the cluster and the queue in replay.runs over time: means over equal steps.
CREATE TABLE IF NOT EXISTS replay.run_series (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    run VARCHAR NOT NULL, -- as in replay.runs
    time TIMESTAMP NOT NULL, -- beginning of the step, UTC
    step_s BIGINT NOT NULL, -- length of the step, seconds: an hour, shorter for short traces, longer for long ones
    procs_in_use DOUBLE NOT NULL, -- mean over the step of processors in use, jobs of a warm start included
    jobs_waiting DOUBLE NOT NULL, -- mean over the step of the number of waiting jobs, jobs of a warm start included
    procs_waiting DOUBLE NOT NULL, -- mean over the step of processors that the waiting jobs ask for
);

-- [runs]
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
    procs_from VARCHAR NOT NULL, -- where that number comes from: catalogue, header, cluster file, peak, or the command line (the run's settings)
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
    hindsight_least_average_wait_s DOUBLE NOT NULL, -- no schedule of these jobs has a lower mean wait, seconds
    hindsight_least_average_turnaround_s DOUBLE NOT NULL, -- no schedule of these jobs has a lower average turnaround, seconds
    trimmed_metrics VARCHAR, -- the metrics without warm-up and cool-down, JSON object by name; NULL where trim_share is 0
);

-- [schedules]
-- Start times of the period replays of replay.period_scores, one row per job that starts.
CREATE TABLE IF NOT EXISTS replay.schedules (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    policy VARCHAR NOT NULL, -- as in replay.period_scores
    backfill VARCHAR NOT NULL, -- backfilling rule
    estimates VARCHAR NOT NULL, -- requested or predicted
    job_index BIGINT NOT NULL, -- as in core.jobs
    start_time TIMESTAMP NOT NULL, -- replayed start, UTC
    end_time TIMESTAMP NOT NULL, -- replayed end, UTC
    wait_s BIGINT NOT NULL, -- replayed wait, seconds
    procs BIGINT NOT NULL, -- processors held
    backfilled BOOLEAN NOT NULL, -- started past a blocked head
);
