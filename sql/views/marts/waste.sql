-- What was lost, and what was requested and not used, by month, queue, account and user: sums, which may be added up further.
CREATE OR REPLACE VIEW marts.waste AS
SELECT
    source AS source, -- name of the source in the catalogue
    month AS month, -- of the submission, first day
    queue AS queue, -- queue or partition
    account AS account, -- account
    user_name AS user_name, -- user
{{ wasted_sums }}
FROM marts.job_facts
GROUP BY ALL
