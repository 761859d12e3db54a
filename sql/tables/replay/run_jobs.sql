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
