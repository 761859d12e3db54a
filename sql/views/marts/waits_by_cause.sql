-- Hours of waiting by what kept the jobs, in sums that may be added up further, but for the jobs: one may have several causes.
CREATE OR REPLACE VIEW marts.waits_by_cause AS
SELECT
    causes.source AS source, -- name of the source in the catalogue
    causes.starts AS starts, -- log (the log's own starts) or replay (those of a replay under the source's own Slurm)
    jobs.month AS month, -- of the submission, first day
    jobs.queue AS queue, -- queue or partition
    jobs.account AS account, -- account
    jobs.user_name AS user_name, -- user
    jobs.qos AS qos, -- quality of service (Slurm); NULL where the log has none
    causes.cause AS cause, -- such as gpus, behind_fair_share or limit
    causes.meaning AS meaning, -- the cause in words
    count(*) AS jobs, -- jobs that waited for it
    sum(causes.waited_s) / 3600 AS hours, -- how long it kept them, hours
FROM marts.job_wait_causes AS causes
INNER JOIN marts.job_facts AS jobs ON causes.source = jobs.source AND causes.job_index = jobs.job_index
GROUP BY ALL
