-- Start times of the period replays of replay.period_scores, one row per job.
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
