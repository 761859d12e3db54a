-- Jobs submitted and processor hours asked for per local day of one source, as a share of what the cluster has.
SELECT
    date_trunc('day', timezone(sources.time_zone, timezone('UTC', jobs.submit_time)))::DATE AS day,
    count(*) AS jobs,
    coalesce(sum(jobs.runtime_s * jobs.procs), 0)::DOUBLE / (sources.cluster_procs * 86400) AS offered_load
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE jobs.source = $source
GROUP BY day, sources.cluster_procs
ORDER BY day
