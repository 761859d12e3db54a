-- [job_states]
-- Spans in which a job was not simply waiting or running: suspended, or in an attempt that ended in a requeue.
CREATE OR REPLACE VIEW core.job_states AS
SELECT
    source AS source, -- name of the source in the catalogue
    job_id AS job_id, -- identifier in the log
    submit_time AS submit_time, -- submission of the job, UTC
    'suspended' AS state, -- suspended, or requeued: an attempt that ran and was requeued
    from_time AS from_time, -- when it was suspended, or when the attempt started, UTC
    to_time AS to_time, -- when it was resumed or ended, or when the attempt ended, UTC
FROM core.suspensions
UNION ALL
SELECT
    source AS source,
    job_id AS job_id,
    submit_time AS submit_time,
    'requeued' AS state,
    start_time AS from_time,
    end_time AS to_time,
FROM core.requeues;
