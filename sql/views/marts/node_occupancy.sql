-- Who held which node from when to when: one row a job and node.
CREATE OR REPLACE VIEW marts.node_occupancy AS
SELECT
    held.source AS source, -- name of the source in the catalogue
    held.node_name AS node_name, -- node
    jobs.start_time AS start_time, -- start of the job, UTC
    jobs.end_time AS end_time, -- end of the job, UTC
    held.job_index AS job_index, -- of core.jobs
    jobs.job_id AS job_id, -- identifier in the log
    jobs.user_name AS user_name, -- user
    jobs.account AS account, -- account
    jobs.queue AS queue, -- queue or partition
    held.procs AS procs, -- processors held there; NULL where the log tells only their sum over several nodes
    held.gpus AS gpus, -- GPUs held there; NULL where the log does not know
    held.memory_kb AS memory_kb, -- memory held there, kilobytes; NULL where the log does not know
FROM core.job_nodes AS held
INNER JOIN core.jobs AS jobs ON held.source = jobs.source AND held.job_index = jobs.job_index;
