-- What was known about each job when it was submitted: its request, the calendar, and its user's jobs that had
-- already ended, in an earlier second. A job whose end the log does not know never counts as history.
CREATE TABLE IF NOT EXISTS features.job_features (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- as in core.jobs
    requested_walltime_s BIGINT, -- wall time requested, seconds
    requested_procs BIGINT, -- processors requested, or allocated where the log has no request
    hour_of_day BIGINT NOT NULL, -- of the submission, in the cluster's time zone, 0 to 23
    day_of_week BIGINT NOT NULL, -- of the submission, in the cluster's time zone, 1 Monday to 7 Sunday
    queue VARCHAR, -- queue of the submission
    user_jobs_ended BIGINT NOT NULL, -- jobs of the same user that ended before the submission
    user_mean_runtime_s DOUBLE, -- their mean run time, seconds
    last_runtime_s BIGINT, -- run time of the user's job that ended last, seconds
    second_last_runtime_s BIGINT, -- run time of the one before, seconds
    last_requested_walltime_s BIGINT, -- wall time requested by the user's job that ended last, seconds
    last_two_runtime_s DOUBLE, -- mean of the user's last two run times (Tsafrir, Etsion and Feitelson 2007), seconds
    seconds_since_last_end BIGINT, -- submission minus the last end of a job of the user
    alike_jobs_ended BIGINT NOT NULL, -- of those jobs, the ones with the same processors and requested wall time
    alike_last_runtime_s BIGINT, -- run time of the one that ended last, seconds
    alike_mean_runtime_s DOUBLE, -- their mean run time, seconds
);
