-- Size and run-time class of every job with known processors and run time.
CREATE OR REPLACE VIEW marts.job_classes AS
SELECT
    jobs.source AS source, -- name of the source in the catalogue
    jobs.job_index AS job_index, -- as in core.jobs
    CASE
        WHEN jobs.procs = 1 THEN 'serial'
        WHEN jobs.procs <= sources.cluster_procs / 16 THEN 'small'
        WHEN jobs.procs <= sources.cluster_procs / 4 THEN 'medium'
        ELSE 'large'
    END AS size_class, -- serial, small (up to 1/16 of the cluster), medium (up to 1/4), large
    CASE
        WHEN jobs.runtime_s < 600 THEN 'under 10 min'
        WHEN jobs.runtime_s < 3600 THEN '10 min to 1 h'
        WHEN jobs.runtime_s < 28800 THEN '1 h to 8 h'
        ELSE '8 h and more'
    END AS runtime_class, -- by run time
FROM core.jobs AS jobs
INNER JOIN core.sources AS sources ON jobs.source = sources.source
WHERE jobs.runtime_s IS NOT NULL AND jobs.procs IS NOT NULL
