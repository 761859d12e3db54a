-- Lines of one SWF source that tell of a part of a job's run (status 2 to 4), where the same file has a line of the job as a whole.
WITH parts AS (
    SELECT file, line, job_number FROM raw.swf_jobs WHERE source = $source AND status IN (2, 3, 4)
),

wholes AS (
    SELECT DISTINCT jobs.file, jobs.job_number
    FROM raw.swf_jobs AS jobs
    SEMI JOIN parts ON jobs.file = parts.file AND jobs.job_number = parts.job_number
    WHERE jobs.source = $source AND jobs.status IN (0, 1, 5)
)

SELECT parts.file, parts.line
FROM parts
SEMI JOIN wholes ON parts.file = wholes.file AND parts.job_number = wholes.job_number
