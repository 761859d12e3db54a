-- Which accounting job a VASP launch was part of, where that can be told.
CREATE TABLE IF NOT EXISTS core.vasp_jobs (
    source VARCHAR NOT NULL, -- name of the folder of runs in the catalogue
    folder VARCHAR NOT NULL, -- run folder, below the source's
    outcar VARCHAR NOT NULL, -- name of the OUTCAR
    launch BIGINT NOT NULL, -- number of the launch in that file, from 1
    accounting VARCHAR NOT NULL, -- source of the job, as `accounting` says in the catalogue
    job_index BIGINT NOT NULL, -- the job, in core.jobs
    matched_by VARCHAR NOT NULL, -- job_id; or time: the only job of so many processors that was running and had just begun
);
