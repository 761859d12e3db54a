-- The accounting jobs of one source's VASP launches, by the batch system's number where an output file has it, else by time and cores.
-- $source is the folder of runs, $accounting the source of the jobs. An id that was used again belongs to the job that was running then.
WITH launches AS (
    SELECT folder, outcar, launch, started_at, job_id, cores FROM raw.vasp_runs WHERE source = $source
),

jobs AS (
    SELECT job_index, split_part(job_id, '.', 1) AS number, start_time, end_time, procs
    FROM core.jobs WHERE source = $accounting AND start_time IS NOT NULL
),

by_id AS (
    SELECT launches.folder, launches.outcar, launches.launch, jobs.job_index
    FROM launches INNER JOIN jobs
        ON launches.job_id = jobs.number
        AND (
            launches.started_at IS NULL
            OR launches.started_at BETWEEN jobs.start_time - INTERVAL 5 SECOND AND coalesce(jobs.end_time, launches.started_at)
        )
    QUALIFY row_number() OVER (
        PARTITION BY launches.folder, launches.outcar, launches.launch
        ORDER BY abs(epoch(jobs.start_time) - epoch(launches.started_at)) NULLS LAST, jobs.job_index
    ) = 1
),

by_time AS (
    SELECT launches.folder, launches.outcar, launches.launch, jobs.job_index
    FROM launches INNER JOIN jobs
        ON launches.started_at BETWEEN jobs.start_time - INTERVAL 5 SECOND AND jobs.start_time + INTERVAL 300 SECOND
        AND (jobs.end_time IS NULL OR launches.started_at <= jobs.end_time)
        AND launches.cores = jobs.procs
    ANTI JOIN by_id
        ON launches.folder = by_id.folder AND launches.outcar = by_id.outcar AND launches.launch = by_id.launch
    QUALIFY count(*) OVER (PARTITION BY launches.folder, launches.outcar, launches.launch) = 1
)

SELECT $source AS source, $accounting AS accounting, folder, outcar, launch, job_index, 'job_id' AS matched_by FROM by_id
UNION ALL
SELECT $source AS source, $accounting AS accounting, folder, outcar, launch, job_index, 'time' AS matched_by FROM by_time
