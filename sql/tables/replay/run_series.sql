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
