-- Run time over requested time of every job of one source that has both.
SELECT runtime_s / requested_walltime_s AS share
FROM marts.job_facts
WHERE source = $source AND runtime_s > 0 AND requested_walltime_s > 0
ORDER BY job_index
