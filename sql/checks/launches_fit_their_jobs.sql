-- Launches of VASP that belong to a job which the accounting does not have, or to more than one.
SELECT links.folder, links.outcar, links.launch, count(*) AS links, count(jobs.job_index) AS jobs
FROM core.vasp_jobs AS links
LEFT JOIN core.jobs AS jobs ON links.accounting = jobs.source AND links.job_index = jobs.job_index
WHERE links.source = $source
GROUP BY ALL
HAVING count(*) <> 1 OR count(jobs.job_index) <> 1
ORDER BY ALL
