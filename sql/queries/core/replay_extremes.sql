-- What core.replayable_jobs compares each job with: the largest values among the jobs of one source that can be replayed. It is one
-- row, and needs the table replay_names. The bounds of the index let all jobs in.
WITH
{{ numbered_jobs }}

SELECT
    count(*) AS jobs,
    coalesce(max(job_index), -1) AS last_index,
    greatest(max(runtime_s), 1) AS longest_runtime_s,
    nullif(max(requested_memory_kb), 0) AS most_memory_kb,
    greatest(max(user_number), 1) AS last_user,
    greatest(max(group_number), 1) AS last_group,
    greatest(max(executable_number), 1) AS last_executable
FROM replayable
