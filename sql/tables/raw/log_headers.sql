-- Header comments of SWF logs, written as `; Key: value`, in file order.
CREATE TABLE IF NOT EXISTS raw.log_headers (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    position BIGINT NOT NULL, -- order in the file, from 1
    key VARCHAR NOT NULL, -- such as MaxProcs; a key may repeat (Queue, Note)
    value VARCHAR NOT NULL, -- the rest of the line, continuation lines joined
);
