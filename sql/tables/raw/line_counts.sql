-- Every line of every file, counted by what became of it and why.
CREATE TABLE IF NOT EXISTS raw.line_counts (
    source VARCHAR NOT NULL, -- name of the source in the catalogue
    file VARCHAR NOT NULL, -- name of the log file within the source
    outcome VARCHAR NOT NULL, -- accepted, kept, ignored or rejected
    reason VARCHAR NOT NULL, -- why, in words
    lines BIGINT NOT NULL, -- how many lines
);
