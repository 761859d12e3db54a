-- Average replayed waits of one source by one kind of class: $kind is 'size' or 'runtime'; requested times.
WITH labelled AS (
    SELECT
        policy,
        jobs,
        average_wait_s,
        CASE WHEN $kind = 'size' THEN size_class ELSE runtime_class END AS class_label
    FROM marts.replayed_waits
    WHERE source = $source AND estimates = 'requested'
)

SELECT policy, class_label, sum(jobs)::BIGINT AS jobs, sum(jobs * average_wait_s) / sum(jobs) AS average_wait_s
FROM labelled
GROUP BY policy, class_label
ORDER BY
    list_position(
        ['serial', 'small', 'medium', 'large', 'under 10 min', '10 min to 1 h', '1 h to 8 h', '8 h and more'], class_label
    ),
    policy
