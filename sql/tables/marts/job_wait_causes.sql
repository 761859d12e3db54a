-- What kept each job waiting, as `tracehouse why` says it: one row per job and cause, and none for a job that did not wait. The seconds of
-- a job add up to its wait.
CREATE TABLE IF NOT EXISTS marts.job_wait_causes (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    starts VARCHAR NOT NULL, -- log (the log's own starts) or replay (those of a replay under the source's own Slurm)
    job_index BIGINT NOT NULL, -- as in core.jobs
    cause VARCHAR NOT NULL, -- such as gpus, behind_fair_share or limit
    meaning VARCHAR NOT NULL, -- the cause in words, as tables print it
    waited_s BIGINT NOT NULL, -- for how long it kept the job, seconds
    limit_text VARCHAR, -- of the cause limit: the limit that kept the job last, in words
    behind_job VARCHAR, -- of the causes behind_...: id of the job that it was behind longest at one go
    behind_user VARCHAR, -- whose job that is
    basis VARCHAR NOT NULL, -- by which rules and nodes, in words
);
