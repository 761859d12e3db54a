-- Attempts of jobs that ended in a requeue, one row each; the last attempt of a job is in core.jobs.
CREATE TABLE IF NOT EXISTS core.requeues (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT, -- as in core.jobs; NULL for a job that is not over in this log
    job_id VARCHAR NOT NULL, -- identifier in the log
    attempt BIGINT NOT NULL, -- number of the attempt, from 1
    submit_time TIMESTAMP NOT NULL, -- submission of the job, UTC
    start_time TIMESTAMP NOT NULL, -- start, UTC
    end_time TIMESTAMP NOT NULL, -- time of the requeue, UTC
    runtime_s BIGINT NOT NULL, -- end minus start, seconds
    procs BIGINT NOT NULL, -- processors held
    used_cpu_s DOUBLE, -- CPU time over all processors, seconds
    exit_status BIGINT, -- as logged
    file VARCHAR NOT NULL, -- log file
    line BIGINT NOT NULL, -- line number in that file, from 1
);
