-- Accepted records that are no job of their own: duplicates in another file, records that a later one replaces, parts of a job's run.
CREATE TABLE IF NOT EXISTS core.repeats (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    job_id VARCHAR NOT NULL, -- identifier in the log
    submit_s BIGINT NOT NULL, -- submission, seconds of the log's clock
    start_s BIGINT, -- start, seconds of the log's clock
    end_s BIGINT, -- end, seconds of the log's clock
    file VARCHAR NOT NULL, -- log file
    line BIGINT NOT NULL, -- line number in that file, from 1
    reason VARCHAR, -- duplicate (of a line in an earlier file) or partial execution, of SWF; NULL where a later record replaces the line
);
