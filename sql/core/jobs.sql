-- The canonical jobs: one row per accepted log record, the same columns whatever the format.
CREATE TABLE IF NOT EXISTS core.jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_index BIGINT NOT NULL, -- order by submit time, then by file and line; from 0, unique within the source
    job_id VARCHAR NOT NULL, -- identifier in the log; may repeat when a system reuses ids
    submit_time TIMESTAMP NOT NULL, -- submission, UTC
    eligible_time TIMESTAMP, -- when the job could have started, UTC
    start_time TIMESTAMP, -- start on the real system, UTC; NULL where the log does not know
    end_time TIMESTAMP, -- end on the real system, UTC; NULL where the log does not know
    wait_s BIGINT, -- start minus submission, seconds
    runtime_s BIGINT, -- end minus start, seconds
    procs BIGINT, -- processors allocated, or requested where the log has no allocation
    requested_procs BIGINT, -- processors requested
    requested_walltime_s BIGINT, -- wall time requested, seconds
    user_name VARCHAR, -- user, by name or number
    group_name VARCHAR, -- group, by name or number
    queue VARCHAR, -- queue or partition, by name or number
    executable VARCHAR, -- application number (SWF) or job name (PBS, Slurm)
    status VARCHAR, -- completed, failed, cancelled or unknown
    file VARCHAR NOT NULL, -- log file that the job comes from
    line BIGINT NOT NULL, -- line number in that file, from 1
);
