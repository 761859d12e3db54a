-- What was used, by month, queue, account and user: sums, which may be added up further.
CREATE OR REPLACE VIEW marts.usage AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    account AS account, -- account
    user_name AS user_name, -- user
    count(*) AS jobs, -- jobs
    sum(core_hours) AS core_hours, -- processors times run time
    sum(gpu_hours) AS gpu_hours, -- GPUs times run time; NULL where no job's are known
    sum(cpu_hours) AS cpu_hours, -- CPU time used by jobs for which it is known
    sum(measured_core_hours) AS measured_core_hours, -- core hours of those jobs
    sum(cpu_hours) / nullif(sum(measured_core_hours), 0) AS cpu_efficiency, -- CPU time over core hours, of those jobs
FROM marts.job_facts
GROUP BY ALL
