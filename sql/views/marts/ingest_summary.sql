-- What became of the lines of every source: lines = accepted + kept + ignored + rejected.
CREATE OR REPLACE VIEW marts.ingest_summary AS
SELECT
    source AS source, -- name of the source in the catalogue
    count(*) AS files, -- log files read
    sum(lines)::BIGINT AS lines, -- lines read
    sum(accepted)::BIGINT AS accepted, -- lines that are finished jobs; those that are no job of their own are in core.repeats
    sum(kept)::BIGINT AS kept, -- other records: PBS requeues, starts, deletions ...
    sum(ignored)::BIGINT AS ignored, -- comments, blank lines, steps, jobs that are not over
    sum(rejected)::BIGINT AS rejected, -- lines rejected with a reason, see raw.rejects
FROM raw.log_files
GROUP BY source
