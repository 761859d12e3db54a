-- Times in which a job was suspended and held no processors, where the log tells them (PBS); the sum is suspended_s.
CREATE TABLE IF NOT EXISTS core.suspensions (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_id VARCHAR NOT NULL, -- identifier in the log
    submit_time TIMESTAMP NOT NULL, -- submission of the job, UTC
    start_time TIMESTAMP NOT NULL, -- start of the job, or of an attempt (core.requeues), UTC
    from_time TIMESTAMP NOT NULL, -- when it was suspended, UTC
    to_time TIMESTAMP NOT NULL, -- when it was resumed, or ended, UTC
);
