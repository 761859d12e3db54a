-- One row per log file read: its identity and how many of its lines became jobs.
-- lines = accepted + ignored + rejected, always.
CREATE TABLE IF NOT EXISTS raw.log_files (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    format VARCHAR NOT NULL, -- swf, pbs or slurm
    size_bytes BIGINT NOT NULL, -- size of the file as stored
    sha256 VARCHAR NOT NULL, -- hash of the file as stored, in hexadecimal
    lines BIGINT NOT NULL, -- lines in the file
    accepted BIGINT NOT NULL, -- lines that became jobs
    ignored BIGINT NOT NULL, -- lines that hold no finished job: comments, blank lines, other record types
    rejected BIGINT NOT NULL, -- lines that should have held a job and do not; kept in raw.rejects
);
