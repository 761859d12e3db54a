-- [job_features]
-- What was known about each job when it was submitted: its request, the calendar, its user's earlier submissions, the jobs
-- that had already ended, and the jobs that were running or waiting. Ends, starts and the submissions of waiting jobs
-- count when they were in an earlier second. Run times come from ended jobs alone, of running jobs only the number and the
-- time elapsed are known, of waiting ones only the number. A job whose end the log does not know never counts as ended or
-- running, one without start and end never as waiting. The last ten are those that ended last.
CREATE TABLE IF NOT EXISTS features.job_features (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    requested_walltime_s BIGINT, -- wall time requested, seconds
    requested_procs BIGINT, -- processors requested, or allocated where the log has no request
    hour_of_day BIGINT NOT NULL, -- of the submission, in the cluster's time zone, 0 to 23
    day_of_week BIGINT NOT NULL, -- of the submission, in the cluster's time zone, 1 Monday to 7 Sunday
    queue VARCHAR, -- queue of the submission
    group_name VARCHAR, -- group of the user
    executable VARCHAR, -- application number (SWF) or job name (PBS, Slurm)
    user_jobs_ended BIGINT NOT NULL, -- jobs of the same user that ended before the submission
    user_mean_runtime_s DOUBLE, -- their mean run time, seconds
    user_mean_requested_walltime_s DOUBLE, -- their mean wall time requested, seconds
    user_mean_requested_procs DOUBLE, -- their mean number of processors requested
    user_median_runtime_s DOUBLE, -- median run time of the user's last ten, seconds
    user_log_spread DOUBLE, -- standard deviation of the natural logarithms of their run times, at least 1 s each
    user_failed_share DOUBLE, -- share of the user's last ten that failed or were cancelled, 0 to 1
    last_runtime_s BIGINT, -- run time of the user's job that ended last, seconds
    second_last_runtime_s BIGINT, -- run time of the one before, seconds
    third_last_runtime_s BIGINT, -- run time of the one before that, seconds
    last_requested_walltime_s BIGINT, -- wall time requested by the user's job that ended last, seconds
    last_requested_procs BIGINT, -- processors requested by it
    last_failed DOUBLE, -- 1 where it failed or was cancelled, else 0
    last_two_runtime_s DOUBLE, -- mean of the user's last two run times (Tsafrir, Etsion and Feitelson 2007), seconds
    seconds_since_last_end BIGINT, -- submission minus the last end of a job of the user
    alike_jobs_ended BIGINT NOT NULL, -- of those jobs, the ones with the same processors and requested time
    alike_last_runtime_s BIGINT, -- run time of the one that ended last, seconds
    alike_second_last_runtime_s BIGINT, -- run time of the one before, seconds
    alike_mean_runtime_s DOUBLE, -- their mean run time, seconds
    alike_median_runtime_s DOUBLE, -- median run time of the last ten of them, seconds
    alike_log_spread DOUBLE, -- standard deviation of the natural logarithms of those ten, at least 1 s each
    executable_jobs_ended BIGINT NOT NULL, -- the user's ended jobs with the same executable, 0 where the log does not know it
    executable_last_runtime_s BIGINT, -- run time of the one that ended last, seconds
    executable_mean_runtime_s DOUBLE, -- their mean run time, seconds
    group_jobs_ended BIGINT NOT NULL, -- jobs of the same group that ended before the submission, 0 where the log knows no group
    group_mean_runtime_s DOUBLE, -- their mean run time, seconds
    seconds_since_last_submission BIGINT, -- submission minus the user's previous one
    same_request_as_last DOUBLE, -- 1 where the previous submission asked for the same processors and wall time, else 0
    batch_position BIGINT NOT NULL, -- submissions of the user just before, all with this request and at most 600 s between them
    user_jobs_running BIGINT NOT NULL, -- jobs of the user that were running
    user_running_elapsed_s DOUBLE, -- mean time for which they had been running, seconds
    user_jobs_waiting BIGINT NOT NULL, -- jobs of the user that were waiting
    jobs_running BIGINT NOT NULL, -- jobs of all users that were running
    procs_running BIGINT NOT NULL, -- processors they were using
    jobs_waiting BIGINT NOT NULL, -- jobs of all users that were waiting
    procs_waiting BIGINT NOT NULL, -- processors they had requested
);

-- [user_habits]
-- Whom each job follows, and its place among the sessions and batches of its user (docs/reference/semantics/followers.md), by the ends of
-- the log. One row per job whose user the log names.
CREATE TABLE IF NOT EXISTS features.user_habits (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    follows_job_index BIGINT, -- the job of the same user after whose end it came; NULL where none ended soon enough before it
    think_s BIGINT, -- from that end to the submission, seconds
    session BIGINT NOT NULL, -- number of the session, from 0: jobs of a user that follow one another or come at most 20 minutes apart
    batch BIGINT NOT NULL, -- number of the batch, from 0: jobs of a session that follow none of the same batch
);

-- [similar_jobs]
-- What the run times of similar jobs say of each job: jobs most like it that had ended in an earlier second than its
-- submission (docs/reference/semantics.md). One row per job that has run and can be replayed.
CREATE TABLE IF NOT EXISTS features.similar_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    similar_mean_s DOUBLE NOT NULL, -- mean run time of similar jobs, seconds, each at most the job's request
    similar_inverse_per_s DOUBLE NOT NULL, -- mean of 1 / max(run time, 10 s), per second: what a second of waiting costs in slowdown
    similar_jobs DOUBLE NOT NULL, -- run times of the user's own jobs among those that were looked at, up to 60
    similar_p05_s DOUBLE NOT NULL, -- 5 % quantile of the run times of similar jobs, seconds
    similar_p10_s DOUBLE NOT NULL, -- 10 % quantile of the same
    similar_p25_s DOUBLE NOT NULL, -- 25 % quantile of the same
    similar_p50_s DOUBLE NOT NULL, -- median of the same
    similar_p75_s DOUBLE NOT NULL, -- 75 % quantile of the same
    similar_p80_s DOUBLE NOT NULL, -- 80 % quantile of the same
    similar_p90_s DOUBLE NOT NULL, -- 90 % quantile of the same
    similar_p95_s DOUBLE NOT NULL, -- 95 % quantile of the same
);

-- [written_parts]
-- From which jobs the rows of the feature tables were computed, part by part in the order of submission. Where a log grows, rows that no
-- new job can have changed stay as they are.
CREATE TABLE IF NOT EXISTS features.written_parts (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    features VARCHAR NOT NULL, -- the table: job_features or similar_jobs
    part BIGINT NOT NULL, -- job_index by the number of jobs in a part, rounded down; from 0
    inputs VARCHAR NOT NULL, -- hash of the part's jobs and of the code that computes features
    earliest TIMESTAMP NOT NULL, -- earliest submission, start or end of the part's jobs, UTC
    row_count BIGINT NOT NULL, -- rows that the part has in the table
);
