-- Kinds of policies of a source with more or fewer than one in use, and policies whose cost is no number.
SELECT layout, count(*) FILTER (champion) AS in_use, bool_and(isfinite(validation_cost)) AS finite
FROM (
    SELECT CASE WHEN layout IN ('picking', 'inspecting') THEN layout ELSE 'ordering' END AS layout, champion, validation_cost
    FROM policies.scheduling_policies
    WHERE source = $source
)
GROUP BY layout
HAVING count(*) FILTER (champion) <> 1 OR NOT bool_and(isfinite(validation_cost))
ORDER BY layout
