-- Launches whose counted steps are not the steps that are stored.
SELECT runs.folder, runs.outcar, runs.launch, runs.electronic_steps, count(steps.position) AS stored
FROM raw.vasp_runs AS runs
LEFT JOIN raw.vasp_electronic_steps AS steps
    ON runs.source = steps.source AND runs.folder = steps.folder AND runs.outcar = steps.outcar AND runs.launch = steps.launch
WHERE runs.source = $source
GROUP BY ALL
HAVING runs.electronic_steps <> count(steps.position)
