-- Every rejected line, verbatim, with the reason.
CREATE TABLE IF NOT EXISTS raw.rejects (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    line BIGINT NOT NULL, -- line number in the file, from 1
    reason VARCHAR NOT NULL, -- what was expected and what was found
    text VARCHAR NOT NULL, -- the line as it stands; bytes that are not UTF-8 appear as \xNN
);
