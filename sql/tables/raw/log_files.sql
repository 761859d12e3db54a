-- The ledger: one row per log file read, its identity and what became of its lines.
-- lines = accepted + kept + ignored + rejected, always. A file that is gone keeps its row, and its lines.
CREATE TABLE IF NOT EXISTS raw.log_files (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    format VARCHAR NOT NULL, -- swf, pbs or slurm
    size_bytes BIGINT NOT NULL, -- size of the file as stored; of a plain file, where reading goes on when it has grown
    modified_ns BIGINT NOT NULL, -- time of the file's last change, nanoseconds since 1970
    sha256 VARCHAR NOT NULL, -- hash of the content, unpacked, in hexadecimal
    settings VARCHAR NOT NULL, -- what the catalogue said that gives the rows their meaning, as JSON; a hash in rows of older releases
    version VARCHAR NOT NULL, -- of the readers
    ends_line BOOLEAN NOT NULL, -- whether the last line has its end; else it may go on
    lines BIGINT NOT NULL, -- lines in the file
    accepted BIGINT NOT NULL, -- lines that are finished jobs
    kept BIGINT NOT NULL, -- other records that are kept: PBS requeues, starts, deletions ...
    ignored BIGINT NOT NULL, -- lines that tell nothing to be kept: comments, blank lines, steps, jobs that are not over
    rejected BIGINT NOT NULL, -- lines that should have held a record and do not; kept in raw.rejects
    outdated VARCHAR -- what of the rows of a file that is gone could not be brought up to date; else NULL
);
