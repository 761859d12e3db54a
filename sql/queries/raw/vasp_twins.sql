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
