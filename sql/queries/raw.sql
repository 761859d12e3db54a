-- [counts]
-- Lines of one source by what became of them and why.
SELECT outcome, reason, sum(lines)::BIGINT AS lines
FROM raw.line_counts
WHERE source = $source
GROUP BY ALL
ORDER BY ALL

-- [first_submission_pbs]
-- Earliest time that the rows of one file have anything to do with, seconds since 1970.
SELECT min(time_s)
FROM (
    SELECT least(min(ctime_s), min(logged_s)) AS time_s FROM raw.pbs_records WHERE source = $source AND file = $file
    UNION ALL
    SELECT epoch(min(submit_time))::BIGINT AS time_s FROM core.jobs WHERE source = $source AND file = $file
    UNION ALL
    -- the records of a suspension do not tell when its job was submitted
    SELECT epoch(min(submit_time))::BIGINT AS time_s
    FROM core.suspensions
    WHERE
        source = $source
        AND job_id IN (
            SELECT job_id FROM raw.pbs_records WHERE source = $source AND file = $file AND record_type IN ('z', 'r')
        )
)

-- [first_submission_slurm]
-- Earliest submission of a job that the rows of one file tell of, seconds since 1970; of a requeued job the first one, which may
-- be in another file.
SELECT min(submit_s)
FROM (
    SELECT min(submit_s) AS submit_s FROM raw.slurm_jobs WHERE source = $source AND file = $file AND end_s IS NOT NULL
    UNION ALL
    SELECT epoch(min(submit_time))::BIGINT AS submit_s FROM core.jobs WHERE source = $source AND file = $file
    UNION ALL
    SELECT min(submit_s) AS submit_s FROM core.repeats WHERE source = $source AND file = $file
)

-- [first_submission_swf]
-- Earliest submission of the rows of one file, seconds of the log's clock.
SELECT min(submit_s) FROM raw.swf_jobs WHERE source = $source AND file = $file

-- [newest_files]
-- The last files of one source, by name.
SELECT file, size_bytes, lines, accepted, kept, ignored, rejected
FROM raw.log_files
WHERE source = $source
ORDER BY file DESC
LIMIT 30

-- [pseudonym_keys]
-- SHA-256 of each key that pseudonyms of the warehouse were made with, but for those of $replaced. '' where a log was read by the first
-- releases, which kept no hash of the key alone, and has pseudonyms all the same.
SELECT pseudonym_key AS key FROM core.sources WHERE pseudonym_key IS NOT NULL AND source <> $replaced
UNION
SELECT regexp_extract(settings, '"key": "([0-9a-f]{64})"', 1) FROM raw.log_files
WHERE source <> $replaced AND regexp_matches(settings, '"key": "[0-9a-f]{64}"')
UNION
SELECT '' FROM core.jobs
WHERE source <> $replaced AND regexp_full_match(user_name, 'user-[a-z2-7]{10}')
    AND source IN (SELECT source FROM raw.log_files WHERE NOT starts_with(settings, '{'));

-- [vasp_twins]
-- Folders that are gone, but whose runs another folder has: it was renamed, or an older release has followed a link to it.
-- $source; $present: names of the folders that are there. A run is the same if it began at the same time, and if all steps that were
-- read of it are the first steps of the other one.
WITH present AS (SELECT unnest($present::VARCHAR[]) AS folder),

gone AS (
    SELECT * FROM raw.vasp_runs AS runs
    WHERE runs.source = $source AND runs.folder NOT IN (SELECT present.folder FROM present)
),

pairs AS (
    SELECT gone.folder, gone.outcar, gone.launch, gone.electronic_steps, other.folder AS other
    FROM gone INNER JOIN raw.vasp_runs AS other
        ON other.source = $source AND gone.outcar = other.outcar AND gone.launch = other.launch
        AND gone.started_at = other.started_at AND gone.architecture = other.architecture
        AND gone.electronic_steps <= other.electronic_steps
    WHERE other.folder IN (SELECT present.folder FROM present)
),

different AS (
    SELECT DISTINCT pairs.folder, pairs.other
    FROM pairs
    INNER JOIN raw.vasp_electronic_steps AS step
        ON step.source = $source AND step.folder = pairs.folder AND step.outcar = pairs.outcar AND step.launch = pairs.launch
    LEFT JOIN raw.vasp_electronic_steps AS same
        ON same.source = $source AND same.folder = pairs.other AND same.outcar = pairs.outcar AND same.launch = pairs.launch
        AND same.position = step.position AND same.seconds IS NOT DISTINCT FROM step.seconds
        AND coalesce(step.energy_ev = same.energy_ev, step.energy_ev IS NULL)
    WHERE same.position IS NULL
)

SELECT DISTINCT pairs.folder
FROM pairs ANTI JOIN different ON pairs.folder = different.folder AND pairs.other = different.other
GROUP BY pairs.folder, pairs.other
HAVING count(*) = (SELECT count(*) FROM gone WHERE gone.folder = pairs.folder) AND sum(pairs.electronic_steps) > 0
