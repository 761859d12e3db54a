-- What a replay needs to know of one source besides its jobs, and how its times are said.
SELECT
    cluster_procs,
    cluster_procs_from,
    origin_s,
    clock_zero,
    time_zone,
{{ has_dates }}
FROM core.sources WHERE source = $source
