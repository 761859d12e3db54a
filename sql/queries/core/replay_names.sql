-- The users, groups and executables of one source with their numbers, from 0 in the order of the names; unknown is the last.
WITH names AS (
    SELECT DISTINCT unnest(['user', 'group', 'executable']) AS kind, unnest([user_name, group_name, executable]) AS name
    FROM core.jobs
    WHERE source = $source
)

SELECT kind, name, row_number() OVER (PARTITION BY kind ORDER BY name NULLS LAST) - 1 AS number
FROM names
