-- Policies of the leaderboard that stand before one with a better verdict, and FCFS where its ratios to itself are not 1.
WITH ordered AS (
    SELECT
        policy, estimates, rank, verdict,
        list_position(
            ['dominates', 'no difference', 'no significant difference', 'no better than random orders', 'trades', 'harms', 'worse'], split_part(verdict, ',', 1)
        ) AS place,
        bounded_slowdown_ratio,
        wait_ratio
    FROM marts.leaderboard
    WHERE source = $source AND rank IS NOT NULL
)

SELECT policy, estimates, rank, verdict
FROM ordered
WHERE
    place IS NULL
    OR place < (SELECT max(before.place) FROM ordered AS before WHERE before.rank < ordered.rank)
    OR (policy = 'FCFS' AND estimates = 'requested' AND (bounded_slowdown_ratio <> 1 OR wait_ratio <> 1))
ORDER BY rank
