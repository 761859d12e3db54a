-- Accepted lines of SWF logs: the 18 fields of the format, -1 as NULL. Times with fractions are rounded up to whole seconds
-- (docs/reference/logs.md), everything else is untouched.
CREATE TABLE IF NOT EXISTS raw.swf_jobs (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    job_number BIGINT NOT NULL, -- field 1
    submit_s BIGINT NOT NULL, -- field 2, seconds since the log's second 0
    wait_s BIGINT, -- field 3, seconds; negative values are kept as they stand
    runtime_s BIGINT, -- field 4, seconds
    allocated_procs BIGINT, -- field 5
    average_cpu_s DOUBLE, -- field 6, CPU seconds per processor
    used_memory_kb DOUBLE, -- field 7, kilobytes per processor
    requested_procs BIGINT, -- field 8
    requested_walltime_s BIGINT, -- field 9, seconds
    requested_memory_kb DOUBLE, -- field 10, kilobytes per processor
    status BIGINT, -- field 11: 1 completed, 0 failed, 5 cancelled, 2 to 4 partial executions
    user_id BIGINT, -- field 12
    group_id BIGINT, -- field 13
    executable BIGINT, -- field 14
    queue BIGINT, -- field 15
    partition BIGINT, -- field 16
    preceding_job BIGINT, -- field 17
    think_time_s BIGINT, -- field 18, seconds
);
